package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Neighbours gives the nodes of the fabric that are no cards of configured hosts. The
// card's own host is asked or, if that sees no fabric, the first host that does. There
// are none if no host can look, and they are unknown if a look fails. It costs one
// command a fabric, and is called when GUIDs are to change. Call it after Lab, which
// reads the hosts.
func (d *Data) Neighbours(ctx context.Context, card attribute.CardRef) fact.Of[[]safety.FabricNode] {
	changes := strconv.FormatUint(d.Set.Changes(), 10)
	name := card.Host
	if _, can := d.canLook(ctx, name); !can {
		// It is called for every card whose GUIDs change, and must not walk over all
		// hosts each time.
		name, _ = d.fabricHost.Get("", changes, func() (string, error) { return d.firstThatLooks(ctx), nil })
	}
	if name == "" {
		return fact.Known[[]safety.FabricNode](nil)
	}
	nodes, err := d.fabrics.Get(name, changes, func() ([]safety.FabricNode, error) { return d.lookAround(ctx, name) })
	if err != nil {
		return fact.Unknown[[]safety.FabricNode](fmt.Sprintf("the look at the fabric of host %s failed: %v", name, err))
	}
	return fact.Known(nodes)
}

func (d *Data) canLook(ctx context.Context, name string) (fabric.Through, bool) {
	_, _, snap, err := d.Look(ctx, name)
	if err != nil {
		return fabric.Through{}, false // Lab warns of hosts that do not answer
	}
	return fabric.CanLook(snap)
}

func (d *Data) firstThatLooks(ctx context.Context) string {
	for _, name := range d.HostNames() {
		if _, can := d.canLook(ctx, name); can {
			return name
		}
	}
	return ""
}

func (d *Data) lookAround(ctx context.Context, name string) ([]safety.FabricNode, error) {
	h, _, err := d.Host(name)
	if err != nil {
		return nil, err
	}
	through, _ := d.canLook(ctx, name)
	seen, err := fabric.Identities(ctx, h, through)
	if err != nil {
		return nil, err
	}
	hosts, _ := d.Snapshots(ctx)
	return unconfiguredNodes(seen, hosts, fmt.Sprintf("%s %s/%d", name, through.Device, through.Port)), nil
}

// unconfiguredNodes drops the nodes of configured hosts, which are compared as cards.
func unconfiguredNodes(seen []fabric.Identity, hosts map[string]*inventory.Snapshot, via string) []safety.FabricNode {
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
