// Package hostdata is the data source infiniband_host: facts of one host.
//
// It must not change a host.
package hostdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_host", Describe: describe, Fill: fill}
}

// fill shows what one collection found on the host.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	_, snap, ok := s.LookNamed(ctx, "host", m.Host, "read host "+m.Host.ValueString(), diags)
	if ok {
		m.observe(snap)
	}
	return ok
}
