// Package devlink reads what "devlink dev info" of iproute2 prints of one PCI function, and builds the command by
// which the driver of a card has its firmware write an image (Linux, mlx5_core and mlxfw).
//
// It must not run anything.
package devlink

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Info is what the firmware of a card says of itself to its driver, which reads no flash for that.
type Info struct {
	PSID            ib.PSID // of what runs
	Running, Stored ib.FWVersion
}

// unread is what newer drivers print of a version that the firmware did not tell, as that which is stored behind an
// update that did not end well (all ones, mlx5_fw_version_query). Older ones fail then.
var unread = ib.FWVersion{Major: 255, Minor: 255, Sub: 65535}

// ParseInfo reads the answer for one function. Stored is what boots next: where nothing waits, the driver gives the
// version that runs (mlx5_devlink_info_get). An answer without all three is an error.
func ParseInfo(output string) (Info, error) {
	var i Info
	section := ""
	for n, line := range tool.Lines(output) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasSuffix(key, ":") { // the function, "versions:", or a kind of versions
			section = key
			continue
		}
		var err error
		switch section + key {
		case "fixed:fw.psid":
			i.PSID, err = ib.ParsePSID(value)
		case "running:fw.version":
			i.Running, err = ib.ParseFWVersion(value)
		case "stored:fw.version":
			i.Stored, err = ib.ParseFWVersion(value)
		}
		if err != nil {
			return Info{}, tool.Errorf(n, line, "%v", err)
		}
	}
	if i.Running == unread || i.Stored == unread {
		return Info{}, fmt.Errorf("the firmware did not tell its driver the versions: %s runs, and %s is stored", i.Running,
			i.Stored)
	}
	if i.PSID == "" || i.Running.IsZero() || i.Stored.IsZero() {
		return Info{}, fmt.Errorf("want fw.psid and fw.version, running and stored, got %q, %s and %s", i.PSID, i.Running,
			i.Stored)
	}
	return i, nil
}
