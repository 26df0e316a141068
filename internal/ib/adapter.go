package ib

import "slices"

// Adapter is an InfiniBand card by its PCI id: the driver that runs it and, for
// cards whose firmware nobody can change here, why.
type Adapter struct {
	Vendor, Device uint16

	Name     string // "InfiniHost III Ex (MT25208)"
	Driver   string // kernel module of the PCI function
	Firmware string // why its firmware and GUIDs are left alone; empty where they need not be
}

const (
	qlogicVendor    = 0x1077
	pathscaleVendor = 0x1fc1
	topspinVendor   = 0x1867

	noInfiniHost = "mstflint never knew InfiniHost, and its makers' tools are not packaged any more"
	noConnectX2  = "mstflint dropped ConnectX and ConnectX-2 after 4.14"
	noQLogic     = "it has no firmware in flash that anybody can burn: its GUID is in an EEPROM that the driver reads, " +
		"and no tool of a distribution writes it"
)

// older are the cards that the chip table does not hold. The ids are those of the match
// lists of the kernel's drivers.
var older = []Adapter{
	{qlogicVendor, 0x7322, "QLogic IBA7322", "ib_qib", noQLogic},
	{qlogicVendor, 0x7220, "QLogic IBA7220", "ib_qib", noQLogic},
	{pathscaleVendor, 0x0010, "PathScale IBA6120", "ib_qib", noQLogic},
	{MellanoxVendor, 0x5a44, "InfiniHost (MT23108)", "ib_mthca", noInfiniHost},
	{MellanoxVendor, 0x6278, "InfiniHost III Ex (MT25208, compat mode)", "ib_mthca", noInfiniHost},
	{MellanoxVendor, 0x6282, "InfiniHost III Ex (MT25208)", "ib_mthca", noInfiniHost},
	{MellanoxVendor, 0x6274, "InfiniHost III Lx (MT25204)", "ib_mthca", noInfiniHost},
	{MellanoxVendor, 0x5e8c, "InfiniHost III Lx (MT24204)", "ib_mthca", noInfiniHost},
	{topspinVendor, 0x5a44, "InfiniHost (MT23108)", "ib_mthca", noInfiniHost},
	{topspinVendor, 0x6278, "InfiniHost III Ex (MT25208, compat mode)", "ib_mthca", noInfiniHost},
	{topspinVendor, 0x6282, "InfiniHost III Ex (MT25208)", "ib_mthca", noInfiniHost},
	{topspinVendor, 0x6274, "InfiniHost III Lx (MT25204)", "ib_mthca", noInfiniHost},
	{topspinVendor, 0x5e8c, "InfiniHost III Lx (MT24204)", "ib_mthca", noInfiniHost},
	{MellanoxVendor, 0x6340, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x634a, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6354, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6368, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6372, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6732, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x673c, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6746, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6750, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x675a, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x6764, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
	{MellanoxVendor, 0x676e, "ConnectX or ConnectX-2", "mlx4_core", noConnectX2},
}

// OlderAdapters are the cards that the chip table does not hold.
func OlderAdapters() []Adapter { return slices.Clone(older) }

// AdapterByPCI finds a card by vendor and device id, of the chip table or older.
func AdapterByPCI(vendor, device uint16) (Adapter, bool) {
	for _, a := range older {
		if a.Vendor == vendor && a.Device == device {
			return a, true
		}
	}
	if vendor != MellanoxVendor {
		return Adapter{}, false
	}
	c, ok := ChipByPCI(device)
	return Adapter{Vendor: vendor, Device: device, Name: c.Name, Driver: c.Driver}, ok
}
