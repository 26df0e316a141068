// Package fabric is the data source infiniband_fabric: what one host's
// diagnostics see of its fabric, compared with what is expected, and drawn.
//
// It must not change a host.
package fabric

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ datasource.DataSourceWithConfigure = &DataSource{}

// DataSource is infiniband_fabric.
type DataSource struct{ session.DataSource }

// New returns the data source.
func New() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_fabric"
}

// Read looks at the fabric.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.Host.ValueString()
	if s.Waits(m.Host, "read the fabric of host "+name, &resp.Diagnostics) {
		return
	}
	wanted, err := m.expectations()
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("expected_links"), "Invalid value for expected_links",
			diagnostic.Sentence(err.Error()))
		return
	}
	h, _, snap, err := s.Look(ctx, name)
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "read the fabric of host "+name, err)
		return
	}
	through, err := fabric.Pick(snap, m.portGUID())
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "read the fabric of host "+name, err)
		return
	}
	found, err := fabric.Observe(ctx, h, through, m.detailed())
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "read the fabric of host "+name, err)
		return
	}
	if port, ok := fabric.LooksThrough(snap, through); ok {
		m.looksThrough(port.PortGUID)
		found.NoteLink(name, port)
	}
	found.Recognise(s.cards(ctx, m))
	m.observe(found, wanted)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// cards are the cards of the hosts whose slots are looked at. A host that does not
// answer has none, so that the fabric of the others is still shown.
func (s *DataSource) cards(ctx context.Context, m model) map[string]*inventory.Snapshot {
	names := m.pcieHosts()
	if names == nil {
		names = s.HostNames()
	}
	found, _ := s.SnapshotsOf(ctx, names)
	return found
}
