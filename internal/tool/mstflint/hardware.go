package mstflint

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// ParseHWQuery reads the output of HWQuery for the id of the silicon. The device id is
// printed in decimal, the revision in hexadecimal.
func ParseHWQuery(output string) (ib.HWID, error) {
	var id ib.HWID
	seen := map[string]bool{}
	for n, line := range tool.Lines(output) {
		fields := strings.Fields(line)
		if strings.Contains(line, "-E- ") {
			return ib.HWID{}, tool.Errorf(n, line, "the tool reports an error")
		}
		if len(fields) != 2 {
			continue
		}
		if err := setID(&id, fields[0], fields[1]); err != nil {
			return ib.HWID{}, tool.Errorf(n, line, "%v", err)
		}
		seen[fields[0]] = true
	}
	if !seen["HwDevId"] || !seen["HwRevId"] {
		return ib.HWID{}, errors.New(`no lines "HwDevId" and "HwRevId"`)
	}
	return id, nil
}

func setID(id *ib.HWID, key, value string) error {
	switch key {
	case "HwDevId":
		v, err := strconv.ParseUint(value, 0, 16)
		id.ID = uint16(v)
		return err
	case "HwRevId":
		v, err := strconv.ParseUint(value, 0, 8)
		id.Rev = uint8(v)
		return err
	}
	return nil
}
