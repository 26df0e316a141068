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
func (d *Data) SMsElsewhere(ctx context.Context, snap *inventory.Snapshot, port ib.GUID) []string {
	sms := d.Planned.SMs(maxSMs)
	if !fabric.CanLook(snap) || len(sms) == 0 {
		return nil
	}
	through, err := fabric.Pick(snap, port)
	if err != nil {
		return nil
	}
	var names []string
	for _, sm := range sms {
		if !d.linked(ctx, sm) {
			return nil
		}
		names = append(names, "that of "+sm.String())
	}
	h, _, err := d.Host(snap.Host)
	if err != nil {
		return nil
	}
	nodes, err := fabric.Identities(ctx, h, through)
	if err != nil {
		tflog.Warn(ctx, "the fabric of a port was not read",
			map[string]any{"host": snap.Host, "port": port.String(), "error": diagnostic.Plain(err.Error())})
		return nil
	}
	for _, n := range nodes {
		if slices.ContainsFunc(sms, func(sm attribute.PortRef) bool { return slices.Contains(n.GUIDs, sm.GUID) }) {
			return nil
		}
	}
	return names
}

func (d *Data) linked(ctx context.Context, sm attribute.PortRef) bool {
	_, _, snap, err := d.Look(hosts.WithoutLosses(ctx), sm.Host)
	if err != nil {
		return false
	}
	_, p, found := snap.CardByPortGUID(sm.GUID)
	return found && p.LinkLayer == "InfiniBand" && p.Physical == "LinkUp"
}
