package registers

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"

// Bits of the capabilities: which groups of the non-volatile configuration the
// firmware has.
const (
	configSRIOV = 0x01
	configLink1 = 0x08
	configLink2 = 0x10
	configBAR   = 0x20
)

// Registers that tools reach through the command interface.
const (
	regConfig     = 0x9024 // MNVA: one group of the configuration
	regInvalidate = 0x9029 // MNVIA: forget it all
	methodWrite   = 2
)

// Statuses of a register access.
const (
	regUnknown      = 3
	regNotSupported = 4
	regBadParameter = 7
	regNotThere     = 8 // never set: the firmware's own defaults hold
)

// typeLink is the group that holds the link type of one port.
const typeLink = 0x12

// groups are the lengths, in words, of the groups that can be stored beside the
// link types, which the card's model holds.
var groups = map[uint32]uint32{0x11: 1, 0x13: 1, 0x14: 8, 0x2001: 1, 0x2021: 1, 0x2022: 1}

// globalDefaults are the settings of the firmware's own configuration that hold
// for the whole card: those of a firmware 2.42 for a board with two ports.
func globalDefaults() (m mailbox) {
	m.flag(14)      // CQ_TIMESTAMP can be set …
	m.flag(34)      // … and is on
	m.flag(32)      // SRIOV_EN
	m.put(56, 8, 8) // NUM_OF_VFS
	m.put(48, 4, 6) // the BAR's largest size
	m.put(52, 4, 3) // LOG_BAR_SIZE
	m.flag(42)      // IP_VER can be set
	return m
}

// portDefaults are those of one port; both have the same.
func portDefaults() (m mailbox) {
	m.flag(13)                 // LINK_TYPE can be set …
	m.put(37, 2, card.LinkETH) // … and is Ethernet
	m.flag(34)                 // BOOT_OPTION_ROM_EN
	m.put(44, 4, 1)            // LEGACY_BOOT_PROTOCOL: PXE
	m.put(52, 12, 1)           // BOOT_VLAN
	m.flag(64)                 // the settings of a boot can be set
	m.flag(67)                 // BOOT_PKEY can be set
	return m
}

// accessRegister reads or writes one register. The mailbox holds an operation
// (four words), the head of the register (one), and the register.
func (r *Registers) accessRegister(m *mailbox) {
	const (
		status, register, method = 17, 32, 49
		body                     = 5
	)
	answer := uint32(regNotSupported)
	switch m.get(register, 16) {
	case regConfig:
		kind, port, words := m.get(body*32+16, 16), m.get(body*32+40, 8), m.get(body*32+2, 12)
		if data := m[body+2:]; words >= 1 && int(words) <= len(data) {
			answer = r.config(kind, port, data[:words], m.get(method, 7) == methodWrite)
		} else {
			answer = regBadParameter
		}
	case regInvalidate:
		r.stored = nil
		r.card.SetNV(card.NV{})
		answer = 0
	}
	m.put(status, 7, answer)
}

// config reads or writes one group of the configuration for the next boot.
func (r *Registers) config(kind, port uint32, data []uint32, write bool) uint32 {
	if kind == typeLink {
		return r.linkConfig(port, data, write)
	}
	if size, ok := groups[kind]; !ok || int(size) != len(data) {
		return regUnknown
	}
	key := [2]uint32{kind, port}
	if write {
		if r.stored == nil {
			r.stored = map[[2]uint32][]uint32{}
		}
		r.stored[key] = append([]uint32{}, data...)
		return 0
	}
	if copy(data, r.stored[key]) == 0 {
		return regNotThere
	}
	return 0
}

func (r *Registers) linkConfig(port uint32, data []uint32, write bool) uint32 {
	nv := r.card.NextNV()
	if port < 1 || int(port) > len(nv.LinkType) || !r.card.Running().VPI {
		return regUnknown
	}
	one := &nv.LinkType[port-1]
	switch {
	case write:
		*one = int(data[0] & 3)
		r.card.SetNV(nv)
	case *one == card.LinkUnset:
		return regNotThere
	default:
		data[0] = data[0]&^3 | uint32(*one)
	}
	return 0
}
