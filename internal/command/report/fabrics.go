package report

import (
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// seenFabric is a fabric and who has looked at it.
type seenFabric struct {
	*fabric.Fabric
	// ID stays the same whoever looks: the lowest GUID of a switch, or of a port where two cards are cabled
	// to each other. The GUID of a card would name the fabrics of both of its ports.
	ID   ib.GUID
	From string
	// alike counts the nodes by their labels: switches often have none of their own.
	alike map[string]int
}

// label names a port so that no other port of the fabric is called the same.
func (f *seenFabric) label(p *fabric.Port) string {
	if f.alike[p.Node.Label()] > 1 {
		return fmt.Sprintf("%s (%s)", p.Label(), p.Node.GUID)
	}
	return p.Label()
}

// attempts bounds the looks that fail: each may last minutes, and what keeps one host from
// looking often keeps all.
const attempts = 8

// linked is a port with a link on an InfiniBand fabric.
type linked struct {
	m       *machine
	port    ib.GUID
	through fabric.Through
}

func (l *lab) linked() []linked {
	var all []linked
	for _, m := range l.Hosts {
		for _, c := range m.cards() {
			for _, p := range c.Ports {
				if c.RDMADevice != "" && p.LinkLayer == "InfiniBand" && p.Physical == "LinkUp" {
					all = append(all, linked{m, p.PortGUID, fabric.Through{Device: c.RDMADevice, Port: p.Number}})
				}
			}
		}
	}
	return all
}

// lookAtFabrics lets hosts look until each port with a link is in a fabric that was seen.
func (l *lab) lookAtFabrics(ctx context.Context) {
	seen, cannot, failed := map[ib.GUID]bool{}, map[*machine]string{}, 0
	ports := l.linked()
	for _, p := range ports {
		switch {
		case seen[p.port] || cannot[p.m] != "":
		case !p.m.Snap.Commands["ibnetdiscover"]:
			cannot[p.m] = "it has no ibnetdiscover, which comes with the package infiniband-diags."
		case failed >= attempts:
			cannot[p.m] = fmt.Sprintf("%d ports before it could not look either.", failed)
		default:
			f, err := fabric.Observe(ctx, p.m.on, p.through, true)
			if err != nil {
				failed++
				cannot[p.m] = diagnostic.Line(err.Error())
				continue
			}
			l.add(f, p, seen)
		}
	}
	for _, p := range ports {
		if !seen[p.port] {
			l.Unseen = append(l.Unseen, problem{fmt.Sprintf("%s port %s", p.m.Name, p.port),
				"Nobody has looked at the fabric of this port. Its host cannot: " + cannot[p.m]})
		}
	}
}

// add notes a fabric and its ports.
func (l *lab) add(f *fabric.Fabric, by linked, seen map[ib.GUID]bool) {
	f.Recognise(l.snapshots())
	s := &seenFabric{Fabric: f, From: fmt.Sprintf("%s, %s port %d", by.m.Name, by.through.Device, by.through.Port),
		alike: map[string]int{}}
	seen[by.port] = true
	var switches []ib.GUID
	ends := []ib.GUID{by.port}
	for _, n := range f.Nodes {
		s.alike[n.Label()]++
		for _, p := range n.Ports {
			seen[p.GUID] = true
			if p.GUID != 0 {
				ends = append(ends, p.GUID)
			}
		}
		if n.Switch {
			switches = append(switches, n.GUID)
		}
	}
	if len(switches) > 0 {
		ends = switches
	}
	s.ID = slices.Min(ends)
	l.Fabrics = append(l.Fabrics, s)
}
