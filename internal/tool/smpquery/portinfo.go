package smpquery

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Port is the PortInfo of one port.
type Port struct {
	Number  int // as the heading has it
	CapMask uint32
	MTU     int // in use: NeighborMTU; 0 if it was not printed
	MTUCap  int

	// Lanes of a link that are allowed and possible, ascending.
	WidthEnabled, WidthSupported   []int
	SpeedActive                    ib.Speed
	SpeedsEnabled, SpeedsSupported []ib.Speed
}

// IsSM reports whether a subnet manager is bound to the port (bit 1 of CapMask).
func (p *Port) IsSM() bool { return p.CapMask&2 != 0 }

var heading = regexp.MustCompile(`^# Port info: (?:Lid \d+|DR path slid \d+; dlid \d+; [\d,]+) port (\d+)$`)

// ParsePorts reads any number of PortInfo blocks, each with its heading. What
// stands before the first heading is ignored: messages of the program. A known
// field with an unreadable value is a *tool.LineError, and so is a block without
// LinkSpeedExtActive, which is printed last of what counts.
func ParsePorts(output string) ([]Port, error) {
	var all []Port
	read := map[string]bool{}
	ends := func() error {
		if len(all) > 0 && !read["LinkSpeedExtActive"] {
			return tool.Errorf(0, "", "the answer about port %d has no LinkSpeedExtActive: the output is cut",
				all[len(all)-1].Number)
		}
		return nil
	}
	mlnx := false
	for n, line := range tool.Lines(output) {
		if m := heading.FindStringSubmatch(line); m != nil {
			if err := ends(); err != nil {
				return nil, err
			}
			number, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, tool.Errorf(n, line, "%v", err)
			}
			all, read, mlnx = append(all, Port{Number: number}), map[string]bool{}, false
			continue
		}
		if strings.HasPrefix(line, "# MLNX ext Port info") {
			mlnx = true
		}
		if len(all) == 0 {
			continue
		}
		port := &all[len(all)-1]
		if err := fields(line, func(_ int, _, name, value string) error {
			if mlnx {
				return port.setMLNX(name, value)
			}
			read[name] = true
			return port.set(name, value)
		}); err != nil {
			return nil, tool.Errorf(n, line, "%v", err)
		}
	}
	return all, ends()
}

// ParsePort reads the answer about one port.
func ParsePort(output string) (Port, error) {
	all, err := ParsePorts(output)
	if err == nil && len(all) != 1 {
		return Port{}, tool.Errorf(0, "", "want the information of one port, got %d", len(all))
	}
	if err != nil {
		return Port{}, err
	}
	return all[0], nil
}

func (p *Port) set(name, value string) (err error) {
	switch name {
	case "CapMask":
		var mask uint64
		mask, err = strconv.ParseUint(value, 0, 32)
		p.CapMask = uint32(mask)
	case "NeighborMTU":
		p.MTU = mtu(value)
	case "MtuCap":
		p.MTUCap = mtu(value)
	case "LinkWidthEnabled":
		p.WidthEnabled = parseWidths(value)
	case "LinkWidthSupported":
		p.WidthSupported = parseWidths(value)
	case "LinkSpeedActive", "LinkSpeedExtActive": // "No Extended Speed" below FDR
		p.active(parseSpeeds(value))
	case "LinkSpeedEnabled", "LinkSpeedExtEnabled":
		p.SpeedsEnabled = merge(p.SpeedsEnabled, parseSpeeds(value))
	case "LinkSpeedSupported", "LinkSpeedExtSupported":
		p.SpeedsSupported = merge(p.SpeedsSupported, parseSpeeds(value))
	}
	return err
}

// active takes the higher speed. A port at an extended speed still prints QDR, or
// nothing, as its ordinary one.
func (p *Port) active(s []ib.Speed) {
	if len(s) == 1 && s[0] > p.SpeedActive {
		p.SpeedActive = s[0]
	}
}

// setMLNX reads the vendor's block, where bit 0 is FDR10.
func (p *Port) setMLNX(name, value string) error {
	bits, err := strconv.ParseUint(value, 0, 8)
	if err != nil {
		return fmt.Errorf("invalid number %q", value)
	}
	if bits&1 == 0 {
		return nil
	}
	switch name {
	case "LinkSpeedSupported":
		p.SpeedsSupported = merge(p.SpeedsSupported, []ib.Speed{ib.FDR10})
	case "LinkSpeedEnabled":
		p.SpeedsEnabled = merge(p.SpeedsEnabled, []ib.Speed{ib.FDR10})
	case "LinkSpeedActive":
		p.active([]ib.Speed{ib.FDR10})
	}
	return nil
}

func merge(a, b []ib.Speed) []ib.Speed {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a)
}

var width = regexp.MustCompile(`^(\d+)X$`)

// parseWidths reads "1X or 4X". Values that no InfiniBand version of ours knows,
// "undefined (32)", are left out.
func parseWidths(value string) []int {
	var list []int
	for word := range strings.SplitSeq(value, " or ") {
		if m := width.FindStringSubmatch(word); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list
}

// parseSpeeds reads "2.5 Gbps or 5.0 Gbps". "0", "No Extended Speed" and values
// that no InfiniBand version of ours knows are left out.
func parseSpeeds(value string) []ib.Speed {
	var list []ib.Speed
	for word := range strings.SplitSeq(value, " or ") {
		rate, ok := strings.CutSuffix(word, " Gbps")
		if s, err := ib.ParseLaneRate(rate); ok && err == nil {
			list = append(list, s)
		}
	}
	return list
}

func mtu(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0 // "??" of a port without a link
	}
	return n
}

var pkeyLine = regexp.MustCompile(`^ *\d+:((?: 0x[0-9a-fA-F]{4})+) *$`)

// ParsePKeys reads a P_Key table: the keys that are set, in the order of the
// table, with the bit 0x8000 of a full member. The line with the capacity is
// printed last, so that an answer without it is cut.
func ParsePKeys(output string) ([]uint16, error) {
	var keys []uint16
	complete := false
	for n, line := range tool.Lines(output) {
		if strings.Contains(line, " pkeys capacity for this port") {
			complete = true
			continue
		}
		m := pkeyLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, word := range strings.Fields(m[1]) {
			key, err := strconv.ParseUint(word, 0, 16)
			if err != nil {
				return nil, tool.Errorf(n, line, "invalid P_Key %q", word)
			}
			// 0x0000 is an entry that is not used; a table has up to 128.
			if key != 0 {
				keys = append(keys, uint16(key))
			}
		}
	}
	if !complete {
		return nil, tool.Errorf(0, "", "no P_Key table in the answer: the output is cut, or nobody answered")
	}
	return keys, nil
}
