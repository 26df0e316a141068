// Package lspci reads the vital product data that "lspci -vvs ADDRESS" of pciutils prints about
// one PCI function.
//
// It must not run anything.
package lspci

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// VPD is what the vital product data say of a card, and the NUMA node of its slot, "1". What was not
// printed is empty: after a cross-flash the data of some boards cannot be read, and the firmware of many
// machines does not tell the node.
type VPD struct{ PartNumber, SerialNumber, NUMANode string }

var (
	slotLine = regexp.MustCompile(`^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] `)
	nodeLine = regexp.MustCompile(`^NUMA node: (\d+)$`)
	vpdField = regexp.MustCompile(`^\[(PN|SN)\] [^:]*:\s*(.*)$`)
)

// Parse reads the output for one function. Lines that are not known are ignored, such as remarks on
// standard error of lspci or of a library. A detail before the first line of the function, and a
// second function, are errors.
func Parse(output string) (VPD, error) {
	var v VPD
	functions := 0
	for n, line := range tool.Lines(output) {
		switch {
		case slotLine.MatchString(line):
			functions++
		case functions > 0:
			v.field(strings.TrimSpace(line))
		case strings.HasPrefix(line, "\t"):
			return VPD{}, tool.Errorf(n, line, "not the first line of a PCI function")
		}
	}
	if functions != 1 {
		return VPD{}, fmt.Errorf("want one PCI function, got %d", functions)
	}
	return v, nil
}

func (v *VPD) field(text string) {
	node := nodeLine.FindStringSubmatch(text)
	switch m := vpdField.FindStringSubmatch(text); {
	case node != nil:
		v.NUMANode = node[1]
	case m == nil:
	case m[1] == "PN":
		v.PartNumber = strings.TrimSpace(m[2])
	default:
		v.SerialNumber = strings.TrimSpace(m[2])
	}
}
