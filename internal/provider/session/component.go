package session

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// maxSMs bounds how many subnet managers are looked for in a fabric: a
// configuration with more is one of many fabrics, and each port would be compared
// with all of them.
const maxSMs = 8

// SMsElsewhere names the subnet managers that were planned so far if a look through
// a port of the host shows that its fabric has none of them. It is empty if one is
// there, and also if that is not known: the host has no diagnostics, or the port of a
// subnet manager has no link yet and may get one to this fabric.
func (d *Data) SMsElsewhere(ctx context.Context, snap *inventory.Snapshot, port ib.GUID) (names []string) {
	sms := d.Planned.SMs(maxSMs)
	for _, sm := range sms {
		if !d.linked(ctx, sm) {
			return nil
		}
		names = append(names, "that of "+sm.String())
	}
	if here, known := d.hasSM(ctx, snap, port, sms); here || !known {
		return nil
	}
	return names
}

// SMHere reports whether a look through a port of the host shows that its fabric has one of the subnet managers that
// were planned so far.
func (d *Data) SMHere(ctx context.Context, snap *inventory.Snapshot, port ib.GUID) bool {
	here, _ := d.hasSM(ctx, snap, port, d.Planned.SMs(maxSMs))
	return here
}

// hasSM walks the fabric behind a port for subnet managers. It is not known where the host has no diagnostics.
func (d *Data) hasSM(ctx context.Context, snap *inventory.Snapshot, port ib.GUID,
	sms []attribute.PortRef) (here, known bool) {
	if !fabric.CanLook(snap) || len(sms) == 0 {
		return false, false
	}
	through, err := fabric.Pick(snap, port)
	if err != nil {
		return false, false
	}
	h, _, err := d.Host(snap.Host)
	if err != nil {
		return false, false
	}
	nodes, err := fabric.Identities(ctx, h, through)
	if err != nil {
		noteUnread(ctx, snap.Host, port, err)
		return false, false
	}
	for _, n := range nodes {
		if slices.ContainsFunc(sms, func(sm attribute.PortRef) bool { return slices.Contains(n.GUIDs, sm.GUID) }) {
			return true, true
		}
	}
	return false, true
}

// GroupMTU is the MTU in bytes of the broadcast group of a partition on the fabric of a port; zero if that is not
// known.
func (d *Data) GroupMTU(ctx context.Context, snap *inventory.Snapshot, port ib.GUID, pkey uint16) int {
	through, err := fabric.Pick(snap, port)
	p, there := fabric.LooksThrough(snap, through)
	if err != nil || !there || p.State != "Active" || !fabric.CanLook(snap) || d.Hosts[snap.Host].Observe {
		return 0
	}
	h, _, err := d.Host(snap.Host)
	if err != nil {
		return 0
	}
	mtu, err := fabric.GroupMTU(ctx, h, through, pkey)
	if err != nil {
		noteUnread(ctx, snap.Host, port, err)
	}
	return mtu
}

// noteUnread keeps in the log why nothing is concluded of a fabric.
func noteUnread(ctx context.Context, host string, port ib.GUID, err error) {
	tflog.Warn(ctx, "the fabric of a port was not read",
		map[string]any{"host": host, "port": port.String(), "error": diagnostic.Plain(err.Error())})
}

func (d *Data) linked(ctx context.Context, sm attribute.PortRef) bool {
	_, _, snap, err := d.Look(hosts.WithoutLosses(ctx), sm.Host)
	if err != nil {
		return false
	}
	_, p, found := snap.CardByPortGUID(sm.GUID)
	return found && p.LinkLayer == "InfiniBand" && p.Physical == "LinkUp"
}
