// Package adoptiondata is the data source infiniband_adoption: the configuration of what is
// on the hosts of a provider block, with the import blocks that take it over.
//
// It must not change a host, or say what can be adopted, which provider/adoption does.
package adoptiondata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source. serve starts the provider for a walk of its own.
func New(serve adoption.Serve) func() datasource.DataSource {
	return func() datasource.DataSource {
		return &session.ReadOnly[model]{Name: "infiniband_adoption", Describe: describe, Fill: source{serve}.fill}
	}
}

type source struct{ serve adoption.Serve }

// fill finds what can be adopted on the named hosts, or on all, and writes it as text.
func (a source) fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	if s.Data == nil {
		return false
	}
	lab, start := adoption.OfSession(ctx, s.Data, s.HostsOf(m.Hosts), a.serve, diags)
	if lab == nil {
		return false
	}
	if err := lab.Settle(ctx, start, adoption.Logged(ctx)); err != nil {
		diagnostic.AddError(diags, "find what can be adopted", err)
		return false
	}
	for _, host := range lab.FailedHosts() {
		diags.AddWarning("Host "+host.Name+" is left out: "+host.Error.Summary, host.Error.Detail)
	}
	m.observe(lab)
	m.ID = types.StringValue("adoption")
	return true
}
