// Package vendstat reads what "vendstat -N LID" of infiniband-diags prints: what the management agent
// of a switch or card of Mellanox says of its firmware, by a datagram of the vendor's class.
//
// It must not run anything.
package vendstat

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Info is what a node says of itself.
type Info struct {
	FW   ib.FWVersion
	PSID ib.PSID // empty if there is none that can be one
}

// Parse reads an answer; answered is false if the node gave none, as one of another maker.
func Parse(output string) (i Info, answered bool, err error) {
	for n, line := range tool.Lines(output) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "fw_version":
			if i.FW, err = ib.ParseFWVersion(value); err != nil {
				return Info{}, false, tool.Errorf(n, line, "%v", err)
			}
			answered = true
		case "fw_psid":
			// The field has 16 bytes, which need no end.
			if psid, bad := ib.ParsePSID(strings.Trim(value, "'")); bad == nil {
				i.PSID = psid
			}
		}
	}
	return i, answered, nil
}
