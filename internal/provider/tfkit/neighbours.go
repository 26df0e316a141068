package tfkit

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Neighbours gives the nodes of the fabric that are no cards of configured hosts,
// for the checks of one card: as its own host sees them or, if that sees no
// fabric, the first host that does. It is empty where none can look; a look that
// fails is a warning. It costs one command a fabric and is made when GUIDs are to
// change.
func (d *Data) Neighbours(ctx context.Context, card CardRef, diags *diag.Diagnostics) []safety.FabricNode {
	found, _ := d.Snapshots(ctx) // Lab warns of those that do not answer
	names := d.HostNames()
	slices.SortStableFunc(names, func(a, b string) int { return rankOf(a == card.Host) - rankOf(b == card.Host) })
	for _, name := range names {
		snap := found[name]
		if snap == nil {
			continue
		}
		through, can := fabric.CanLook(snap)
		if !can {
			continue
		}
		seen, err := d.fabrics.Get(name, "", func() ([]fabric.Identity, error) {
			h, _, err := d.Host(name)
			if err != nil {
				return nil, err
			}
			return fabric.Identities(ctx, h, through)
		})
		if err != nil {
			diags.AddWarning(fmt.Sprintf("Card %s: GUIDs are not compared with those in the fabric of host %s", card, name),
				"A node of the fabric that is not in a configured host may have the same GUID, which would not be found.\n\n"+Detail(err))
			return nil
		}
		return strangers(seen, found, name+" "+fmt.Sprintf("%s/%d", through.Device, through.Port))
	}
	return nil
}

func rankOf(first bool) int {
	if first {
		return 0
	}
	return 1
}

// strangers leaves out what runs in configured hosts: those are compared as cards.
func strangers(seen []fabric.Identity, hosts map[string]*inventory.Snapshot, via string) []safety.FabricNode {
	own := map[ib.GUID]bool{}
	for _, s := range hosts {
		for i := range s.Cards {
			c := &s.Cards[i]
			own[c.NodeGUID] = true
			for _, p := range c.Ports {
				own[p.PortGUID] = true
			}
		}
	}
	var all []safety.FabricNode
	for _, n := range seen {
		if !slices.ContainsFunc(n.GUIDs, func(g ib.GUID) bool { return !g.IsZero() && own[g] }) {
			all = append(all, safety.FabricNode{Name: n.Name, Via: via, GUIDs: n.GUIDs})
		}
	}
	return all
}
