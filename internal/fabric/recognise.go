package fabric

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Recognise finds the cards of hosts among the nodes, by the GUID that they run,
// and adds the host's name and the card's slot. A GUID that two cards have is
// nobody's.
func (f *Fabric) Recognise(hosts map[string]*inventory.Snapshot) {
	type found struct {
		host string
		pcie inventory.PCIe
		n    int
	}
	cards := map[ib.GUID]found{}
	for name, s := range hosts {
		for i := range s.Cards {
			// What the card runs with, not what is in its flash: the fabric sees only that.
			if c := &s.Cards[i]; c.NodeGUID != 0 {
				cards[c.NodeGUID] = found{name, c.PCIe, cards[c.NodeGUID].n + 1}
			}
		}
	}
	for _, n := range f.Nodes {
		c, ok := cards[n.GUID]
		if !ok || c.n > 1 || n.Switch {
			continue
		}
		n.Host = c.host
		if c.pcie.Width > 0 {
			n.PCIe = &PCIe{Width: c.pcie.Width, MaxWidth: c.pcie.MaxWidth, Speed: c.pcie.Speed, MaxSpeed: c.pcie.MaxSpeed}
		}
	}
}
