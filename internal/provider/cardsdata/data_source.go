// Package cardsdata is the data source infiniband_cards: discovery of the cards
// in all hosts.
//
// It must not change a host.
package cardsdata

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ datasource.DataSourceWithConfigure = &DataSource{}

// DataSource is infiniband_cards.
type DataSource struct{ session.DataSource }

// New returns the data source.
func New() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cards"
}

// Read lists the cards of the named hosts, or of all.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	names := attribute.Texts(m.Hosts)
	if len(names) == 0 && s.Data != nil {
		names = s.HostNames()
	}
	found, missing := map[string]*inventory.Snapshot{}, map[string]error{}
	if s.Data != nil {
		found, missing = s.SnapshotsOf(ctx, names)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if !m.AllowUnreachable.ValueBool() || !diagnostic.IsTransport(missing[name]) {
			diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("hosts"), "read cards of host "+name, missing[name])
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	m.observe(found, missing)
	m.ID = types.StringValue("cards")
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
