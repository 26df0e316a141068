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
// all their ports and none is the same. What is only seen today does not count: GUIDs outlive cables.
func (d *Data) cardsApart(host string, want ib.GUIDSet, other clash.Holder) string {
	one, two := d.fabricsOf(host, want), d.fabricsOf(other.Host, other.GUIDs)
	if slices.ContainsFunc(one, func(name string) bool { return name == "" || slices.Contains(two, name) }) ||
		slices.Contains(two, "") {
		return ""
	}
	return strings.Join(one, ", ") + " and " + strings.Join(two, ", ")
}

// fabricsOf are the names of the fabrics of a card's ports, empty for one without a name.
func (d *Data) fabricsOf(host string, of ib.GUIDSet) []string {
	return slices.Compact([]string{d.Fabrics.Of(attribute.PortRef{Host: host, GUID: of.Port1}),
		d.Fabrics.Of(attribute.PortRef{Host: host, GUID: of.Port2})})
}

// misses reports whether a walk over the fabric of a port has found no other port with a GUID.
func (d *Data) misses(ctx context.Context, snap *inventory.Snapshot, from, wanted ib.GUID) bool {
	for _, p := range fabric.LinkedPorts(snap) {
		if p.GUID == from {
			seen, found, err := d.viewOf(ctx, snap, p)
			return found && err == nil && !seen.guids[wanted]
		}
	}
	return false
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
