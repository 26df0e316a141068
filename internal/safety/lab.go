package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// CardIdentity is the identity that another card has or is planned to have.
type CardIdentity struct {
	Host    string
	PCI     ib.PCIAddress
	GUIDs   ib.GUIDSet
	Planned bool // not on the card yet
	// Running: the card uses them until its next start, which loads others from flash.
	Running bool
	// Unread says why the flash was not read: GUIDs are then what the driver shows, if it
	// shows any. Empty if it was, or if no tool can.
	Unread string
}

// where names the card, and since when or until when it has the identity.
func (c CardIdentity) where() string {
	where := c.ID()
	switch {
	case c.Planned:
		return where + " (planned)"
	case c.Running:
		return where + " (until its next start)"
	}
	return where
}

// ID names the card.
func (c CardIdentity) ID() string { return fmt.Sprintf("%s/%s", c.Host, c.PCI) }

// LabFacts is the identity of every card of every configured host, as far as it is
// known, from a list and from an index. The card in question may be among them.
type LabFacts struct {
	Cards []CardIdentity
	Lab   *Lab // may be nil
	// SameMachine says whether two host names are of one machine; nil if all are
	// known to be different.
	SameMachine func(a, b string) fact.Bool
	// Writing is true at the moment of a write. What another card has then counts as well as
	// what is planned for it: its own write may come later.
	Writing bool
	// Fabric has the nodes that a host sees in its fabric and that are no cards of
	// configured hosts; unknown if nobody has looked.
	Fabric fact.Of[[]FabricNode]
}

// FabricNode is a node of a fabric as the diagnostics of a host see it.
type FabricNode struct {
	Name  string // description
	Via   string // who looked: "intel9 mlx4_0/1"
	GUIDs []ib.GUID
}

// takenGUIDs names the values of want that nodes of the fabric have.
func (l LabFacts) takenGUIDs(want ib.GUIDSet) []string {
	var out []string
	nodes, _ := l.Fabric.Get() // unseen asks if they are not known
	for _, n := range nodes {
		for _, w := range guidsOf(want) {
			if usableGUID(w.guid) && slices.Contains(n.GUIDs, w.guid) {
				out = append(out, fmt.Sprintf("%s %s is a GUID of %q, which %s sees", w.name, w.guid, n.Name, n.Via))
			}
		}
	}
	return out
}

// unseenFabric is the finding on a fabric that could not be read. It weighs as much as
// a node that has one of the GUIDs. It matters only where the card gets new GUIDs.
func (l LabFacts) unseenFabric(in GUIDInput, becomes ib.GUIDSet) []finding.Finding {
	has := in.Card.InFlash().GUIDs
	has.MAC1, has.MAC2 = becomes.MAC1, becomes.MAC2
	keeps := in.Card.FlashKnown() && !in.Card.InFlash().BlankGUIDs && has == becomes
	if l.Fabric.Known() || !in.Request.HasGUIDs || keeps {
		return nil
	}
	return []finding.Finding{finding.GUIDInFabric.Find("Which GUIDs the nodes of the fabric have is not known: %s",
		l.Fabric.Why())}
}

// near gives the cards that may clash with want: all of the list, and those of the
// index that share a value or whose node GUID is less than four away.
func (l LabFacts) near(want ib.GUIDSet) []CardIdentity {
	if l.Lab == nil {
		return l.Cards
	}
	return append(slices.Clone(l.Cards), l.Lab.near(want, l.Writing)...)
}

// others are the cards near want but for the card in question. It may be there again
// under a second name of its host.
func (l LabFacts) others(host string, pci ib.PCIAddress, want ib.GUIDSet) []CardIdentity {
	return l.withoutCard(host, pci, l.near(want))
}

// withoutCard leaves the card in question out.
func (l LabFacts) withoutCard(host string, pci ib.PCIAddress, cards []CardIdentity) []CardIdentity {
	return slices.DeleteFunc(slices.Clone(cards), func(c CardIdentity) bool {
		return c.PCI.Slot() == pci.Slot() && fact.Yes(l.same(host, c.Host))
	})
}

