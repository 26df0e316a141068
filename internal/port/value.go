// Package port sets the administrative state of one InfiniBand port of a host,
// and the speeds and widths that it may negotiate, now and at every boot.
//
// It must not change a card's flash, its link type, ports of switches, or import
// Terraform.
package port

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Request is what the configuration asks for.
type Request struct {
	Host    string
	Card    ib.PCIAddress
	Number  int // from 1
	Enabled bool
	Speeds  Speeds // zero: whatever the port allows now
	Widths  Widths // zero: whatever the port allows now
	// Consent names the interfaces that may go away.
	Consent []string

	card cardName // of which its unit is
}

// Name is "host/0000:01:00.0 port 1".
func (d Request) Name() string { return fmt.Sprintf("%s/%s port %d", d.Host, d.Card, d.Number) }

// tuned reports whether anything but the administrative state is asked for.
func (d Request) tuned() bool { return d.Speeds != 0 || d.Widths != 0 }

// words are what is asked for in one line.
func (d Request) words() string { return d.wordsOf(word(d.Enabled)) }

func (d Request) wordsOf(text string) string {
	if d.Speeds != 0 {
		text += ", speeds " + d.Speeds.String()
	}
	if d.Widths != 0 {
		text += ", widths " + d.Widths.String()
	}
	return text
}

func word(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// Speeds is a set of lane speeds. The lower three bits are those of
// LinkSpeedEnabled, the next ones those of LinkSpeedExtEnabled (InfiniBand
// Architecture, PortInfo).
type Speeds uint8

// Widths is a set of link widths, with the bits of LinkWidthEnabled.
type Widths uint8

const (
	baseSpeeds = 0x07
	extShift   = 3
	extSpeeds  = 0x07
	// extNone is the value of LinkSpeedExtEnabled that forbids every extended speed.
	extNone = 30
)

// speedNames and widthNames are by bit. 2X came last, in release 1.3 of the
// architecture.
var (
	speedNames = []string{"SDR", "DDR", "QDR", "FDR", "EDR", "HDR"}
	widthNames = []string{"1X", "4X", "8X", "12X", "2X"}
)

// SpeedNames gives all names of speeds, slowest first.
func SpeedNames() []string { return slices.Clone(speedNames) }

// WidthNames gives all names of widths.
func WidthNames() []string { return slices.Clone(widthNames) }

// ParseSpeeds reads names such as "QDR". A set must hold SDR: a link begins to
// train at 2.5 Gb/s, and values without it are reserved in the older releases of
// the architecture that these cards were made for.
func ParseSpeeds(names []string) (Speeds, error) {
	bits, err := parseBits(names, speedNames)
	if err == nil && bits != 0 && bits&1 == 0 {
		err = fmt.Errorf("speeds %s lack SDR: every link begins to train at 2.5 Gb/s", strings.Join(names, ", "))
	}
	return Speeds(bits), err
}

// ParseWidths reads names such as "4X".
func ParseWidths(names []string) (Widths, error) {
	bits, err := parseBits(names, widthNames)
	return Widths(bits), err
}

func parseBits(names, known []string) (uint8, error) {
	var bits uint8
	for _, n := range names {
		i := slices.Index(known, n)
		if i < 0 {
			return 0, fmt.Errorf("unknown %q; known are %s", n, strings.Join(known, ", "))
		}
		bits |= 1 << i
	}
	return bits, nil
}

// Names gives the members, slowest first.
func (s Speeds) Names() []string { return names(uint8(s), speedNames) }

// Names gives the members by bit.
func (w Widths) Names() []string { return names(uint8(w), widthNames) }

func (s Speeds) String() string { return strings.Join(s.Names(), ", ") }

func (w Widths) String() string { return strings.Join(w.Names(), ", ") }

func names(bits uint8, known []string) []string {
	out := []string{}
	for i, n := range known {
		if bits&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// base and extended are the numbers that ibportstate takes.
func (s Speeds) base() int { return int(s & baseSpeeds) }

func (s Speeds) extendedBits() int {
	if e := int(s >> extShift & extSpeeds); e != 0 {
		return e
	}
	return extNone
}

// speedsOf leaves out FDR10, which has a switch of its own and is not managed.
func speedsOf(speeds []ib.Speed) Speeds {
	var s Speeds
	for _, v := range speeds {
		if i := slices.Index(speedNames, v.String()); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

func widthsOf(lanes []int) Widths {
	var w Widths
	for _, n := range lanes {
		if i := slices.Index(widthNames, strconv.Itoa(n)+"X"); i >= 0 {
			w |= 1 << i
		}
	}
	return w
}
