//go:build linux

package reallab

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// BaseMAC is the first address on the label of the i-th card.
func BaseMAC(i int) uint64 { return 0xe41d2de44ed0 + uint64(i)*0x10 }

// NewHost is a machine with a second-hand ConnectX-3 Pro, as it is bought: its firmware
// knows Ethernet only, and its GUIDs are all ones.
func NewHost(name string, i int) Host {
	unset := ^uint64(0)
	mac := BaseMAC(i)
	return Host{Name: name, Slots: []Slot{{
		Card: card.Config{Chip: card.ConnectX3Pro, Image: card.EN(),
			GUIDs: [4]uint64{unset, unset, unset, unset}, MACs: [2]uint64{mac, mac + 1}},
		Board: registers.Board{Product: "CX314A - ConnectX-3 Pro QSFP", PartNumber: "MCX314A-BCCT",
			SerialNumber: fmt.Sprintf("MT1234X%05d", i)},
	}}}
}