// Unread are the other cards of the index whose flash was not read: what they have is not
// known, so that a comparison says nothing of them.
func (l LabFacts) Unread(host string, pci ib.PCIAddress) []CardIdentity {
	return l.withoutCard(host, pci, l.Lab.unreadCards())
}

// taken are the findings on values of want that other cards have, in flash or in use.
func (l LabFacts) taken(host string, pci ib.PCIAddress, want ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	for _, other := range l.others(host, pci, want) {
		rule := finding.GUIDOfOtherCard
		if other.Running {
			rule = finding.GUIDUntilRestart
		}
		for _, clash := range clashesWith(other, want) {
			found = append(found, rule.Find("%s", clash+l.doubt(host, pci, other)))
		}
	}
	return found
}

func (l LabFacts) same(a, b string) fact.Bool {
	switch {
	case a == b:
		return fact.Known(true)
	case l.SameMachine == nil:
		return fact.Known(false)
	}
	return l.SameMachine(a, b)
}

// secondNames finds other names of the card's host under which a card near want
// was found.
func (l LabFacts) secondNames(host string, pci ib.PCIAddress, want ib.GUIDSet) []finding.Finding {
	var found []finding.Finding
	seen := map[string]bool{host: true}
	for _, c := range l.near(want) {
		if seen[c.Host] || c.PCI.Slot() != pci.Slot() || !fact.Yes(l.same(host, c.Host)) {
			continue
		}
		seen[c.Host] = true
		found = append(found, finding.HostHasTwoNames.Find("%s", oneMachine(host, c.Host)))
	}
	return found
}

// doubt adds to a clash that the two cards may be one.
func (l LabFacts) doubt(host string, pci ib.PCIAddress, other CardIdentity) string {
	same := l.same(host, other.Host)
	if same.Known() || other.PCI.Slot() != pci.Slot() {
		return ""
	}
	return fmt.Sprintf(". It may be the same card: whether hosts %s and %s are one machine is not known, because %s", host,
		other.Host, same.Why())
}

// Lab is an index of the identities of all cards of a configuration. Without it the
// comparison of each card with all others takes time that grows with the square of the
// cards. It is safe for concurrent use.
type Lab struct {
	mu      sync.RWMutex
	cards   map[identityKey]CardIdentity
	byValue map[valueKey][]identityKey
	byHost  map[string][]identityKey // those that were found, not those planned
	planned map[slotKey]int          // cards with a planned identity, which replaces the found one
	// restarts are the cards whose restart is planned: it ends their use of other GUIDs.
	restarts map[slotKey]bool
	unread   map[string][]CardIdentity // by host; a host without any is not in it
}

type identityKey struct {
	host string
	pci  ib.PCIAddress
	kind identityKind
}

type identityKind int

const (
	inFlash identityKind = iota
	running
	planned
)

type slotKey struct{ host, slot string }

// valueKey is one value that an identity is found by.
type valueKey struct {
	kind  byte // 'g' GUID, 'm' MAC, 'n' neighbourhood of a node GUID
	value uint64
}

// neighbourhood is how many GUIDs from a base belong to one card.
const neighbourhood = 4

// NewLab returns an empty index.
func NewLab() *Lab {
	return &Lab{cards: map[identityKey]CardIdentity{}, byValue: map[valueKey][]identityKey{},
		byHost: map[string][]identityKey{}, planned: map[slotKey]int{}, restarts: map[slotKey]bool{},
		unread: map[string][]CardIdentity{}}
}

