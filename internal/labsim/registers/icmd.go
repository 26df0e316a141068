package registers

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"

// The command interface that firmware of the fifth generation (ConnectX-4 and later)
// offers to tools: an address space of its own, behind the vendor-specific capability.
// Learned from mstflint 4.21's mtcr_ul_icmd_cif.c, reg_access.c and tools_open_layouts.c:
// what the tool sends and expects.
const (
	icmdControl = 0x0    // bit 0 starts a command, 15:8 its status, 31:16 its opcode
	icmdSize    = 0x1000 // bytes of the mailbox
	icmdBox     = 0x100000
	icmdGo      = 1 << 0

	icmdAccessRegister = 0x9001
	icmdCapabilities   = 0x8400
	icmdBadOpcode      = 1
	icmdAnyRegister    = 1 << 29 // a capability: any register may be asked for
)

// Registers of the fifth generation: a group of the configuration, its removal, whether a
// group is there, and what can be asked of groups.
const (
	regNVDA, regNVDI, regNVQC, regNVQGC = 0x9024, 0x9025, 0x9030, 0x9034
)

// Layout of a register access, in bits: an operation, the head of the register, and then
// the register.
const (
	opStatus7, opRegister, opMethod, opBody = 17, 32, 49, 5 * 32
	// Of a group in NVDA and NVDI: its head, its type, and in NVDA its data.
	groupLength, groupCurrent, groupDefault, groupType, groupData = opBody + 23, opBody + 9, opBody + 8, opBody + 32, opBody + 96
)

// The group with the type of a port: class and port stand before its number.
const (
	linkOfPort  = 1<<24 | typeLink
	portOfGroup = 0xff << 16
	linkValueAt = 28 // in its data: what the port is by default
)

// ReadCommand is the word at an address of the space of commands.
func (r *Registers) ReadCommand(addr uint32) uint32 {
	switch at := addr - icmdBox; {
	case addr == icmdControl:
		return r.icmd
	case addr == icmdSize:
		return mailboxSize * 4
	case addr >= icmdBox && at/4 < mailboxSize:
		return r.box[at/4]
	}
	return 0
}

// WriteCommand stores a word there, and runs the command that it starts. Its only error is
// card.ErrPowerLost, as that of Write.
func (r *Registers) WriteCommand(addr, v uint32) (err error) {
	switch at := addr - icmdBox; {
	case addr == icmdControl && v&icmdGo != 0:
		status := uint32(0)
		switch v >> 16 {
		case icmdAccessRegister:
			err = r.toolRegister(&r.box)
		case icmdCapabilities:
			r.box[0] = icmdAnyRegister
		default:
			status = icmdBadOpcode
		}
		r.icmd = v&0xffff0000 | status<<8
	case addr == icmdControl:
		r.icmd = v
	case addr >= icmdBox && at/4 < mailboxSize:
		r.box[at/4] = v
	}
	return err
}

// toolRegister reads or writes a register of the fifth generation.
func (r *Registers) toolRegister(m *mailbox) error {
	answer, write := uint32(regNotSupported), m.get(opMethod, 7) == methodWrite
	// The register begins behind two heads, see the layout of an access.
	if status, is, err := r.updateRegister(m.get(opRegister, 16), m[opBody/32:], write, card.OwnerTool); is {
		m.put(opStatus7, 7, status)
		return err
	}
	switch m.get(opRegister, 16) {
	case regNVDA:
		answer = r.group(m, write)
	case regNVDI:
		answer = r.forget(m.get(groupType, 32))
	case regNVQC:
		answer = 0
		m.put(opBody+32, 32, 0)
		if r.portOf(m.get(opBody, 32)) != 0 {
			m.put(opBody+62, 2, 3) // can be read, and written
		}
	case regNVQGC:
		answer = 0
		m.put(opBody+30, 2, 3) // current and factory settings can be read
	}
	m.put(opStatus7, 7, answer)
	return nil
}

// portOf is the port whose link type a group holds; 0 if it is none that the firmware has.
// All functions of a card share its configuration.
func (r *Registers) portOf(group uint32) int {
	port := int(group & portOfGroup >> 16)
	if group&^portOfGroup != linkOfPort || port < 1 || port > r.card.Functions || !r.card.Running().VPI {
		return 0
	}
	return port
}

// group reads or writes a group of the configuration: of the next boot, of this one, or as
// it left the factory, where InfiniBand is the type of a port.
func (r *Registers) group(m *mailbox, write bool) uint32 {
	if status, is := r.identityGroup(m, write); is {
		return status
	}
	port, nv := r.portOf(m.get(groupType, 32)), r.card.NextNV()
	if port == 0 {
		return regNotThere
	}
	if write {
		nv.LinkType[port-1] = int(m.get(groupData+linkValueAt, 2))
		r.card.SetNV(nv)
		return 0
	}
	kind := nv.LinkType[port-1]
	if m.get(groupCurrent, 1) != 0 {
		kind = r.card.Running().Config.LinkType[port-1]
	}
	if kind == card.LinkUnset || m.get(groupDefault, 1) != 0 {
		kind = card.LinkIB
	}
	m.put(groupLength, 9, 4)
	m.put(groupData, 32, uint32(kind)<<(32-linkValueAt-2))
	return 0
}

// forget takes a group out of the configuration.
func (r *Registers) forget(group uint32) uint32 {
	port, nv := r.portOf(group), r.card.NextNV()
	if port == 0 {
		return regNotThere
	}
	nv.LinkType[port-1] = card.LinkUnset
	r.card.SetNV(nv)
	return 0
}
