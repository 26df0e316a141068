package session

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// OnTwoFabrics reports whether two ports are known to be on different fabrics. What the configuration says
// counts first. Where it is silent, both ports must have a link; then the address of an Active port tells, or a
// walk over the fabric of the first, one command that is remembered. Not known is false.
func (d *Data) OnTwoFabrics(ctx context.Context, a, b attribute.PortRef) bool {
	if one, two := d.Fabrics.Of(a), d.Fabrics.Of(b); one != "" && two != "" {
		return one != two
	}
	snap, one, ok := d.linkedPort(ctx, a)
	_, two, linked := d.linkedPort(ctx, b)
	if !ok || !linked || a.GUID == b.GUID {
		return false
	}
	// A subnet manager gives a LID once and one prefix to all. A port that is not Active may show those of before.
	if one.State == "Active" && two.State == "Active" &&
		(one.LID == two.LID && one.LID != 0 || one.Prefix != two.Prefix) {
		return true
	}
	return d.misses(ctx, snap, a.GUID, b.GUID)
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
