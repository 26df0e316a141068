// Package fabric is the data source infiniband_fabric: what one host's
// diagnostics see of its fabric, compared with what is expected, and drawn.
//
// It must not change a host.
package fabric

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_fabric", Describe: describe, Fill: fill}
}

// fill looks at the fabric.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	name := m.Host.ValueString()
	wanted, err := m.expectations()
	if err != nil {
		diags.AddAttributeError(path.Root("expected_links"), "Invalid value for expected_links",
			diagnostic.Sentence(err.Error()))
		return false
	}
	h, snap, ok := s.LookNamed(ctx, "host", m.Host, "read the fabric of host "+name, diags)
	if !ok {
		return false
	}
	through, err := fabric.Pick(snap, m.portGUID())
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "read the fabric of host "+name, err)
		return false
	}
	found, err := fabric.Observe(ctx, h, through, m.detailed())
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "read the fabric of host "+name, err)
		return false
	}
	if port, ok := fabric.LooksThrough(snap, through); ok {
		m.looksThrough(port.PortGUID)
		found.NoteLink(name, port)
	}
	hosts := cards(ctx, s, m)
	found.Recognise(hosts)
	found.GiveNames(s.NodeNames, hosts)
	found.CallFabric(func(host string, port ib.GUID) string {
		return s.Fabrics.Of(attribute.PortRef{Host: host, GUID: port})
	})
	m.observe(found, wanted)
	return true
}

// cards are the cards of the hosts whose slots are looked at. A host that does not
// answer has none, so that the fabric of the others is still shown.
func cards(ctx context.Context, s *session.DataSource, m *model) map[string]*inventory.Snapshot {
	found, _ := s.SnapshotsOf(ctx, s.HostsOf(m.PCIeHosts))
	return found
}
