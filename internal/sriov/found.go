package sriov

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Look is what one look at a card has found.
type Look struct {
	Card      bool            // it is there
	Driver    string          // of the card
	Most      int             // that the card offers now
	Functions []ib.PCIAddress // that it has
	Stored    bool            // there is a unit of ours
	Boot      int             // that the unit makes
	AtBoot    bool            // the unit is enabled
	used      []use
	edits     []platform.Edit
	pci       ib.PCIAddress
	snap      *inventory.Snapshot
}

// use is one function that is in use.
type use struct{ function, what string }

// Find looks at a card of a host.
func Find(s *inventory.Snapshot, pci ib.PCIAddress) Look {
	l := Look{pci: pci, snap: s}
	if card, ok := s.Card(pci); ok {
		l.Card, l.Driver, l.Most = true, card.Driver, card.MaxVFs
	}
	for i := range s.Cards {
		c := &s.Cards[i]
		if of, known := c.Physical.Get(); !c.Virtual || !known || of != pci {
			continue
		}
		l.Functions = append(l.Functions, c.PCI)
		if what := usedBy(s, c); what != "" {
			l.used = append(l.used, use{c.PCI.String(), what})
		}
	}
	text := s.Files[unitPath(pci)].Content
	if l.Stored = platform.IsOurs(text); l.Stored {
		l.Boot = numberOf(text)
		_, l.AtBoot = s.Files[wantsPath(pci)]
		if e, differs := platform.EditOf(unitPath(pci), text, unit(pci, l.Boot)); differs {
			l.edits = append(l.edits, e)
		}
	}
	return l
}

// usedBy says who uses a virtual function; empty if nothing shows that. What was moved into a network namespace is not
// seen.
func usedBy(s *inventory.Snapshot, c *inventory.Card) string {
	if c.Driver != "" && c.Driver != "mlx5_core" {
		return c.PCI.String() + " is bound to " + c.Driver + ", as for a guest"
	}
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		own := slices.ContainsFunc(s.Below(n.Name), func(name string) bool {
			below, _ := s.Netdev(name)
			return below != nil && below.PCI == c.PCI
		})
		if own && (n.Master != "" || slices.ContainsFunc(n.Addresses, ofANetwork)) {
			return "the interface " + n.Name + " of " + c.PCI.String() + " is in use"
		}
	}
	for _, st := range s.Storage {
		if c.RDMADevice != "" && st.RDMA == c.RDMADevice {
			return st.Kind + " " + st.What + " is reached over " + c.PCI.String()
		}
	}
	return ""
}

// ofANetwork reports whether somebody gave an address, and not the kernel.
func ofANetwork(p netip.Prefix) bool { return !p.Addr().IsLinkLocalUnicast() }

// Differences says in what the host differs from q, one line each.
func (l Look) Differences(q Request) (lines []string) {
	if len(l.Functions) != q.Number {
		lines = append(lines, "its virtual functions: "+strconv.Itoa(len(l.Functions)))
	}
	switch {
	case !l.Stored:
		lines = append(lines, "nothing makes them at boot")
	case l.Boot != q.Number:
		lines = append(lines, "its unit makes another number at boot")
	case !l.AtBoot:
		lines = append(lines, UnitName(l.pci)+" is not enabled")
	}
	for _, e := range l.edits {
		lines = append(lines, e.Path+" was changed by hand")
	}
	return lines
}

// Lasts reports whether a boot makes the functions that are there now.
func (l Look) Lasts() bool {
	return l.AtBoot && l.Boot == len(l.Functions) && len(l.edits) == 0
}

// Seen is what is kept of a look beside a state.
type Seen struct {
	BootID       string
	Number, Boot int
	Lines        []string `json:",omitempty"` // that somebody has added to the unit
}

// Seen is what is kept of this one.
func (l Look) Seen() Seen {
	return Seen{l.snap.BootID, len(l.Functions), l.Boot, platform.AddedLines(l.edits)}
}

// ours reports whether a file is not there or ours.
func ours(text string) bool { return text == "" || platform.IsOurs(strings.TrimSpace(text)) }
