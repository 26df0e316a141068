// Package hostdata is the data source infiniband_host: facts of one host.
//
// It must not change a host.
package hostdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ datasource.DataSourceWithConfigure = &DataSource{}

// DataSource is infiniband_host.
type DataSource struct{ session.DataSource }

// New returns the data source.
func New() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_host"
}

// Read shows what one collection found on the host.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.Host.ValueString()
	if s.Waits(m.Host, "read host "+name, &resp.Diagnostics) {
		return
	}
	_, _, snap, err := s.Look(ctx, name)
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "read host "+name, err)
		return
	}
	m.observe(snap)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
