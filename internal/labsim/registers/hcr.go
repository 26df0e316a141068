package registers

import "github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"

// The command interface that firmware of the fourth generation (ConnectX-3, Pro)
// offers to tools: seven words, a mailbox inside the firmware, and a second one
// that tools may write directly. Learned from mstflint 4.21's tools_cif.c and
// mtcr_tools_cif.c: what the tool sends and expects.
const (
	hcrInHigh   = 0x80780
	hcrInLow    = 0x80784
	hcrModifier = 0x80788
	hcrOutHigh  = 0x8078c
	hcrOutLow   = 0x80790
	// The last word: bits 11:0 opcode, 15:12 its modifier, 23 starts the command
	// and is cleared at its end, 31:24 the status.
	hcrCommand  = 0x80798
	hcrGo       = 1 << 23
	directBox   = 0xe0000
	mailboxSize = 288 / 4 // words
)

// Opcodes.
const (
	opQueryCapabilities = 0x03
	opAccessRegister    = 0x3b
	opMailboxWrite      = 0x70
	opMailboxRead       = 0x71
	opQueryDefaults     = 0x73
)

// Statuses of a command.
const (
	statusOK     = 0
	statusBadOp  = 2
	statusBadSys = 4 // no driver has started the firmware's services
)

// mailbox is a tool's data to or from a command.
type mailbox [mailboxSize]uint32

// put stores a field; positions count from the most significant bit of the first
// word, as the tools' own layouts do.
func (m *mailbox) put(at, width int, v uint32) {
	shift := 32 - at%32 - width
	mask := uint32(1<<width-1) << shift
	m[at/32] = m[at/32]&^mask | v<<shift&mask
}

func (m *mailbox) get(at, width int) uint32 { return m[at/32] >> (32 - at%32 - width) & (1<<width - 1) }

func (m *mailbox) flag(at int) { m.put(at, 1, 1) }

// toolCommand runs one command of the interface and gives what its last word
// holds then.
func (r *Registers) toolCommand(v uint32) uint32 {
	status := uint32(statusBadSys)
	if r.card.Running().Loaded {
		status = r.execute(v&0xfff, int(v>>12&0xf))
	}
	return v&^uint32(hcrGo|0xff000000) | status<<24
}

func (r *Registers) execute(op uint32, modifier int) uint32 {
	at := r.regs[hcrModifier]
	switch op {
	case opMailboxWrite, opMailboxRead:
		if at%2 != 0 || at+1 >= mailboxSize {
			return statusBadSys
		}
		// The first word of the pair goes through the lower half.
		if op == opMailboxWrite {
			r.box[at], r.box[at+1] = r.regs[hcrInLow], r.regs[hcrInHigh]
		} else {
			r.regs[hcrOutLow], r.regs[hcrOutHigh] = r.box[at], r.box[at+1]
		}
	case opQueryCapabilities:
		r.box = capabilities(r.card.Running())
	case opQueryDefaults:
		if modifier == 0 {
			r.box = globalDefaults()
		} else {
			r.box = portDefaults()
		}
	case opAccessRegister:
		// The modifier says which of the mailboxes the tool uses.
		if at == 0 {
			r.accessRegister(&r.box)
		} else {
			r.accessDirectly()
		}
	default:
		return statusBadOp
	}
	return statusOK
}

// accessDirectly is a register access through the mailbox that tools write to.
func (r *Registers) accessDirectly() {
	var direct mailbox
	for i := range direct {
		direct[i] = r.regs[directBox+uint32(4*i)]
	}
	r.accessRegister(&direct)
	for i := range direct {
		r.regs[directBox+uint32(4*i)] = direct[i]
	}
}

// capabilities is the part of the firmware's capabilities that tools look at.
func capabilities(fw card.Firmware) (m mailbox) {
	m[0x38/4] = 64      // functions, the physical one among them
	m[0x48/4] = 2 << 16 // log2 of half the BAR's default size in MiB
	m[0xc8/4] = 6 << 3  // log2 of the BAR's largest size
	m[0xc0/4] = configSRIOV | configBAR
	if fw.VPI {
		m[0xc0/4] |= configLink1 | configLink2
	}
	return m
}
