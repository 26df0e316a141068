package ib

import (
	"fmt"
	"slices"
)

// HWID is what the silicon says of itself in its identification register
// (0xf0014 of the configuration space: bits 15:0 id, 23:16 revision), and what
// images list as supported. An image fits only if both numbers are equal.
type HWID struct {
	ID  uint16 `json:"id"`
	Rev uint8  `json:"rev"`
}

// String gives "0x1f5 rev 1".
func (h HWID) String() string { return fmt.Sprintf("0x%x rev %d", h.ID, h.Rev) }

// Describe gives the name of chip and stepping if known, "ConnectX-3 A1
// (0x1f5 rev 1)".
func (h HWID) Describe() string {
	chip, ok := ChipByHWID(h)
	if !ok {
		return "unknown chip (" + h.String() + ")"
	}
	stepping := ""
	if int(h.Rev) < len(chip.steppings) {
		stepping = " " + chip.steppings[h.Rev]
	}
	return chip.Name + stepping + " (" + h.String() + ")"
}

// MellanoxVendor is the PCI vendor id of every chip in the table.
const MellanoxVendor = 0x15b3

// Chip is one line of the chip table.
type Chip struct {
	Name string // "ConnectX-3 Pro"
	HWID uint16 // id part of HWID, without revision
	// PCIDevice is the PCI device id of the physical function, RecoveryPCI that
	// of the same chip in recovery ("livefish"), when it found no firmware.
	PCIDevice   uint16
	RecoveryPCI uint16
	Format      string // container of its firmware: "FS2", "FS3", "FS4"
	Driver      string // kernel module: "mlx4_core", "mlx5_core"
	IB          bool   // false: the chip has no InfiniBand at all

	alsoPCI   uint16 // second PCI device id (ConnectX-5 Ex)
	steppings []string
}

// IsFS2 reports whether the chip is of the ConnectX-3 generation.
func (c Chip) IsFS2() bool { return c.Format == "FS2" }

// chips holds ids as mstflint 4.21 and the kernel's mlx4 and mlx5 drivers list
// them. Virtual functions are deliberately absent: they have no flash.
var chips = []Chip{
	{Name: "ConnectX-3", HWID: 0x1f5, PCIDevice: 0x1003, RecoveryPCI: 0x01f6, Format: "FS2", Driver: "mlx4_core", IB: true,
		steppings: []string{"A0", "A1"}},
	{Name: "ConnectX-3 Pro", HWID: 0x1f7, PCIDevice: 0x1007, RecoveryPCI: 0x01f8, Format: "FS2", Driver: "mlx4_core",
		IB: true},
	{Name: "Connect-IB", HWID: 0x1ff, PCIDevice: 0x1011, RecoveryPCI: 0x01ff, Format: "FS3", Driver: "mlx5_core",
		IB: true},
	{Name: "ConnectX-4", HWID: 0x209, PCIDevice: 0x1013, RecoveryPCI: 0x0209, Format: "FS3", Driver: "mlx5_core",
		IB: true},
	{Name: "ConnectX-4 Lx", HWID: 0x20b, PCIDevice: 0x1015, RecoveryPCI: 0x020b, Format: "FS3", Driver: "mlx5_core"},
	{Name: "ConnectX-5", HWID: 0x20d, PCIDevice: 0x1017, RecoveryPCI: 0x020d, Format: "FS4", Driver: "mlx5_core", IB: true,
		alsoPCI: 0x1019},
	{Name: "ConnectX-6", HWID: 0x20f, PCIDevice: 0x101b, RecoveryPCI: 0x020f, Format: "FS4", Driver: "mlx5_core",
		IB: true},
	{Name: "ConnectX-6 Dx", HWID: 0x212, PCIDevice: 0x101d, RecoveryPCI: 0x0212, Format: "FS4", Driver: "mlx5_core"},
	{Name: "ConnectX-6 Lx", HWID: 0x216, PCIDevice: 0x101f, RecoveryPCI: 0x0216, Format: "FS4", Driver: "mlx5_core"},
	{Name: "ConnectX-7", HWID: 0x218, PCIDevice: 0x1021, RecoveryPCI: 0x0218, Format: "FS4", Driver: "mlx5_core",
		IB: true},
}

// virtualFunctions are the device ids that the same drivers mark as virtual functions.
var virtualFunctions = []uint16{
	0x1002, 0x1004, // ConnectX-2, ConnectX-3 and ConnectX-3 Pro
	0x1012, 0x1014, 0x1016, 0x1018, 0x101a, 0x101c, // Connect-IB to ConnectX-6
	0x101e, 0xa2d3, // later ones, BlueField
}

// IsVirtualFunction reports whether a PCI device id of Mellanox is that of a virtual function.
func IsVirtualFunction(device uint16) bool { return slices.Contains(virtualFunctions, device) }

// Chips are the chips of the table.
func Chips() []Chip { return slices.Clone(chips) }

// Silicon is the one of some hardware ids that is of the chip, of whatever revision; if there is none, one that none
// of them equals.
func (c Chip) Silicon(of []HWID) HWID {
	for _, h := range of {
		if h.ID == c.HWID {
			return h
		}
	}
	return HWID{ID: c.HWID}
}

// ChipByHWID finds the chip by the id part of its hardware id.
func ChipByHWID(h HWID) (Chip, bool) {
	for _, c := range chips {
		if c.HWID == h.ID {
			return c, true
		}
	}
	return Chip{}, false
}

// ChipByPCI finds the chip by the PCI device id of its physical function. The
// caller checks the vendor id first (MellanoxVendor); mstflint itself does not.
func ChipByPCI(device uint16) (Chip, bool) {
	for _, c := range chips {
		if c.PCIDevice == device || c.alsoPCI != 0 && c.alsoPCI == device {
			return c, true
		}
	}
	return Chip{}, false
}

// ChipByRecoveryPCI finds the chip by the PCI device id that it shows in
// recovery ("livefish"), when it runs no firmware.
func ChipByRecoveryPCI(device uint16) (Chip, bool) {
	for _, c := range chips {
		if c.RecoveryPCI == device {
			return c, true
		}
	}
	return Chip{}, false
}