// Found replaces what is known of the cards of a host.
func (l *Lab) Found(host string, cards []CardIdentity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.byHost[host] {
		l.remove(k)
	}
	delete(l.unread, host)
	keys := make([]identityKey, 0, len(cards))
	for _, c := range cards {
		c.Host, c.Planned = host, false
		k := identityKey{host: host, pci: c.PCI}
		if c.Running {
			k.kind = running
		}
		l.add(k, c)
		if c.Unread != "" {
			l.unread[host] = append(l.unread[host], c)
		}
		keys = append(keys, k)
	}
	l.byHost[host] = keys
}

// unreadCards are the cards that were found and whose flash was not read, by name.
func (l *Lab) unreadCards() []CardIdentity {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []CardIdentity
	for _, host := range slices.Sorted(maps.Keys(l.unread)) {
		all = append(all, l.unread[host]...)
	}
	return all
}

// Plan says which identity a card will have in flash, nil for the one that it has, and
// whether it will use what is in flash. That counts instead of what was found. It replaces
// an earlier plan at once: another check may look at any time.
func (l *Lab) Plan(host string, pci ib.PCIAddress, guids *ib.GUIDSet, restarts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unplan(host, pci)
	slot := slotKey{host, pci.Slot()}
	delete(l.restarts, slot)
	if restarts {
		l.restarts[slot] = true
	}
	if guids != nil {
		l.add(identityKey{host, pci, planned}, CardIdentity{Host: host, PCI: pci, GUIDs: *guids, Planned: true})
		l.planned[slot]++
	}
}

func (l *Lab) unplan(host string, pci ib.PCIAddress) {
	k := identityKey{host, pci, planned}
	if _, ok := l.cards[k]; ok {
		l.remove(k)
		l.planned[slotKey{host, pci.Slot()}]--
	}
}

func (l *Lab) add(k identityKey, c CardIdentity) {
	if _, ok := l.cards[k]; ok {
		l.remove(k)
	}
	l.cards[k] = c
	for _, v := range valuesOf(c.GUIDs) {
		l.byValue[v] = append(l.byValue[v], k)
	}
}

func (l *Lab) remove(k identityKey) {
	for _, v := range valuesOf(l.cards[k].GUIDs) {
		rest := slices.DeleteFunc(l.byValue[v], func(other identityKey) bool { return other == k })
		if len(rest) == 0 {
			delete(l.byValue, v)
		} else {
			l.byValue[v] = rest
		}
	}
	delete(l.cards, k)
}

// near gives what clashes with want, or is next to it; with all, also what a plan replaces.
func (l *Lab) near(want ib.GUIDSet, all bool) []CardIdentity {
	l.mu.RLock()
	defer l.mu.RUnlock()
	values := valuesOf(want)
	if usableGUID(want.Node) {
		home := uint64(want.Node) / neighbourhood
		values = append(values, valueKey{'n', home - 1}, valueKey{'n', home + 1})
	}
	seen := map[identityKey]bool{}
	var found []CardIdentity
	for _, v := range values {
		for _, k := range l.byValue[v] {
			if seen[k] || !all && l.replaced(k) {
				continue
			}
			seen[k] = true
			found = append(found, l.cards[k])
		}
	}
	slices.SortFunc(found, func(a, b CardIdentity) int {
		return strings.Compare(a.where(), b.where())
	})
	return found
}

// replaced reports whether what is planned ends this identity.
func (l *Lab) replaced(k identityKey) bool {
	slot := slotKey{k.host, k.pci.Slot()}
	return k.kind == inFlash && l.planned[slot] > 0 || k.kind == running && l.restarts[slot]
}

// valuesOf are the values that an identity is found by. Values that many cards
// share because none of them was ever set are no identity.
func valuesOf(s ib.GUIDSet) []valueKey {
	var keys []valueKey
	for _, g := range guidsOf(s) {
		if k := (valueKey{'g', uint64(g.guid)}); usableGUID(g.guid) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, m := range macsOf(s) {
		if k := (valueKey{'m', uint64(m.mac)}); usableMAC(m.mac) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if usableGUID(s.Node) {
		keys = append(keys, valueKey{'n', uint64(s.Node) / neighbourhood})
	}
	return keys
}
