package ipoib

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// InPlace reports whether some port of the host has an interface as d wants it.
func InPlace(s *inventory.Snapshot, d Request) bool {
	for i := range s.Cards {
		for _, p := range s.Cards[i].Ports {
			if Observe(s, p.PortGUID, d.PKey).Satisfies(d.Config) {
				return true
			}
		}
	}
	return false
}

// anyMode refuses connected mode where no port of the host can do it.
func (c *checker) anyMode() {
	var unfit []string
	for _, card := range c.s.Cards {
		for _, p := range card.Ports {
			n, ok := c.s.NetdevByPortGUID(p.PortGUID)
			ok = ok && !p.PortGUID.IsZero()
			if ok && n.Connected || !ok && card.Driver != "mlx5_core" {
				return
			}
			unfit = append(unfit, fmt.Sprintf("%s port %d (%s)", card.PCI, p.Number, card.Driver))
		}
	}
	if len(unfit) > 0 && c.d.Config.Mode == ib.ModeConnected {
		c.add(finding.ConnectedModeMissing.Find("No port of %s can do it: %s.", c.s.Host, strings.Join(unfit, ", ")))
	}
}

// mayBeOurs reports whether an interface may belong to the port that is not known yet.
func (c *checker) mayBeOurs(name string) bool {
	if !c.portUnknown {
		return false
	}
	// An Ethernet port of a card may become an InfiniBand one.
	_, _, ofCard := c.s.CardByNetdev(name)
	n, ok := c.s.Netdev(name)
	return ofCard || ok && n.IB
}

// ports are the ports that the interface may be of.
func (c *checker) ports() []ib.GUID {
	if !c.portUnknown {
		return []ib.GUID{c.d.PortGUID}
	}
	var all []ib.GUID
	for i := range c.s.Cards {
		for _, p := range c.s.Cards[i].Ports {
			all = append(all, p.PortGUID)
		}
	}
	return all
}

// portsOf names the ports that a host has.
func portsOf(s *inventory.Snapshot) string {
	var ports []string
	for _, card := range s.Cards {
		for _, p := range card.Ports {
			if !p.PortGUID.IsZero() {
				ports = append(ports, fmt.Sprintf("%s port %d: %s (%s)", card.PCI, p.Number, p.PortGUID, p.LinkLayer))
			}
		}
	}
	if len(ports) == 0 {
		return "It shows no InfiniBand port."
	}
	return "It has " + strings.Join(ports, ", ") + "."
}

// withoutCarrier is the text of IP045, if it holds.
func withoutCarrier(s *inventory.Snapshot, d Request) string {
	for _, f := range Check(s, d, PlanFacts{}) {
		if f.Rule == finding.InterfaceNotActivated {
			return f.Detail()
		}
	}
	return ""
}
