package labsim

import (
	"fmt"
	"maps"
	"strconv"
)

// LinkCaps is what one end of a link can do or may do, in the codes of PortInfo.
type LinkCaps struct {
	Widths   int // bits: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X
	Speeds   int // bits: 1 SDR, 2 DDR, 4 QDR
	Extended int // bits: 1 FDR, 2 EDR, 4 HDR, 8 NDR
}

// Usual ends of links.
var (
	QDR4X = LinkCaps{Widths: 3, Speeds: 7}
	FDR4X = LinkCaps{Widths: 3, Speeds: 7, Extended: 1}
	EDR4X = LinkCaps{Widths: 3, Speeds: 7, Extended: 3}
	HDR4X = LinkCaps{Widths: 3 | 16, Speeds: 7, Extended: 7}
	NDR4X = LinkCaps{Widths: 3 | 16, Speeds: 7, Extended: 15}
)

// and is what both ends have.
func (c LinkCaps) and(d LinkCaps) LinkCaps {
	return LinkCaps{c.Widths & d.Widths, c.Speeds & d.Speeds, c.Extended & d.Extended}
}

// enabledOf is what is enabled of what can be done, all of it if nothing is set.
func (c LinkCaps) enabledOf(may LinkCaps) LinkCaps {
	if may.isZero() {
		return c
	}
	return may
}

func (c LinkCaps) isZero() bool { return c == LinkCaps{} }

// Trained is what a link came up with, each field one bit of LinkCaps.
type Trained struct{ Width, Speed, Extended int }

// train gives the best that is left: lanes first, then speed.
func (c LinkCaps) train() Trained {
	var t Trained
	for _, w := range []int{8, 4, 2, 16, 1} {
		if c.Widths&w != 0 {
			t.Width = w
			break
		}
	}
	for bit := 8; bit > 0 && t.Extended == 0; bit >>= 1 {
		t.Extended = c.Extended & bit
	}
	for bit := 4; bit > 0 && t.Speed == 0; bit >>= 1 {
		t.Speed = c.Speeds & bit
	}
	return t
}

var laneCount = map[int]int{1: 1, 2: 4, 4: 8, 8: 12, 16: 2}

// Lanes is the number of lanes in use.
func (t Trained) Lanes() int { return laneCount[t.Width] }

// Name is the speed in use: "QDR".
func (t Trained) Name() string {
	if t.Extended != 0 {
		return map[int]string{1: "FDR", 2: "EDR", 4: "HDR", 8: "NDR"}[t.Extended]
	}
	return map[int]string{1: "SDR", 2: "DDR", 4: "QDR"}[t.Speed]
}

// rate is the text of sysfs: the kernel multiplies the lanes with its own round
// numbers.
func (t Trained) rate() string {
	tenths := t.Lanes() * map[string]int{"SDR": 25, "DDR": 50, "QDR": 100, "FDR": 140, "EDR": 250, "HDR": 500,
		"NDR": 1000}[t.Name()]
	text := strconv.Itoa(tenths / 10)
	if tenths%10 != 0 {
		text += ".5"
	}
	return fmt.Sprintf("%s Gb/sec (%dX %s)", text, t.Lanes(), t.Name())
}

// capsUpTo is four lanes up to a speed.
var capsUpTo = map[string]LinkCaps{"SDR": {Widths: 3, Speeds: 1}, "DDR": {Widths: 3, Speeds: 3}, "QDR": QDR4X,
	"FDR": FDR4X, "EDR": EDR4X, "HDR": HDR4X}

// canDo is what the port's hardware has.
func (p *Port) canDo() LinkCaps {
	if !p.Card.Config.Link.isZero() {
		return p.Card.Config.Link
	}
	return capsUpTo[p.Card.Config.Model.Speed]
}

// SetLink enables or disables the port, or changes what it may train at; a nil
// change leaves that alone. The link comes up anew only with retrain set, as
// with ibportstate: widths and speeds wait for a reset.
func (p *Port) SetLink(admin bool, may *LinkCaps, retrain bool) {
	l := p.Card.Machine.Lab
	l.mu.Lock()
	p.setAdmin(admin)
	if may != nil {
		p.may = *may
	}
	if retrain {
		p.trained, p.phys = Trained{}, PhysPolling
	}
	// Without a LID the program sends a stand-in, and the port believes it.
	if p.lid == 0 && p.link == LinkIB {
		p.lid, p.smLID = StandInLID, StandInLID
	}
	l.mu.Unlock()
	l.Recompute()
}

func (p *Port) setAdmin(admin bool) {
	m := p.Card.Machine
	m.mu.Lock()
	p.admin = admin
	m.mu.Unlock()
}

// StandInLID is what ibportstate writes as LID and SM LID of a port that has none.
const StandInLID = 0x1234

// SetSwitchPort enables or disables a port of a switch.
func (l *Lab) SetSwitchPort(name string, port int, enabled bool) {
	l.mu.Lock()
	if s := l.switches[name]; s != nil {
		if s.disabled == nil {
			s.disabled = map[int]bool{}
		}
		s.disabled[port] = !enabled
	}
	l.mu.Unlock()
	l.Recompute()
}

// Limit makes the cable at an end carry less than its ends could, as a bad or a
// short-lane one does, and lets the link train again.
func (l *Lab) Limit(e End, caps LinkCaps) bool {
	l.mu.Lock()
	found := false
	for _, c := range l.cables {
		if c.A == e || c.B == e {
			c.Limit, found = caps, true
		}
	}
	for _, p := range l.allPorts() {
		p.trained = Trained{}
	}
	l.mu.Unlock()
	l.Recompute()
	return found
}

// Count adds to an error counter of an end of a cable, by the name that perfquery
// gives it: "SymbolErrorCounter".
func (l *Lab) Count(e End, counter string, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counters[e] == nil {
		l.counters[e] = map[string]uint64{}
	}
	l.counters[e][counter] += n
}

// ClearCounters sets error counters of an end of a cable to zero.
func (l *Lab) ClearCounters(e End, names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := maps.Clone(l.counters[e]) // a topology may hold the former one
	for _, name := range names {
		delete(left, name)
	}
	l.counters[e] = left
}
