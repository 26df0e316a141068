package clash

import (
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Facts is the identity of every card of every configured host, as far as it is
// known, from a list and from an index. The card in question may be among them.
type Facts struct {
	Cards []Holder
	Lab   *Lab // may be nil
	// SameMachine says whether two host names are of one machine; nil if all are
	// known to be different.
	SameMachine func(a, b string) fact.Bool
	// Apart names the two fabrics that the configuration puts the card with these values and another one on; empty if
	// both may be on one. Nil if no fabric has a name.
	Apart func(want ib.GUIDSet, other Holder) string
	// Writing is true at the moment of a write. What another card has then counts as well as
	// what is planned for it: its own write may come later.
	Writing bool
	// Fabric has the nodes that a host sees in its fabric and that are no cards of
	// configured hosts; unknown if nobody has looked.
	Fabric fact.Of[[]Node]
}

// Node is a node of a fabric as the diagnostics of a host see it.
type Node struct {
	Name  string // description
	Via   string // who looked: "intel9 mlx4_0/1"
	GUIDs []ib.GUID
}

// TakenGUIDs names the values of want that nodes of the fabric have.
func (l Facts) TakenGUIDs(want ib.GUIDSet) []string {
	var out []string
	nodes, _ := l.Fabric.Get() // unseen asks if they are not known
	for _, n := range nodes {
		for _, w := range GUIDsOf(want) {
			if !w.GUID.IsNone() && slices.Contains(n.GUIDs, w.GUID) {
				out = append(out, fmt.Sprintf("%s %s is a GUID of %q, which %s sees", w.Name, w.GUID, n.Name, n.Via))
			}
		}
	}
	return out
}

// UnseenFabric is the finding on a fabric that could not be read. It weighs as much as
// a node that has one of the GUIDs.
func (l Facts) UnseenFabric() []finding.Finding {
	if l.Fabric.Known() {
		return nil
	}
	return []finding.Finding{finding.GUIDInFabric.Find("Which GUIDs the nodes of the fabric have is not known: %s",
		l.Fabric.Why())}
}

// near gives the cards that may clash with want: all of the list, and those of the
// index that share a value or whose node GUID is less than four away.
func (l Facts) near(want ib.GUIDSet) []Holder {
	if l.Lab == nil {
		return l.Cards
	}
	return append(slices.Clone(l.Cards), l.Lab.near(want, l.Writing)...)
}

// Others are the cards near want but for the card in question. It may be there again
// under a second name of its host.
func (l Facts) Others(host string, pci ib.PCIAddress, want ib.GUIDSet) []Holder {
	return l.withoutCard(host, pci, l.near(want))
}

// withoutCard leaves the card in question out.
func (l Facts) withoutCard(host string, pci ib.PCIAddress, cards []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(cards), func(c Holder) bool {
		return c.PCI.Slot() == pci.Slot() && fact.Yes(l.OneMachine(host, c.Host))
	})
}

// Unread are the other cards of the index whose flash was not read: what they have is not
// known, so that a comparison says nothing of them.
func (l Facts) Unread(host string, pci ib.PCIAddress) []Holder {
	return l.withoutCard(host, pci, l.Lab.unreadCards())
}

// Taken are the findings on values of want that other cards have, in flash or in use.
func (l Facts) Taken(host string, pci ib.PCIAddress, want ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	for _, other := range l.Others(host, pci, want) {
		rule := finding.GUIDOfOtherCard
		if other.Running {
			rule = finding.GUIDUntilRestart
		}
		for _, clash := range guidClashes(other, want) {
			found = append(found, l.onOneFabric(rule.Find("%s", clash+l.doubt(host, pci, other)), want, other))
		}
		for _, clash := range macClashes(other, want) {
			found = append(found, rule.Find("%s", clash+l.doubt(host, pci, other)))
		}
	}
	return found
}

// onOneFabric makes a warning of a finding on equal GUIDs of two cards that are on two fabrics. MACs are of Ethernet,
// which these names say nothing of.
func (l Facts) onOneFabric(f finding.Finding, want ib.GUIDSet, other Holder) finding.Finding {
	if l.Apart == nil {
		return f
	}
	if fabrics := l.Apart(want, other); fabrics != "" {
		f.Severity, f.Summary = finding.Warn, "Cards on two fabrics have one GUID, which stops a fabric that gets both"
		f.Evidence += ". The configuration puts them on the fabrics " + fabrics
	}
	return f
}

// Overlaps finds other cards whose four GUIDs overlap the four from a base, also if no single value is equal today.
func (l Facts) Overlaps(host string, pci ib.PCIAddress, base ib.GUID) (found []finding.Finding) {
	for _, other := range l.Others(host, pci, ib.GUIDSet{Node: base}) {
		if other.GUIDs.Node.IsNone() || other.Running || other.Function != "" {
			continue
		}
		a, b := uint64(min(base, other.GUIDs.Node)), uint64(max(base, other.GUIDs.Node))
		if b-a > 0 && b-a < Neighbourhood {
			f := finding.GUIDOfOtherCard.Find("Base %s is %d from node GUID %s of %s", base, b-a, other.GUIDs.Node, other.ID())
			found = append(found, l.onOneFabric(f.At("base_guid"), ib.GUIDSet{Port1: base + 1, Port2: base + 2}, other))
		}
	}
	return found
}

// OneMachine reports whether two hosts are one machine.
func (l Facts) OneMachine(a, b string) fact.Bool {
	switch {
	case a == b:
		return fact.Known(true)
	case l.SameMachine == nil:
		return fact.Known(false)
	}
	return l.SameMachine(a, b)
}

// SecondNames finds other names of the card's host under which a card near want
// was found.
func (l Facts) SecondNames(host string, pci ib.PCIAddress, want ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	seen := map[string]bool{host: true}
	for _, c := range l.near(want) {
		if seen[c.Host] || c.PCI.Slot() != pci.Slot() || !fact.Yes(l.OneMachine(host, c.Host)) {
			continue
		}
		seen[c.Host] = true
		found = append(found, SecondName(host, c.Host))
	}
	return found
}

// doubt adds to a clash that the two cards may be one.
func (l Facts) doubt(host string, pci ib.PCIAddress, other Holder) string {
	same := l.OneMachine(host, other.Host)
	if same.Known() || other.PCI.Slot() != pci.Slot() {
		return ""
	}
	return fmt.Sprintf(". It may be the same card: whether hosts %s and %s are one machine is not known, because %s", host,
		other.Host, same.Why())
}

// Clashes names the values of want that other cards have.
func (l Facts) Clashes(host string, pci ib.PCIAddress, want ib.GUIDSet) []string {
	var out []string
	for _, other := range l.Others(host, pci, want) {
		for _, clash := range clashesWith(other, want) {
			out = append(out, clash+l.doubt(host, pci, other))
		}
	}
	return out
}
