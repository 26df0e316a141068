package labsim

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Model is a kind of adapter as the kernel sees it (Linux 6.x drivers).
type Model struct {
	Name   string // as lspci prints it, without the vendor's name
	Maker  string // the vendor's name
	Driver string // of the PCI function
	Verbs  string // module that makes the RDMA device; the driver itself with ib_qib and ib_mthca
	RDMA   string // the kernel's name of RDMA devices, without the number

	Vendor    uint16
	Device    uint16 // 0: the chip's
	Subsystem uint16 // vendor of the board
	Class     string // 0: by the firmware's link types
	Ports     int    // of one PCI function

	HCAType string // hca_type; empty: MT and the device id
	HWRev   string
	// Version prints fw_ver; nil where the driver has no such operation and the
	// file holds an empty line.
	Version func([3]uint16) string
	BoardID string // board_id, where it is not the PSID

	// Switchable: link types are decided by the driver and have files (mlx4).
	Switchable bool
	// Connected: IPoIB interfaces can do connected mode. mlx5 provides the
	// interface itself (enhanced IPoIB), which has no such mode.
	Connected bool
	UnsetLID  uint16 // what lid and sm_lid read as before a subnet manager came
	MaxIBMTU  int
	Speed     string // at best: DDR, QDR, FDR, EDR
	PCIe      string // best link speed
	Lanes     int    // at best
}

func dottedVersion(v [3]uint16) string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// MLX4 is the model of ConnectX-3 and ConnectX-3 Pro.
func MLX4() *Model {
	return &Model{
		Maker: "Mellanox Technologies", Driver: "mlx4_core", Verbs: "mlx4_ib", RDMA: "mlx4_", Vendor: 0x15b3,
		Subsystem: 0x15b3, Ports: 2,
		Version: dottedVersion, Switchable: true, Connected: true, MaxIBMTU: 4096, Speed: "FDR", PCIe: "8.0 GT/s PCIe", Lanes: 8,
	}
}

// MLX5 is the model of one port of a ConnectX-4: each port is a PCI function of
// its own.
func MLX5() *Model {
	return &Model{
		Name: "MT27700 Family [ConnectX-4]", Maker: "Mellanox Technologies", Driver: "mlx5_core", Verbs: "mlx5_ib",
		RDMA: "mlx5_", Vendor: 0x15b3,
		Device: 0x1013, Subsystem: 0x15b3, Class: "0x020700", Ports: 1, HWRev: "0",
		Version:  func(v [3]uint16) string { return fmt.Sprintf("%d.%d.%04d", v[0], v[1], v[2]) },
		MaxIBMTU: 4096, Speed: "EDR", PCIe: "8.0 GT/s PCIe", Lanes: 16,
	}
}

// modelOf is the model of a card of which only the chip is given.
func modelOf(chip card.Chip) *Model {
	if chip.Driver() == "mlx4_core" {
		return MLX4()
	}
	m := MLX5()
	m.Name, m.Device = chip.Family, chip.PCIDevice
	return m
}

// UnpluggedCard is a card that is in no simulated host, but in a real one.
func UnpluggedCard(c *card.Card, config CardConfig) *Card {
	if config.Model == nil {
		config.Model = modelOf(config.Chip)
	}
	return &Card{Card: c, Config: config}
}

// QIB is the model of the QLogic QLE7340 with its IBA7322: it has no firmware
// that anybody can name or change, and its port has the GUID of its node.
func QIB() *Model {
	return &Model{
		Name: "IBA7322 QDR InfiniBand HCA", Maker: "QLogic Corp.", Driver: "ib_qib", Verbs: "ib_qib", RDMA: "qib",
		Vendor: 0x1077, Device: 0x7322, Subsystem: 0x1077,
		Class: "0x0c0600", Ports: 1, HCAType: "InfiniPath_QLE7340", BoardID: "InfiniPath_QLE7340", HWRev: "2",
		Connected: true, UnsetLID: 0xffff, MaxIBMTU: 4096, Speed: "QDR", PCIe: "5.0 GT/s PCIe", Lanes: 8,
	}
}

// MTHCA is the model of the InfiniHost III Ex MT25208 with native firmware.
func MTHCA() *Model {
	return &Model{
		Name: "MT25208 [InfiniHost III Ex]", Maker: "Mellanox Technologies", Driver: "ib_mthca", Verbs: "ib_mthca",
		RDMA: "mthca", Vendor: 0x15b3, Device: 0x6282,
		Subsystem: 0x15b3, Class: "0x0c0600", Ports: 2, HCAType: "MT25208", HWRev: "20",
		Version: dottedVersion, Connected: true, MaxIBMTU: 2048, Speed: "DDR", PCIe: "2.5 GT/s PCIe", Lanes: 8,
	}
}

// WithoutFlash describes a card whose firmware no tool here can read or write.
// GUIDs are those of node, port 1, port 2 and system.
func WithoutFlash(bdf string, m *Model, version [3]uint16, psid string, guids [4]uint64) CardConfig {
	return CardConfig{BDF: bdf, Model: m, Config: card.Config{
		Chip: card.Chip{Name: m.Name, Family: m.Name, PCIDevice: m.Device, Recovery: m.Device},
		Fixed: &card.Firmware{Loaded: true, Version: version, PSID: psid, VPI: true, GUIDs: guids,
			Config: card.NV{LinkType: [2]int{card.LinkIB, card.LinkIB}}},
	}}
}

// device is the PCI device id of the card's function now.
func (c *Card) device() uint16 {
	switch {
	case !c.Running().Loaded:
		return c.Chip.Recovery
	case c.Config.Model.Device != 0:
		return c.Config.Model.Device
	}
	return c.Chip.PCIDevice
}

// Running is the firmware that the card booted, with the GUIDs that it makes of what
// is in flash: ConnectX-4 and later hold one base, and their one port has the GUID
// of the node.
func (c *Card) Running() card.Firmware {
	fw := c.Card.Running()
	if fw.Loaded && c.Config.Model.Driver == "mlx5_core" && fw.GUIDs[1] == 0 {
		fw.GUIDs = [4]uint64{fw.GUIDs[0], fw.GUIDs[0], 0, fw.GUIDs[0]}
	}
	return fw
}

// HasFlash says whether the vendor's tools can read the card.
func (c *Card) HasFlash() bool { return c.Config.Fixed == nil }

// unsetLID is what the driver shows in place of LID 0.
func (c *Card) shownLID(lid uint16) uint16 {
	if lid == 0 {
		return c.Config.Model.UnsetLID
	}
	return lid
}
