package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// surroundings is what a walk over a fabric has seen.
type surroundings struct {
	nodes []safety.FabricNode // those that are no cards of configured hosts
	guids map[ib.GUID]bool    // of all nodes and ports
}

// Neighbours gives the nodes of the fabrics around a card that are no cards of configured
// hosts. The card's own host is asked through each of its ports that has a link. A host
// that cannot look leaves it to the first one that can, if that one sees the port. A port
// whose fabric nobody looks at is told in a warning, as a host is that does not answer. A
// card without a link may come into any fabric: one is asked. The nodes are unknown if a
// look fails. It costs one command a fabric, and is called when GUIDs are to change. Call
// it after Lab, which reads the hosts.
func (d *Data) Neighbours(ctx context.Context, card attribute.CardRef,
	diags *diag.Diagnostics) fact.Of[[]safety.FabricNode] {
	_, _, snap, err := d.Look(ctx, card.Host)
	if err != nil {
		return fact.Known[[]safety.FabricNode](nil) // Lab warns of hosts that do not answer
	}
	linked := fabric.Linked(snap, card.PCI)
	if len(linked) == 0 {
		name, through := d.looker(ctx, card.Host)
		around, err := d.around(ctx, name, through)
		return nodesAround(around.nodes, name, err)
	}
	var nodes []safety.FabricNode
	seen := map[ib.GUID]bool{}
	for _, p := range linked {
		if ib.UniqueGUID(p.GUID) && seen[p.GUID] {
			continue // by the look through another port
		}
		name, around, err := d.aroundPort(ctx, card.Host, p)
		if err != nil {
			return nodesAround(nil, name, err)
		}
		if name == "" {
			warnUnseen(diags, card, p.Port)
		}
		maps.Copy(seen, around.guids)
		nodes = append(nodes, around.nodes...)
	}
	return fact.Known(nodes)
}

// aroundPort looks at the fabric of a port that has a link. The name is that of the host
// that looked, and empty if none looks at this fabric. Only a GUID of its own tells a port
// in what another host sees.
func (d *Data) aroundPort(ctx context.Context, host string, p fabric.LinkedPort) (string, surroundings, error) {
	name, through := d.looker(ctx, host)
	if name == host {
		through = p.Through
	}
	around, err := d.around(ctx, name, through)
	sees := name == host || ib.UniqueGUID(p.GUID) && around.guids[p.GUID]
	if err == nil && !sees {
		return "", surroundings{}, nil
	}
	return name, around, err
}

func nodesAround(nodes []safety.FabricNode, name string, err error) fact.Of[[]safety.FabricNode] {
	if err != nil {
		return fact.Unknown[[]safety.FabricNode](fmt.Sprintf("the look at the fabric of host %s failed: %v", name, err))
	}
	return fact.Known(nodes)
}

func warnUnseen(diags *diag.Diagnostics, card attribute.CardRef, port int) {
	diags.AddWarning(fmt.Sprintf("Card %s: GUIDs of the fabric of port %d are not compared", card, port),
		fmt.Sprintf("No configured host looks at this fabric. Host %s does not have the programs of infiniband-diags, or "+
			"its kernel has not loaded ib_umad. A node there may have the same GUID, and two nodes with one GUID make a "+
			"fabric unusable. Install infiniband-diags on a host of this fabric, run modprobe ib_umad, and plan again before "+
			"you write GUIDs. Or compare them by hand.", card.Host))
}

// looker gives the host that looks at a fabric and, unless the caller knows better, the
// port: the preferred host or, if that cannot, the first one that can; empty if none.
func (d *Data) looker(ctx context.Context, preferred string) (string, fabric.Through) {
	name := preferred
	through, can := d.canLook(ctx, name)
	if !can {
		// It is called for every card whose GUIDs change, and must not walk over all
		// hosts each time.
		name, _ = d.fabricHost.Get("", d.changes(), func() (string, error) { return d.firstThatLooks(ctx), nil })
		through, _ = d.canLook(ctx, name)
	}
	return name, through
}

func (d *Data) changes() string { return strconv.FormatUint(d.Set.Changes(), 10) }

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

// around walks the fabric behind a port of a host. Without a host there is nothing around.
func (d *Data) around(ctx context.Context, name string, through fabric.Through) (surroundings, error) {
	if name == "" {
		return surroundings{}, nil
	}
	via := fmt.Sprintf("%s %s/%d", name, through.Device, through.Port)
	return d.fabrics.Get(via, d.changes(), func() (surroundings, error) {
		h, _, err := d.Host(name)
		if err != nil {
			return surroundings{}, err
		}
		seen, err := fabric.Identities(ctx, h, through)
		if err != nil {
			return surroundings{}, err
		}
		hosts, _ := d.Snapshots(ctx)
		all := surroundings{nodes: unconfiguredNodes(seen, hosts, via), guids: map[ib.GUID]bool{}}
		for _, n := range seen {
			for _, g := range n.GUIDs {
				all.guids[g] = true
			}
		}
		return all, nil
	})
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
