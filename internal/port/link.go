package port

import (
	"fmt"
	"slices"
	"strings"
)

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

// Link is what a port says about itself.
type Link struct {
	SpeedsSupported, SpeedsEnabled Speeds
	WidthsSupported, WidthsEnabled Widths
}
