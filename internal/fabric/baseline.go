package fabric

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Reading is the error counters of a fabric at one time.
type Reading struct {
	At time.Time
	// Counters are those that are not zero, by the ids of all ports with a link.
	Counters map[string]map[string]uint64
	Boots    map[string]string // boot ids of the hosts that were read, by name
}

// Reading is that of this look.
func (f *Fabric) Reading(at time.Time, boots map[string]string) Reading {
	r := Reading{At: at, Counters: map[string]map[string]uint64{}, Boots: boots}
	for _, l := range f.Links {
		for _, p := range l.ends() {
			// An empty entry says that the port was read and had counted nothing; a port without one was not read.
			if r.Counters[p.ID()] = p.Counters; p.Counters == nil {
				r.Counters[p.ID()] = map[string]uint64{}
			}
		}
	}
	return r
}

func (l *Link) ends() []*Port {
	if l.B == nil {
		return []*Port{l.A}
	}
	return []*Port{l.A, l.B}
}

// Cables are the cables that are there as expected ones, with the width and the speed that they have.
func (f *Fabric) Cables() []ExpectedCable {
	var all []ExpectedCable
	for _, l := range f.Links {
		if l.B != nil {
			// Both ends of a link have one width and one speed.
			all = append(all, ExpectedCable{A: f.End(l.A), B: f.End(l.B), MinWidth: l.A.Width, MinSpeed: l.A.Speed})
		}
	}
	return all
}

// End writes a port so that it names this one alone: by its node's name of the node name map, by the name of its
// host, by the description of a card, or by the GUID. Switches of one kind have one description.
func (f *Fabric) End(p *Port) string {
	names := []string{p.Node.Given, p.Node.Host}
	// Two switches of one kind have one description, as the vendor wrote it.
	if !p.Node.Switch {
		names = append(names, p.Node.Name)
	}
	for _, name := range names {
		if name == "" || name != Printable(name) {
			continue
		}
		end := fmt.Sprintf("%s/%d", name, p.Number)
		// What is written must lead back to this node: it becomes an expected cable.
		if nodes := f.nodesNamed(end); len(nodes) == 1 && nodes[0] == p.Node {
			return end
		}
	}
	return p.ID()
}

// flaps is the counter of a link that went down. It stops at 255 as the next one does (InfiniBand Architecture,
// PortCounters).
const flaps = "LinkDownedCounter"

// atMost is where counters stop.
var atMost = map[string]uint64{"SymbolErrorCounter": 0xffff, "LinkErrorRecoveryCounter": 0xff, flaps: 0xff,
	"PortRcvErrors": 0xffff, "LocalLinkIntegrityErrors": 0xf}

// CompareSince says which links went down since an earlier reading, and which cables have errors at a higher rate
// than perHour. Sums of before are silent. A port that was not read then is passed over, and a link of a host
// that has restarted went down for that.
func (f *Fabric) CompareSince(was, now Reading, perHour Limits) []Difference {
	var all []Difference
	passed := now.At.Sub(was.At)
	for _, l := range f.Links {
		down := uint64(0)
		for _, p := range l.ends() {
			before, read := was.Counters[p.ID()]
			if !read {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(perHour)) {
				n, stuck := grown(before[name], p.Counters[name], atMost[name])
				switch {
				case stuck:
					all = append(all, Difference{Errors, l.Name(), fmt.Sprintf("The cable %s: %s of %s stands at its maximum, %d, so "+
						"that nobody sees whether it grows. Clear it with infiniband_clear_counters or perfquery -R.", l.Name(), name,
						p.Label(), p.Counters[name])})
				// Both ends count one loss of the link: the larger of the two is how often it went down.
				case name == flaps:
					down = max(down, n)
				// At least an hour's worth: two readings a minute apart would else call one error a rate.
				case perHour[name] >= 0 && float64(n) > float64(perHour[name])*max(1, passed.Hours()):
					all = append(all, Difference{Growing, l.Name(), fmt.Sprintf("The cable %s: %s has counted %d more %s in %s.",
						l.Name(), p.Label(), n, name, passedText(passed))})
				}
			}
		}
		if down > 0 && !l.restarted(was, now) {
			all = append(all, Difference{Flapping, l.Name(), fmt.Sprintf("The link %s went down %s in %s.", l.Name(),
				times(down), passedText(passed))})
		}
	}
	return all
}

// grown is by how much a counter grew; one below its earlier value was cleared. It is stuck at its maximum.
func grown(before, now, most uint64) (n uint64, stuck bool) {
	switch {
	case most > 0 && now >= most && before >= most:
		return 0, true
	case now < before:
		return now, false
	}
	return now - before, false
}

// restarted reports whether a host at one end has, or may have, restarted between two readings.
func (l *Link) restarted(was, now Reading) bool {
	return slices.ContainsFunc(l.ends(), func(p *Port) bool {
		host := p.Node.Host
		// A host that was not read now may have restarted as well.
		return host != "" && (now.Boots[host] == "" || was.Boots[host] != now.Boots[host])
	})
}

func passedText(d time.Duration) string {
	minutes := int(d.Minutes())
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes < 120:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 48*60:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d days", minutes/60/24)
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// slower reports whether an expected cable is below its width or speed.
func (e ExpectedCable) slower(l *Link) bool { return e.MinWidth > l.A.Width || e.MinSpeed > l.A.Speed }
