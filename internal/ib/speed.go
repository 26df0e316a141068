package ib

import (
	"fmt"
	"strings"
)

// Speed is the signalling rate of one lane of an InfiniBand link. The zero value means
// no rate, as on a port without a link. Speeds compare by rate.
type Speed int

// The speeds in the order of their rates. FDR10 is a Mellanox rate: QDR's with
// the encoding of FDR.
const (
	SDR Speed = iota + 1
	DDR
	QDR
	FDR10
	FDR
	EDR
	HDR
	NDR
	XDR
)

// speeds holds, by Speed, the name, the signalling rate of a lane in Gb/s as the
// tools print it, and the share of it that is data: 8b/10b up to QDR, 64b/66b
// above (IBA volume 2; HDR and later also lose a little to error correction).
var speeds = [...]struct {
	name, lane string
	gbps, data float64
}{
	SDR: {"SDR", "2.5", 2.5, 0.8}, DDR: {"DDR", "5.0", 5, 0.8}, QDR: {"QDR", "10.0", 10, 0.8},
	FDR10: {"FDR10", "10.3125", 10.3125, 64. / 66}, FDR: {"FDR", "14.0625", 14.0625, 64. / 66},
	EDR: {"EDR", "25.78125", 25.78125, 64. / 66}, HDR: {"HDR", "53.125", 53.125, 64. / 66},
	NDR: {"NDR", "106.25", 106.25, 64. / 66}, XDR: {"XDR", "212.5", 212.5, 64. / 66},
}

// ParseSpeed reads a name, "QDR", in any case.
func ParseSpeed(s string) (Speed, error) {
	for i := SDR; i <= XDR; i++ {
		if strings.EqualFold(s, speeds[i].name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("invalid speed %q: want SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR", s)
}

// ParseLaneRate reads the rate of a lane in Gb/s as the tools print it: "10.0",
// "14.0625".
func ParseLaneRate(s string) (Speed, error) {
	for i := SDR; i <= XDR; i++ {
		if s == speeds[i].lane {
			return i, nil
		}
	}
	return 0, fmt.Errorf("invalid lane rate %q: no InfiniBand speed has it", s)
}

func (s Speed) known() bool { return s >= SDR && s <= XDR }

// String gives the name, "" for none.
func (s Speed) String() string {
	if !s.known() {
		return ""
	}
	return speeds[s].name
}

// Lane gives the signalling rate of one lane in Gb/s.
func (s Speed) Lane() float64 {
	if !s.known() {
		return 0
	}
	return speeds[s].gbps
}

// DataRate gives what a link of so many lanes carries in Gb/s after the line
// encoding: 32 for 4X QDR, 54.5 for 4X FDR.
func (s Speed) DataRate(lanes int) float64 {
	if !s.known() {
		return 0
	}
	return speeds[s].gbps * speeds[s].data * float64(lanes)
}
