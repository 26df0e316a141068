package session

import (
	"context"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// OnTwoFabrics reports whether two ports are known to be on different fabrics: because the configuration says so or, if
// it is silent, both are Active with addresses that one fabric does not have, or a walk over the fabric of the first
// does not find the second. That walk is one command, and is remembered.
func (d *Data) OnTwoFabrics(ctx context.Context, a, b attribute.PortRef) bool {
	if one, two := d.Fabrics.Of(a), d.Fabrics.Of(b); one != "" && two != "" {
		return one != two
	}
	snap, one, ok := d.linkedPort(ctx, a)
	_, two, too := d.linkedPort(ctx, b)
	if !ok || !too || a.GUID == b.GUID {
		return false
	}
	return addressedApart(one, two) || d.misses(ctx, snap, a.GUID, b.GUID)
}

// addressedApart reports whether two ports have addresses that one fabric does not have. A port that is not Active may
// show what an earlier subnet manager has set.
func addressedApart(one, two inventory.Port) bool {
	served := func(p inventory.Port) bool { return p.State == "Active" && p.LID != 0 && p.SMLID != 0 }
	return served(one) && served(two) && (one.LID == two.LID || one.SMLID != two.SMLID || one.Prefix != two.Prefix)
}

// cardsApart names the fabrics of a card with these GUIDs and of another one, if the configuration says them of
// all their ports, none is the same, and no look at a fabric shows both cards. That two are not seen together today
// does not count: GUIDs outlive cables.
func (d *Data) cardsApart(ctx context.Context, card attribute.CardRef, want ib.GUIDSet, other clash.Holder) string {
	one, two := d.fabricsOf(card.Host, want), d.fabricsOf(other.Host, other.GUIDs)
	if slices.ContainsFunc(one, func(name string) bool { return name == "" || slices.Contains(two, name) }) ||
		slices.Contains(two, "") {
		return ""
	}
	its := attribute.CardRef{Host: other.Host, PCI: other.PCI}
	if d.sees(ctx, card, its) || d.sees(ctx, its, card) {
		return ""
	}
	return strings.Join(one, ", ") + " and " + strings.Join(two, ", ")
}

// sees reports whether a walk over a fabric of a card has found a port of another one, by a GUID that the card
// itself does not have now. The walk is remembered.
func (d *Data) sees(ctx context.Context, from, wanted attribute.CardRef) bool {
	snap, own := d.portsOf(ctx, from)
	_, theirs := d.portsOf(ctx, wanted)
	for _, p := range own {
		_, v := d.walkFrom(ctx, snap, p.PortGUID)
		if slices.ContainsFunc(theirs, func(q inventory.Port) bool {
			return ib.UniqueGUID(q.PortGUID) && v.guids[q.PortGUID] &&
				!slices.ContainsFunc(own, func(p inventory.Port) bool { return p.PortGUID == q.PortGUID })
		}) {
			return true
		}
	}
	return false
}

// portsOf are the ports that the driver of a card shows.
func (d *Data) portsOf(ctx context.Context, card attribute.CardRef) (*inventory.Snapshot, []inventory.Port) {
	_, _, snap, err := d.Look(hosts.WithoutLosses(ctx), card.Host)
	if err != nil {
		return nil, nil
	}
	if c, there := snap.Card(card.PCI); there {
		return snap, c.Ports
	}
	return snap, nil
}

// fabricsOf are the names of the fabrics of a card's ports, empty for one without a name.
func (d *Data) fabricsOf(host string, of ib.GUIDSet) []string {
	return slices.Compact([]string{d.Fabrics.Of(attribute.PortRef{Host: host, GUID: of.Port1}),
		d.Fabrics.Of(attribute.PortRef{Host: host, GUID: of.Port2})})
}

// misses reports whether a walk over the fabric of a port has found no other port with a GUID.
func (d *Data) misses(ctx context.Context, snap *inventory.Snapshot, from, wanted ib.GUID) bool {
	walked, seen := d.walkFrom(ctx, snap, from)
	return walked && !seen.guids[wanted]
}

// walkFrom is what a walk over the fabric of a port has seen, if it has a link and a host can walk.
func (d *Data) walkFrom(ctx context.Context, snap *inventory.Snapshot, from ib.GUID) (walked bool, seen view) {
	for _, p := range fabric.LinkedPorts(snap) {
		if p.GUID == from {
			v, found, err := d.viewOf(ctx, snap, p)
			return found && err == nil, v
		}
	}
	return false, view{}
}

// linkedPort is the InfiniBand port of a reference, if its host shows that it has a link.
func (d *Data) linkedPort(ctx context.Context, ref attribute.PortRef) (*inventory.Snapshot, inventory.Port, bool) {
	_, _, snap, err := d.Look(hosts.WithoutLosses(ctx), ref.Host)
	if err != nil {
		return nil, inventory.Port{}, false
	}
	_, p, found := snap.CardByPortGUID(ref.GUID)
	if !found || p.LinkLayer != "InfiniBand" || p.Physical != "LinkUp" {
		return nil, inventory.Port{}, false
	}
	return snap, *p, true
}
