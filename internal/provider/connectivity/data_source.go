// Package connectivity is the data source infiniband_connectivity: what ping says
// of the way between two hosts, and why packets do not pass.
//
// It must not change a host.
package connectivity

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
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
type DataSource struct{ session.DataSource }

// New returns the data source.
func New() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_connectivity"
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

// Read measures.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	what := "measure the connectivity of host " + m.From.ValueString()
	w, err := m.request()
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("address"), what, err)
		return
	}
	h, from, ok := s.look(ctx, "from", m.From, resp)
	if !ok {
		return
	}
	var to *inventory.Snapshot
	var other *hosts.Host
	if !m.To.IsNull() {
		if other, to, ok = s.look(ctx, "to", m.To, resp); !ok {
			return
		}
	}
	pair := ops.Choose(from, to, w)
	answer, err := ops.Run(ctx, h, pair, w)
	if err == nil {
		err = pair.Tables(ctx, h, other, answer)
	}
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("from"), what, err)
		return
	}
	m.observe(pair, answer, ops.Judge(pair, answer))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (s *DataSource) look(ctx context.Context, at string, name types.String,
	resp *datasource.ReadResponse) (*hosts.Host, *inventory.Snapshot, bool) {
	what := "measure the connectivity of host " + name.ValueString()
	if _, known := s.Hosts[name.ValueString()]; known && !s.HostReady(name) {
		resp.Diagnostics.AddAttributeError(path.Root(at), "Unable to "+what,
			"The provider's entry of this host has a value that is not known yet, so the host cannot be asked. Let the data "+
				"source depend on the resource that gives the value.")
		return nil, nil, false
	}
	h, _, snap, err := s.Look(ctx, name.ValueString())
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root(at), what, err)
		return nil, nil, false
	}
	return h, snap, true
}
