package clash

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Lab is an index of the identities of all cards of a configuration. Without it the
// comparison of each card with all others takes time that grows with the square of the
// cards. It is safe for concurrent use.
type Lab struct {
	mu      sync.RWMutex
	cards   map[identityKey]Holder
	byValue map[valueKey][]identityKey
	byHost  map[string][]identityKey // those that were found, not those planned
	planned map[slotKey]int          // cards with a planned identity, which replaces the found one
	// restarts are the cards whose restart is planned: it ends their use of other GUIDs.
	restarts map[slotKey]bool
	unread   map[string][]Holder // by host; a host without any is not in it
	// functions are the planned ones of the virtual functions of a card, which replace those found.
	functions map[cardKey][]identityKey
}

type cardKey struct {
	host string
	pci  ib.PCIAddress
}

type identityKey struct {
	host     string
	pci      ib.PCIAddress
	kind     identityKind
	function string // see Holder
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
	kind  byte // 'g' GUID, 'm' MAC, 'n' Neighbourhood of a node GUID
	value uint64
}

// Neighbourhood is how many GUIDs from a base belong to one card.
const Neighbourhood = 4

// NewLab returns an empty index.
func NewLab() *Lab {
	return &Lab{cards: map[identityKey]Holder{}, byValue: map[valueKey][]identityKey{},
		byHost: map[string][]identityKey{}, planned: map[slotKey]int{}, restarts: map[slotKey]bool{},
		unread: map[string][]Holder{}, functions: map[cardKey][]identityKey{}}
}

// Found replaces what is known of the cards of a host.
func (l *Lab) Found(host string, cards []Holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.byHost[host] {
		l.remove(k)
	}
	delete(l.unread, host)
	keys := make([]identityKey, 0, len(cards))
	for _, c := range cards {
		c.Host, c.Planned = host, false
		k := identityKey{host: host, pci: c.PCI, function: c.Function}
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
func (l *Lab) unreadCards() []Holder {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []Holder
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
		l.add(identityKey{host: host, pci: pci, kind: planned}, Holder{Host: host, PCI: pci, GUIDs: *guids, Planned: true})
		l.planned[slot]++
	}
}

// PlanFunctions says which identities the virtual functions of a card will have.
func (l *Lab) PlanFunctions(host string, pci ib.PCIAddress, all []Holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	card := cardKey{host, pci}
	for _, k := range l.functions[card] {
		l.remove(k)
	}
	l.functions[card] = make([]identityKey, len(all))
	for i, c := range all {
		c.Host, c.PCI, c.Planned = host, pci, true
		l.functions[card][i] = identityKey{host, pci, planned, c.Function}
		l.add(l.functions[card][i], c)
	}
}

func (l *Lab) unplan(host string, pci ib.PCIAddress) {
	k := identityKey{host: host, pci: pci, kind: planned}
	if _, ok := l.cards[k]; ok {
		l.remove(k)
		l.planned[slotKey{host, pci.Slot()}]--
	}
}

func (l *Lab) add(k identityKey, c Holder) {
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
func (l *Lab) near(want ib.GUIDSet, all bool) []Holder {
	l.mu.RLock()
	defer l.mu.RUnlock()
	values := valuesOf(want)
	if !want.Node.IsNone() {
		home := uint64(want.Node) / Neighbourhood
		values = append(values, valueKey{'n', home - 1}, valueKey{'n', home + 1})
	}
	seen := map[identityKey]bool{}
	var found []Holder
	for _, v := range values {
		for _, k := range l.byValue[v] {
			if seen[k] || !all && l.replaced(k) {
				continue
			}
			seen[k] = true
			found = append(found, l.cards[k])
		}
	}
	slices.SortFunc(found, func(a, b Holder) int {
		return strings.Compare(a.where(), b.where())
	})
	return found
}

// replaced reports whether what is planned ends this identity.
func (l *Lab) replaced(k identityKey) bool {
	if k.function != "" {
		return k.kind == inFlash && len(l.functions[cardKey{k.host, k.pci}]) > 0
	}
	slot := slotKey{k.host, k.pci.Slot()}
	return k.kind == inFlash && l.planned[slot] > 0 || k.kind == running && l.restarts[slot]
}

// valuesOf are the values that an identity is found by. Values that many cards
// share because none of them was ever set are no identity.
func valuesOf(s ib.GUIDSet) []valueKey {
	var keys []valueKey
	for _, g := range GUIDsOf(s) {
		if k := (valueKey{'g', uint64(g.GUID)}); !g.GUID.IsNone() && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, m := range MACsOf(s) {
		if k := (valueKey{'m', uint64(m.MAC)}); UsableMAC(m.MAC) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if !s.Node.IsNone() {
		keys = append(keys, valueKey{'n', uint64(s.Node) / Neighbourhood})
	}
	return keys
}
