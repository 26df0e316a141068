package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// ExpectedCable is a cable that should be there. Ends are written "NODE/PORT" or
// "NODE"; NODE is a node's GUID, its name of the node name map, its description, the
// name of its host, or for a card in a host of the provider that host's name.
type ExpectedCable struct {
	A, B     string
	MinWidth int
	MinSpeed ib.Speed
}

// AbsentCable is an expected cable that is not there, for drawing it: the ends as they
// were written, and their nodes as far as there are such.
type AbsentCable struct {
	A, B         string
	NodeA, NodeB *Node
}

// AbsentCables lists the expected cables that are not there, and marks the links of those that are slower than
// expected.
func (f *Fabric) AbsentCables(expected []ExpectedCable) []AbsentCable {
	var list []AbsentCable
	taken := map[*Link]bool{}
	for _, e := range expected {
		a, b := f.nodesNamed(e.A), f.nodesNamed(e.B)
		// An end that may be two nodes is drawn as missing; cables says that it is ambiguous.
		if len(a) == 1 && len(b) == 1 {
			if l := f.between(e, taken); l != nil {
				taken[l], l.BelowWish = true, e.slower(l)
				continue
			}
		}
		m := AbsentCable{A: e.A, B: e.B}
		if len(a) > 0 {
			m.NodeA = a[0]
		}
		if len(b) > 0 {
			m.NodeB = b[0]
		}
		list = append(list, m)
	}
	return list
}

// Difference is one thing that is not as it should be.
type Difference struct {
	Kind    string // see the constants
	Where   string
	Message string // one sentence for a person
}

// Kinds of differences.
const (
	Missing    = "missing"    // an expected cable is not there
	Ambiguous  = "ambiguous"  // an expected end fits more than one node, or none
	Unexpected = "unexpected" // a cable that nobody expects
	BelowWish  = "slow"       // an expected cable is below its width or speed
	Degraded   = "degraded"   // both ends could do better, or a slot cannot keep up
	Silent     = "silent"     // a link whose other end does not answer
	Inactive   = "inactive"   // a link that no subnet manager has made Active
	Errors     = "errors"     // a counter above its threshold
	Growing    = "growing"    // a counter above its earlier value
	Flapping   = "flapping"   // a link that went down since an earlier reading
	NoLink     = "no_link"    // the port that looks has none
	NoManager  = "no_sm"
	Masters    = "masters" // more than one subnet manager rules
	Duplicate  = "duplicate_guid"
	ZeroGUID   = "zero_guid"
	// UnknownGUID is a GUID of the node name map that no node has, TwoFabrics are ports of
	// two configured fabrics on one.
	UnknownGUID = "unknown_guid"
	TwoFabrics  = "two_fabrics"
)

// Limits say which counters are differences: those above their limit.
type Limits map[string]int64

// DefaultLimits hold the counters that stay low on a cable that is fine.
func DefaultLimits() Limits {
	return Limits{"SymbolErrorCounter": 10, "LinkErrorRecoveryCounter": 10, "LinkDownedCounter": 10, "PortRcvErrors": 10,
		"LocalLinkIntegrityErrors": 10}
}

// Compare gives all differences. Without expected cables none is missing or
// unexpected.
func (f *Fabric) Compare(expected []ExpectedCable, limits Limits, before map[string]map[string]uint64) []Difference {
	var all []Difference
	add := func(kind, where, format string, args ...any) {
		all = append(all, Difference{kind, where, fmt.Sprintf(format, args...)})
	}
	f.health(add)
	f.checkNames(add)
	f.cables(expected, add)
	for _, l := range f.Links {
		if l.Degraded() {
			add(Degraded, l.Name(), "%s runs at %s: %s.", l.Name(), l.Rate(), strings.Join(l.Slow(), "; "))
		}
	}
	f.errors(limits, before, add)
	return all
}

type adder func(kind, where, format string, args ...any)

// Name is both ends of a link for people.
func (l *Link) Name() string {
	if l.B == nil {
		return l.A.Label()
	}
	return l.A.Label() + " - " + l.B.Label()
}

