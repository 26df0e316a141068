// Package connectivity is the data source infiniband_connectivity: what ping says
// of the way between two hosts, and why packets do not pass.
//
// It must not change a host.
package connectivity

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var (
	_ datasource.DataSourceWithConfigure      = &DataSource{}
	_ datasource.DataSourceWithValidateConfig = &DataSource{}
)

// DataSource is infiniband_connectivity.
type DataSource struct{ session.ReadOnly[model] }

// New returns the data source.
func New() datasource.DataSource {
	return &DataSource{session.ReadOnly[model]{Name: "infiniband_connectivity", Describe: describe, Fill: fill}}
}

// ValidateConfig refuses a measurement without a goal.
func (s *DataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest,
	resp *datasource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.To.IsNull() && m.Address.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("to"), "Missing other end",
			"Neither `to` nor `address` is set.\n\nName a key of the hosts map in `to`, or in `address` the address of a host "+
				"that is not managed.")
	}
	if !m.To.IsNull() && !m.To.IsUnknown() && m.To.Equal(m.From) && m.Address.IsNull() && m.ToInterface.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("to"), "Invalid value for to",
			"It is the same host as `from`: no packet would leave it.\n\nTo look at the way between two ports of one host, "+
				"name `from_interface` and `to_interface`.")
	}
}

// fill measures.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	what := "measure the connectivity of host " + m.From.ValueString()
	w, err := m.request()
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("address"), what, err)
		return false
	}
	h, from, ok := look(ctx, s, "from", m.From, diags)
	if !ok {
		return false
	}
	var to *inventory.Snapshot
	var other *hosts.Host
	if !m.To.IsNull() {
		if other, to, ok = look(ctx, s, "to", m.To, diags); !ok {
			return false
		}
	}
	pair := ops.Choose(from, to, w)
	answer, err := ops.Run(ctx, h, pair, w)
	if err == nil {
		err = pair.Tables(ctx, h, other, answer)
	}
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("from"), what, err)
		return false
	}
	m.observe(pair, answer, ops.Judge(pair, answer))
	return true
}

func look(ctx context.Context, s *session.DataSource, at string, name types.String,
	diags *diag.Diagnostics) (*hosts.Host, *inventory.Snapshot, bool) {
	return s.LookNamed(ctx, at, name, "measure the connectivity of host "+name.ValueString(), diags)
}
