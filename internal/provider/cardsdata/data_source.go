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
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_cards", Describe: describe, Fill: fill}
}

// fill lists the cards of the named hosts, or of all.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	found, missing := map[string]*inventory.Snapshot{}, map[string]error{}
	if s.Data != nil {
		found, missing = s.SnapshotsOf(ctx, s.HostsOf(m.Hosts))
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		tolerated := m.AllowUnreachable.ValueBool() && diagnostic.IsTransport(missing[name])
		if !tolerated && !s.Keeps(map[string]error{name: missing[name]}) {
			diagnostic.AddErrorAt(diags, path.Root("hosts"), "read cards of host "+name, missing[name])
		}
	}
	if diags.HasError() {
		return false
	}
	m.observe(found, missing)
	m.ID = types.StringValue("cards")
	return true
}
