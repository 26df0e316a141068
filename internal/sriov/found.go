package sriov

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Look is what one look at a card has found.
type Look struct {
	Card      bool            // it is there
	Driver    string          // of the card
	Most      int             // that the card offers now
	Functions []ib.PCIAddress // that it has
	Stored    bool            // there is a unit of ours
	Boot      int             // that the unit makes
	Ethernet  bool            // the port of the card
	GUID      ib.GUID         // node GUID of the card
	Interface string          // of ib_ipoib on the card; empty if there is none
	Ports     map[int]Port    // of the functions, by number, as far as they are known
	BootPorts []Port          // that the unit gives them
	runs      map[int]ib.GUID // node GUIDs that functions use, where a driver of the host shows them
	AtBoot    bool            // the unit is enabled
	used      []use
	edits     []platform.Edit
	pci       ib.PCIAddress
	snap      *inventory.Snapshot
}

// use is one function that is in use.
type use struct {
	number         int
	function, what string
}

// Find looks at a card of a host, and completes what is asked for with the default GUIDs of its functions.
func Find(s *inventory.Snapshot, q *Request) Look {
	l := find(s, q.Card)
	q.Complete(l.GUID)
	return l
}

func find(s *inventory.Snapshot, pci ib.PCIAddress) Look {
	l := Look{pci: pci, snap: s}
	if card, ok := s.Card(pci); ok {
		l.Card, l.Driver, l.Most, l.GUID = true, card.Driver, card.MaxVFs, card.NodeGUID
		p, _ := card.Port(1)
		l.Ethernet = p != nil && p.LinkLayer == "Ethernet"
	}
	l.findFunctions()
	text := s.Files[unitPath(pci)].Content
	if l.Stored = platform.IsOurs(text); l.Stored {
		l.Boot, l.BootPorts = numberOf(text), portsOf(text)
		_, l.AtBoot = s.Files[systemctl.BootLink(UnitName(pci))]
		l.edits = platform.EditsOf(unitPath(pci), text, unit(pci, l.Boot, l.BootPorts))
	}
	return l
}

// findFunctions finds the functions of the card, and their ports.
func (l *Look) findFunctions() {
	for i := range l.snap.Netdevs {
		if n := &l.snap.Netdevs[i]; n.PCI == l.pci && n.IB && n.Parent == "" {
			l.Interface, l.Ports = n.Name, n.Virtual
		}
	}
	l.runs = map[int]ib.GUID{}
	for i := range l.snap.Cards {
		c, number := &l.snap.Cards[i], len(l.Functions)
		// The number of a function is its place among those of the card, by address.
		if of, known := c.Physical.Get(); !c.Virtual || !known || of != l.pci {
			continue
		}
		if what := usedBy(l.snap, c); what != "" {
			l.used = append(l.used, use{number, c.PCI.String(), what})
		}
		// What a guest's driver uses is not seen from here.
		if c.RDMADevice != "" && c.Driver == "mlx5_core" {
			l.runs[number] = c.NodeGUID
		}
		l.Functions = append(l.Functions, c.PCI)
	}
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
	q.Complete(l.GUID) // a state has none of its own
	if len(l.Functions) != q.Number {
		lines = append(lines, "its virtual functions: "+strconv.Itoa(len(l.Functions)))
	}
	for _, number := range l.Stale(q) {
		lines = append(lines, l.portNow(number))
	}
	switch {
	case !l.Stored:
		lines = append(lines, "nothing makes them at boot")
	case l.Boot != q.Number:
		lines = append(lines, "its unit makes another number at boot")
	case !slices.Equal(l.BootPorts, q.Ports):
		lines = append(lines, "its unit gives other GUIDs or link states at boot")
	case !l.AtBoot:
		lines = append(lines, UnitName(l.pci)+" is not enabled")
	}
	for _, e := range l.edits {
		lines = append(lines, e.Path+" was changed by hand")
	}
	return lines
}

// Stale are the numbers of the functions that are to get another port. One that a driver uses with another GUID is
// bound anew.
func (l Look) Stale(q Request) (all []int) {
	for number, want := range q.Ports {
		runs, shown := l.runs[number]
		if l.Ports[number] != want || shown && runs != want.Node {
			all = append(all, number)
		}
	}
	return all
}

// portNow says what the port of a function is.
func (l Look) portNow(number int) string {
	p, known := l.Ports[number]
	if !known {
		return inventory.VirtualFunction(number) + ": no GUIDs are shown"
	}
	text := told(number, p)
	if runs, shown := l.runs[number]; shown && runs != p.Node {
		text += fmt.Sprintf(", in use the node GUID %s", runs)
	}
	return text
}

// Lasts reports whether a boot makes the functions that are there now.
func (l Look) Lasts() bool {
	ports := len(l.BootPorts) == 0 || len(l.Stale(Request{Ports: l.BootPorts})) == 0
	return l.AtBoot && l.Boot == len(l.Functions) && ports && len(l.edits) == 0
}

// Seen is what is kept of a look beside a state.
type Seen struct {
	BootID       string
	Number, Boot int
	GUID         ib.GUID      // of the card: default GUIDs follow from it
	Ports        map[int]Port `json:",omitempty"`
	Lines        []string     `json:",omitempty"` // that somebody has added to the unit
}

// Seen is what is kept of this one.
func (l Look) Seen() Seen {
	return Seen{l.snap.BootID, len(l.Functions), l.Boot, l.GUID, l.Ports, platform.AddedLines(l.edits)}
}
