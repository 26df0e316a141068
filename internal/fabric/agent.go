package fabric

import (
	"fmt"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/vendstat"
)

// mellanox is the vendor whose agents answer vendstat.
const mellanox = 0x2c9

// agents are the questions to those of switches. A datagram of this class goes by LID.
func (f *Fabric) agents() (args []string) {
	for _, n := range f.Nodes {
		// Others drop the vendor's class in silence, which costs the whole time-out of each.
		if n.Switch && n.VendorID == mellanox && n.LID > 0 && f.Master() != nil {
			args = append(args, "vendor", strconv.Itoa(n.LID), "0")
		}
	}
	return args
}

// agent notes what a switch says of its firmware. One that does not answer stays as it is.
func (f *Fabric) agent(lid, text string) error {
	info, answered, err := vendstat.Parse(text)
	if err != nil {
		return fmt.Errorf("vendstat of LID %s: %w", lid, err)
	}
	for _, n := range f.Nodes {
		if answered && n.Switch && strconv.Itoa(n.LID) == lid {
			n.Firmware, n.PSID = info.FW, info.PSID
		}
	}
	return nil
}
