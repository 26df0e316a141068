package mstflint

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Hardware is what "mstflint hw query" says of the silicon and its flash part.
type Hardware struct {
	ID         ib.HWID
	FlashType  string
	FlashSize  uint64 // bytes
	SectorSize uint64
}

// ParseHWQuery reads the output of HWQuery. The device id is printed in
// decimal, everything else in hexadecimal.
func ParseHWQuery(output string) (Hardware, error) {
	var hw Hardware
	seen := map[string]bool{}
	for n, line := range tool.Lines(output) {
		fields := strings.Fields(line)
		if strings.Contains(line, "-E- ") {
			return Hardware{}, tool.Errorf(n, line, "the tool reports an error")
		}
		if len(fields) != 2 {
			continue
		}
		if err := hw.set(fields[0], fields[1]); err != nil {
			return Hardware{}, tool.Errorf(n, line, "%v", err)
		}
		seen[fields[0]] = true
	}
	if !seen["HwDevId"] || !seen["HwRevId"] {
		return Hardware{}, errors.New(`no lines "HwDevId" and "HwRevId"`)
	}
	return hw, nil
}

func (hw *Hardware) set(key, value string) error {
	switch key {
	case "HwDevId":
		v, err := strconv.ParseUint(value, 0, 16)
		hw.ID.ID = uint16(v)
		return err
	case "HwRevId":
		v, err := strconv.ParseUint(value, 0, 8)
		hw.ID.Rev = uint8(v)
		return err
	case "Type":
		hw.FlashType = value
	case "TotalSize":
		v, err := strconv.ParseUint(value, 0, 64)
		hw.FlashSize = v
		return err
	case "SectorSize":
		v, err := strconv.ParseUint(value, 0, 64)
		hw.SectorSize = v
		return err
	}
	return nil
}
