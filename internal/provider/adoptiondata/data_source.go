// Package adoptiondata is the data source infiniband_adoption: the configuration of what is
// on the hosts of a provider block, with the import blocks that take it over.
//
// It must not change a host, or say what can be adopted, which provider/adoption does.
package adoptiondata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ datasource.DataSourceWithConfigure = &DataSource{}

// DataSource is infiniband_adoption.
type DataSource struct {
	session.DataSource
	serve adoption.Serve
}

// New returns the data source. serve starts the provider for a walk of its own.
func New(serve adoption.Serve) func() datasource.DataSource {
	return func() datasource.DataSource { return &DataSource{serve: serve} }
}

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_adoption"
}

// Read finds what can be adopted on the named hosts, or on all, and writes it as text.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || s.Data == nil {
		return
	}
	lab, start := adoption.OfSession(ctx, s.Data, attribute.Texts(m.Hosts), s.serve, &resp.Diagnostics)
	if lab == nil {
		return
	}
	if err := lab.Settle(ctx, start, adoption.Logged(ctx)); err != nil {
		diagnostic.AddError(&resp.Diagnostics, "find what can be adopted", err)
		return
	}
	for _, host := range lab.FailedHosts() {
		resp.Diagnostics.AddWarning("Host "+host.Name+" is left out: "+host.Error.Summary, host.Error.Detail)
	}
	m.observe(lab)
	m.ID = types.StringValue("adoption")
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
