package session

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// PortPlan says what will have happened to a port before a resource that needs
// it is applied.
type PortPlan struct {
	Card       attribute.CardRef
	Number     int  // 0 if no card is known to have or to get the port
	Planned    bool // a resource of this plan will give the card this port GUID
	InfiniBand bool // a resource of this plan will make the port InfiniBand
	Ethernet   bool // a resource of this plan will make the port Ethernet
	Waits      bool // the port becomes InfiniBand with a restart that is not planned
}

// PortPlan finds the port of a GUID on a host: on the wire, in the flash of a
// card whose port is Ethernet now, or among what this plan will write.
func (d *Data) PortPlan(s *inventory.Snapshot, host string, guid ib.GUID) PortPlan {
	p := PortPlan{}
	if ref, number, ok := d.Planned.PortOf(host, guid); ok {
		p = PortPlan{Card: ref, Number: number, Planned: true}
	} else if c, port, found := s.CardByPortGUID(guid); found {
		p = PortPlan{Card: attribute.CardRef{Host: host, PCI: c.PCI}, Number: port.Number}
	} else if c, number := inFlash(s, guid); c != nil {
		p = PortPlan{Card: attribute.CardRef{Host: host, PCI: c.PCI}, Number: number}
	}
	return d.withTypes(s, p)
}

// CardPortPlan is PortPlan for a port of a card that is known.
func (d *Data) CardPortPlan(s *inventory.Snapshot, card attribute.CardRef, number int) PortPlan {
	return d.withTypes(s, PortPlan{Card: card, Number: number})
}

// withTypes adds the types that resources of this plan give to the port. Of a card whose ports
// are PCI functions, the first function stands for all.
func (d *Data) withTypes(s *inventory.Snapshot, p PortPlan) PortPlan {
	at, number := p.Card, p.Number
	if c, ok := s.Card(at.PCI); ok && c.Chip.Driver == "mlx5_core" {
		if first, err := ib.ParsePCIAddress(at.PCI.Slot() + ".0"); err == nil {
			at.PCI, number = first, at.PCI.Function()+number
		}
	}
	card := d.Planned.Card(at)
	p.InfiniBand = card.LinkTypes[number] == ib.LinkTypeIB
	p.Ethernet = card.LinkTypes[number] == ib.LinkTypeETH
	p.Waits = card.AtRestart[number] == ib.LinkTypeIB
	return p
}

// Carrier is the interface that the port of the card has now, whatever its GUID is;
// empty if it has none.
func (p PortPlan) Carrier(s *inventory.Snapshot) string {
	for _, c := range s.Cards {
		for _, port := range c.Ports {
			if c.PCI != p.Card.PCI || port.Number != p.Number {
				continue
			}
			if n, ok := s.NetdevByPortGUID(port.PortGUID); ok && n.Parent == "" {
				return n.Name
			}
		}
	}
	return ""
}

func inFlash(s *inventory.Snapshot, guid ib.GUID) (*inventory.Card, int) {
	for i := range s.Cards {
		c := &s.Cards[i]
		switch {
		case c.Flash == nil:
		case c.Flash.GUIDs.Port1 == guid:
			return c, 1
		case c.Flash.GUIDs.Port2 == guid:
			return c, 2
		}
	}
	return nil, 0
}
