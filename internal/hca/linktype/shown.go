package linktype

import (
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Unshown are the ports whose type nothing on the host shows: only what the card has stored for
// them is known.
func (s State) Unshown() []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Ports)), func(n int) bool { return s.Ports[n].Shown != "" })
}

// shownTypes gives the types of the ports as the kernel shows them. mlx4 shows them
// itself. With mlx5 each port is a PCI function, and the link layer of its RDMA device
// is the type. Without mlx5_ib there is none. An interface of mlx5_core shows Ethernet then: the
// driver makes one for no other type (Linux drivers/net/ethernet/mellanox/mlx5/core/dev.c,
// mlx5_eth_supported).
func shownTypes(s *inventory.Snapshot, card *inventory.Card) map[int]string {
	types := map[int]string{}
	for _, p := range card.Ports {
		if p.TypeNow != "" {
			types[p.Number] = p.TypeNow
		}
	}
	if !decidesItself(card) {
		return types
	}
	for i := range s.Cards {
		c := &s.Cards[i]
		if c.PCI.Slot() != card.PCI.Slot() || c.Virtual {
			continue
		}
		if t := functionType(s, c); t != "" {
			types[c.PCI.Function()+1] = t.String()
		}
	}
	return types
}

// functionType is the type of the port of a PCI function; empty if nothing shows it.
func functionType(s *inventory.Snapshot, c *inventory.Card) ib.LinkType {
	if len(c.Ports) == 1 {
		switch c.Ports[0].LinkLayer {
		case "InfiniBand":
			return ib.LinkTypeIB
		case "Ethernet":
			return ib.LinkTypeETH
		}
	}
	ethernet := func(n inventory.Netdev) bool { return n.PCI == c.PCI && !n.IB }
	if len(c.Ports) == 0 && slices.ContainsFunc(s.Netdevs, ethernet) {
		return ib.LinkTypeETH
	}
	return ""
}

// shownType splits "auto (ib)" into the configured type and the present one.
func shownType(s string) (configured, effective ib.LinkType) {
	word, rest, _ := strings.Cut(s, " ")
	configured = ib.LinkType(word)
	if configured != ib.LinkTypeAuto {
		return configured, configured
	}
	return configured, ib.LinkType(strings.Trim(rest, "()"))
}