// waiting names the subnet managers that may take over; empty if none is known.
func (f *Fabric) waiting() string {
	var words []string
	for _, sm := range f.SMs {
		if sm.State == smStates[sminfo.Standby] || sm.State == smStates[sminfo.Discovering] {
			words = append(words, fmt.Sprintf("%s is %s", sm.Label(), sm.State))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " One may take over: " + strings.Join(words, ", ") + "."
}

func (f *Fabric) health(add adder) {
	// First: with two ports of one GUID all the rest of the picture may be wrong.
	for _, g := range f.Duplicates {
		add(Duplicate, g.String(), "More than one port has the GUID %s. No subnet manager can set up this fabric, and the "+
			"tools show one of the ports only: give one of the cards other GUIDs.", g)
	}
	for _, n := range f.Nodes {
		if n.GUID == 0 {
			add(ZeroGUID, n.Label(), "The GUID of %s is zero. Subnet managers leave its ports at Initializing: give the card "+
				"GUIDs.", n.Label())
		}
	}
	f.rule(add)
	for _, l := range f.Links {
		switch {
		case l.B == nil:
			add(Silent, l.Name(), "%s has a link, and nothing answers at its other end: a node with a GUID that another one "+
				"has, or one that hangs.", l.Name())
		// Without a manager every link waits, which rule says once for all.
		case f.Master() != nil && (l.A.State != "Active" || l.B.State != "Active"):
			add(Inactive, l.Name(), "%s is %s/%s although there is a subnet manager.", l.Name(), l.A.State, l.B.State)
		}
	}
}

// rule says what is wrong with who rules the fabric.
func (f *Fabric) rule(add adder) {
	switch {
	case f.NoLink != "":
		add(NoLink, "fabric", "Nothing is known of this fabric: %s. Other nodes, cables and subnet managers are not seen "+
			"through it. Check the cable and the other end, or name another port in port_guid.", f.NoLink)
	case f.Master() != nil:
		f.masters(add)
	case !f.Ruled.Known():
		add(NoManager, "fabric", "Whether a subnet manager rules this fabric is not known: %s. One may hang, or may be gone "+
			"since the ports were set up.", f.Ruled.Why())
	default:
		add(NoManager, "fabric", "No subnet manager rules this fabric: ports that come up stay at Initializing and get no "+
			"LID, and nobody answers for paths and groups.%s", f.waiting())
	}
}

// masters names those that rule, if there is more than one.
func (f *Fabric) masters(add adder) {
	var names []string
	for _, sm := range f.SMs {
		if sm.State == smStates[sminfo.Master] {
			names = append(names, sm.Label())
		}
	}
	if len(names) > 1 {
		add(Masters, "fabric", "%d subnet managers rule this fabric: %s. Each sets up the ports without the others, so that "+
			"LIDs, paths and partitions can change under way. If none of them is just taking over, give all of them one sm_key "+
			"and restart them.", len(names), strings.Join(names, ", "))
	}
}

func (f *Fabric) cables(expected []ExpectedCable, add adder) {
	if len(expected) == 0 {
		return
	}
	wanted := map[*Link]bool{}
	for _, e := range expected {
		name := Printable(e.A + " - " + e.B)
		if !f.bothEnds(e, name, add) {
			continue
		}
		l := f.between(e, wanted)
		if l == nil {
			add(Missing, name, "The cable %s is not there.%s", name, f.instead(e))
			continue
		}
		wanted[l] = true
		if e.slower(l) {
			add(BelowWish, l.Name(), "%s runs at %s, expected at least %s.", l.Name(), l.Rate(), e.wish())
		}
	}
	for _, l := range f.Links {
		// A silent end has a finding of its own.
		if !wanted[l] && l.B != nil {
			add(Unexpected, l.Name(), "The cable %s is not among the expected ones.", l.Name())
		}
	}
}

// bothEnds reports whether each end is one node, and says what is wrong.
func (f *Fabric) bothEnds(e ExpectedCable, name string, add adder) bool {
	fine := true
	for _, end := range []string{e.A, e.B} {
		switch n := len(f.nodesNamed(end)); {
		case n == 0 && f.NoLink != "":
			if text := f.instead(e); text != "" {
				add(Missing, name, "The cable %s is not there.%s", name, text)
			} else {
				add(Missing, name, "The cable %s is not seen: %s.", name, f.NoLink)
			}
			return false
		case n == 0:
			fine = false
			add(Missing, name, "The cable %s is not there: no node of the fabric is called %s.", name, Printable(end))
		case n > 1:
			fine = false
			add(Ambiguous, name, "The end %s of the cable %s fits %d nodes: name it by its GUID.", Printable(end), name, n)
		}
	}
	return fine
}

func (e ExpectedCable) wish() string {
	var words []string
	if e.MinWidth > 0 {
		words = append(words, fmt.Sprintf("%dX", e.MinWidth))
	}
	if e.MinSpeed > 0 {
		words = append(words, e.MinSpeed.String())
	}
	return strings.Join(words, " ")
}

// split takes the port off an end; 0 is any.
func split(end string) (string, int) {
	// The last slash, and only before a number: descriptions may have slashes.
	if i := strings.LastIndexByte(end, '/'); i > 0 {
		if n, err := strconv.Atoi(end[i+1:]); err == nil && n > 0 {
			return end[:i], n
		}
	}
	return end, 0
}

// nodesNamed finds the nodes that an end may mean: by GUID, else by name or description,
// else by host, of which a host with one card has one.
func (f *Fabric) nodesNamed(end string) []*Node {
	name, _ := split(end)
	guid, err := ib.ParseGUID(name)
	for _, fits := range []func(*Node) bool{
		func(n *Node) bool { return err == nil && n.GUID == guid },
		func(n *Node) bool { return n.Given == name },
		func(n *Node) bool { return n.Name == name },
		func(n *Node) bool { return n.Host == name },
		func(n *Node) bool { return !n.Switch && n.HostName() == name },
	} {
		var list []*Node
		for _, n := range f.Nodes {
			if fits(n) {
				list = append(list, n)
			}
		}
		// In this order, and no further than the first that fits: a GUID never loses to a description.
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func (f *Fabric) between(e ExpectedCable, taken map[*Link]bool) *Link {
	fits := func(p *Port, end string) bool {
		_, port := split(end)
		return p.Node == f.nodesNamed(end)[0] && (port == 0 || port == p.Number)
	}
	for _, l := range f.Links {
		if l.B != nil && !taken[l] && (fits(l.A, e.A) && fits(l.B, e.B) || fits(l.B, e.A) && fits(l.A, e.B)) {
			return l
		}
	}
	return nil
}

// instead says where the ends of a missing cable are plugged in.
func (f *Fabric) instead(e ExpectedCable) string {
	var text strings.Builder
	for _, end := range []string{e.A, e.B} {
		name, port := split(end)
		if port == 0 {
			continue
		}
		nodes := f.nodesNamed(end)
		if len(nodes) == 0 {
			continue
		}
		node := nodes[0]
		i := slices.IndexFunc(f.Links, func(l *Link) bool {
			return l.B != nil && (l.A.Node == node && l.A.Number == port || l.B.Node == node && l.B.Number == port)
		})
		if i < 0 {
			fmt.Fprintf(&text, " Port %d of %s has no link.", port, Printable(name))
			continue
		}
		other := f.Links[i].B
		if other.Node == node && other.Number == port {
			other = f.Links[i].A
		}
		fmt.Fprintf(&text, " Port %d of %s leads to %s.", port, Printable(name), other.Label())
	}
	return text.String()
}

func (f *Fabric) errors(limits Limits, before map[string]map[string]uint64, add adder) {
	if f.Uncounted != "" {
		add(Errors, "fabric", "The error counters could not be read: %s.", f.Uncounted)
	}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
				v := p.Counters[name]
				// Below zero a limit is switched off.
				if limit, ok := limits[name]; ok && limit >= 0 && v > uint64(limit) {
					add(Errors, p.Label(), "%s has counted %d %s since the counter was last cleared, more than %d.", p.Label(), v,
						name, limit)
				}
			}
		}
	}
	// Without an earlier reading nothing can have grown.
	if before == nil {
		return
	}
	grown := f.Growth(before)
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			for _, name := range slices.Sorted(maps.Keys(grown[p.ID()])) {
				add(Growing, p.Label(), "%s has counted %d more %s since the earlier reading.", p.Label(), grown[p.ID()][name],
					name)
			}
		}
	}
}

// Counters gives the counters that are not zero, by the ids of the ports.
func (f *Fabric) Counters() map[string]map[string]uint64 {
	all := map[string]map[string]uint64{}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if len(p.Counters) > 0 {
				all[p.ID()] = p.Counters
			}
		}
	}
	return all
}

// Growth compares with an earlier reading. A counter below its earlier value was
// cleared in between, so that all of it is new. Counters stop at their maximum
// (symbol errors at 65535): one that stands there may be growing unseen.
func (f *Fabric) Growth(before map[string]map[string]uint64) map[string]map[string]uint64 {
	grown := map[string]map[string]uint64{}
	for id, counters := range f.Counters() {
		for name, now := range counters {
			then := before[id][name]
			if now < then {
				then = 0
			}
			if now > then {
				if grown[id] == nil {
					grown[id] = map[string]uint64{}
				}
				grown[id][name] = now - then
			}
		}
	}
	return grown
}
