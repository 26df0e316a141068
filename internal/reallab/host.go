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

// baseGUID is the first GUID on the label of the i-th ConnectX-4. The MAC of its first port
// is the GUID without the bytes in its middle.
func baseGUID(i int) uint64 { return 0xec0d9a030076eae0 + uint64(i)*0x10 }

// NewConnectX4Host is a machine with a ConnectX-4 VPI, whose ports speak InfiniBand. Each
// of them is a PCI function.
func NewConnectX4Host(name string, i, ports int) Host {
	guid := baseGUID(i)
	return Host{Name: name, Slots: []Slot{{
		Card: card.Config{Chip: card.ConnectX4, Image: card.CX4(card.PSIDCX4, [3]uint16{12, 28, 2006}), Functions: ports,
			GUIDs: [4]uint64{guid}, MACs: [2]uint64{guid>>40<<24 | guid&0xffffff}},
		Board: registers.Board{Product: "CX455A - ConnectX-4 QSFP28", PartNumber: "MCX455A-ECAT",
			SerialNumber: fmt.Sprintf("MT1712X%05d", i)},
	}}}
}
