// Package iblinkinfo builds the command lines of iblinkinfo of infiniband-diags,
// which lists every port of the fabric with its link, and reads what it prints.
//
// It must not run anything.
package iblinkinfo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Port is one port with its link.
type Port struct {
	GUID     ib.GUID // of the port; of a switch, the node's
	Name     string  // description of its node
	LID      int
	Number   int
	Width    int // lanes; 0 without a link
	Speed    ib.Speed
	State    string // "Active", "Initialize", "Armed", "Down"
	Physical string // "LinkUp", "Polling", "Disabled", …
	// Silent says that the port has a link and nobody answers at its other end.
	Silent bool
	// CouldBe are the best width and speed that both ends support, where they are
	// better than those in use.
	CouldBeWidth int
	CouldBeSpeed ib.Speed
}

var (
	heading = regexp.MustCompile(`^(?:CA|Switch|Router): (?:(0x[0-9a-f]{16}) )?(.*):\s*$`)
	row     = regexp.MustCompile(`^\s*(?:(0x[0-9a-f]{16})\s+)?(?:"(.*)"\s+)?(\d+)\s+(\d+)\[[ \d]*\] ==\(\s*(?:(\d+)X\s+(\S+)(?: Gbps)?(?: \(FDR10\))?\s+)?(\w+)/\s*(\w+)\)==>\s*(.*?)\s*$`)
	far     = regexp.MustCompile(`^(?:0x[0-9a-f]{16}\s+)?\d+\s+\d+\[[ \d]*\] ".*" \(([^"]*)\)$`)
	// FDR10 is the one speed that has a name and no number.
	could = regexp.MustCompile(`Could be (?:(\d+)X|(FDR10)|(\S+) Gbps)`)
)

// Parse reads the list, in line mode or under headings. Warnings of the MAD
// library are passed over; any other line that is not understood is a
// *tool.LineError.
func Parse(output string) ([]Port, error) {
	var all []Port
	var name string
	var node ib.GUID
	for n, line := range tool.Lines(output) {
		if m := heading.FindStringSubmatch(line); m != nil {
			name, node = m[2], 0
			if m[1] != "" {
				node = ib.MustParseGUID(m[1])
			}
			continue
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "ibwarn: ") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			return nil, tool.Errorf(n, line, "not a port of iblinkinfo")
		}
		p := Port{Name: name, GUID: node, State: m[7], Physical: m[8]}
		if err := p.fill(m); err != nil {
			return nil, tool.Errorf(n, line, "%v", err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, tool.Errorf(0, "", "no port in the list of iblinkinfo: the output is cut, or the fabric was not walked")
	}
	return all, nil
}

func (p *Port) fill(m []string) (err error) {
	if m[1] != "" {
		p.GUID = ib.MustParseGUID(m[1])
	}
	if strings.TrimSpace(m[2]) != "" {
		p.Name = strings.TrimLeft(m[2], " ") // padded to thirty columns
	}
	if p.LID, err = strconv.Atoi(m[3]); err != nil {
		return err
	}
	if p.Number, err = strconv.Atoi(m[4]); err != nil {
		return err
	}
	if m[5] != "" {
		if p.Width, err = strconv.Atoi(m[5]); err != nil {
			return err
		}
		if p.Speed, err = speed(m[6], strings.Contains(m[0], "(FDR10)")); err != nil {
			return err
		}
	}
	return p.other(m[9])
}

func speed(lane string, fdr10 bool) (ib.Speed, error) {
	if fdr10 || lane == "FDR10" {
		return ib.FDR10, nil
	}
	return ib.ParseLaneRate(lane)
}

// other reads what stands behind the arrow.
func (p *Port) other(text string) error {
	if text == `"Port not available"` {
		p.Silent = true
		return nil
	}
	m := far.FindStringSubmatch(text)
	if m == nil {
		return nil // [  ] "" ( )
	}
	return p.better(m[1])
}

// better reads the width and speed that both ends could have in iblinkinfo's view. A
// text that it does not know is an error: dropped, the link would pass for a good one.
func (p *Port) better(text string) (err error) {
	all := could.FindAllStringSubmatch(text, -1)
	if len(all) != strings.Count(text, "Could be") {
		return fmt.Errorf("%q does not say what the link could be", text)
	}
	for _, c := range all {
		if c[1] != "" {
			p.CouldBeWidth, err = strconv.Atoi(c[1])
		} else {
			p.CouldBeSpeed, err = speed(c[2]+c[3], strings.Contains(text, "(FDR10)"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
