package session

import (
	"cmp"
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
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// view is what a walk over a fabric has seen.
type view struct {
	nodes []clash.Node     // those that are no cards of configured hosts
	guids map[ib.GUID]bool // of all nodes and ports
}

// lookingPort is a port through which a host can look at a fabric.
type lookingPort struct {
	host string
	fabric.LinkedPort
}

// Neighbours gives the nodes of the fabrics around a card that are no cards of configured
// hosts. The card's own host looks through each of its ports that has a link. For a host
// that cannot look, another one does that sees the port. A warning names a port that no host
// sees, as it names a host that does not answer. A card without a link may come into any
// fabric: one is looked at. The nodes are unknown if a look fails. It costs one command a
// fabric, and is called when GUIDs are to change. Call it after Lab, which reads the hosts.
func (d *Data) Neighbours(ctx context.Context, card attribute.CardRef,
	diags *diag.Diagnostics) fact.Of[[]clash.Node] {
	nodes, err := d.neighbours(ctx, card, diags)
	if err != nil {
		return fact.Unknown[[]clash.Node](err.Error())
	}
	return fact.Known(nodes)
}

func (d *Data) neighbours(ctx context.Context, card attribute.CardRef,
	diags *diag.Diagnostics) (nodes []clash.Node, err error) {
	_, _, snap, err := d.Look(ctx, card.Host)
	if err != nil {
		return nil, nil //nolint:nilerr // Lab warns of hosts that do not answer
	}
	own := slices.DeleteFunc(fabric.LinkedPorts(snap),
		func(p fabric.LinkedPort) bool { return p.Card.Slot() != card.PCI.Slot() })
	if len(own) == 0 {
		return d.anyFabric(ctx, snap)
	}
	seen := map[ib.GUID]bool{}
	for _, p := range own {
		if ib.UniqueGUID(p.GUID) && seen[p.GUID] {
			continue // by the look through another port
		}
		v, found, err := d.viewOf(ctx, snap, p)
		if err != nil {
			return nil, err
		}
		if !found {
			warnUnseen(diags, card, p.Port)
		}
		maps.Copy(seen, v.guids)
		nodes = append(nodes, v.nodes...)
	}
	return nodes, nil
}

func warnUnseen(diags *diag.Diagnostics, card attribute.CardRef, port int) {
	diags.AddWarning(fmt.Sprintf("Card %s: GUIDs of the fabric of port %d are not compared", card, port),
		fmt.Sprintf("No configured host looks at this fabric. Host %s does not have the programs of infiniband-diags, or "+
			"its kernel has not loaded ib_umad. A node there may have the same GUID, and two nodes with one GUID make a "+
			"fabric unusable. Install infiniband-diags on a host of this fabric, run modprobe ib_umad, and plan again before "+
			"you write GUIDs. Or compare them by hand.", card.Host))
}

// anyFabric looks at one fabric, of the host itself if it can, and of none with another name. Without a host that can
// there are no nodes.
func (d *Data) anyFabric(ctx context.Context, snap *inventory.Snapshot) ([]clash.Node, error) {
	ports := d.lookingPorts(ctx)
	if own := looksThrough(snap); len(own) > 0 {
		ports = own
	}
	ports = slices.DeleteFunc(slices.Clone(ports), func(p lookingPort) bool {
		here, there := d.Fabrics.Hosts[snap.Host], d.Fabrics.Of(attribute.PortRef{Host: p.host, GUID: p.GUID})
		return here != "" && there != "" && here != there
	})
	if len(ports) == 0 {
		return nil, nil
	}
	v, err := d.look(ctx, ports[0])
	return v.nodes, err
}

// viewOf looks at the fabric of a port that has a link. found is false if no host looks at
// it. Only a GUID of its own tells a port in what another host sees. A look that fails is an
// error if no other one sees the port: it may be of that fabric.
func (d *Data) viewOf(ctx context.Context, snap *inventory.Snapshot,
	p fabric.LinkedPort) (v view, found bool, err error) {
	if fabric.CanLook(snap) {
		v, err = d.look(ctx, lookingPort{snap.Host, p})
		return v, err == nil, err
	}
	if !ib.UniqueGUID(p.GUID) {
		return view{}, false, nil
	}
	var failed error
	elsewhere := map[ib.GUID]bool{}
	for _, q := range d.lookingPorts(ctx) {
		if ib.UniqueGUID(q.GUID) && elsewhere[q.GUID] {
			continue
		}
		v, err := d.look(ctx, q)
		if v.guids[p.GUID] {
			return v, true, nil
		}
		failed = cmp.Or(failed, err)
		maps.Copy(elsewhere, v.guids)
	}
	return view{}, false, failed
}

func (d *Data) changes() string { return strconv.FormatUint(d.Set.Changes(), 10) }

// lookingPorts are those of all hosts, by the names of the hosts. They are asked for with
// every card whose GUIDs change, and going through all hosts takes long.
func (d *Data) lookingPorts(ctx context.Context) []lookingPort {
	all, _ := d.looking.Get("", d.changes(), func() (all []lookingPort, _ error) {
		found, _ := d.Snapshots(ctx) // Lab warns of hosts that do not answer
		for _, name := range slices.Sorted(maps.Keys(found)) {
			all = append(all, looksThrough(found[name])...)
		}
		return all, nil
	})
	return all
}

// looksThrough are the ports through which a host can look; none if it lacks the programs.
func looksThrough(snap *inventory.Snapshot) (all []lookingPort) {
	if fabric.CanLook(snap) {
		for _, p := range fabric.LinkedPorts(snap) {
			all = append(all, lookingPort{snap.Host, p})
		}
	}
	return all
}

// look walks the fabric behind a port.
func (d *Data) look(ctx context.Context, p lookingPort) (view, error) {
	via := fmt.Sprintf("%s %s/%d", p.host, p.Device, p.Port)
	return d.fabrics.Get(via, d.changes(), func() (view, error) {
		h, _, err := d.Host(p.host)
		if err != nil {
			return view{}, err
		}
		seen, err := fabric.Identities(ctx, h, p.Through)
		if err != nil {
			return view{}, fmt.Errorf("the look at the fabric of host %s failed: %w", p.host, err)
		}
		hosts, _ := d.Snapshots(ctx)
		v := view{nodes: unconfiguredNodes(seen, hosts, via), guids: map[ib.GUID]bool{}}
		for _, n := range seen {
			for _, g := range n.GUIDs {
				v.guids[g] = true
			}
		}
		return v, nil
	})
}

// unconfiguredNodes drops the nodes of configured hosts, which are compared as cards.
func unconfiguredNodes(seen []fabric.Identity, hosts map[string]*inventory.Snapshot, via string) []clash.Node {
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
	var all []clash.Node
	for _, n := range seen {
		if !slices.ContainsFunc(n.GUIDs, func(g ib.GUID) bool { return !g.IsZero() && own[g] }) {
			all = append(all, clash.Node{Name: n.Name, Via: via, GUIDs: n.GUIDs})
		}
	}
	return all
}
