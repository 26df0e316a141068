//go:build linux

package connectx4

// The command queue: entries of 64 bytes in a page of the driver, with a longer input and
// output in chains of mailboxes (struct mlx5_cmd_layout, struct mlx5_cmd_prot_block).
const (
	logEntries   = 5
	logEntrySize = 6
	entryBytes   = 1 << logEntrySize
	inlineIn     = 0x10 // bytes of input in an entry, and of output
	inlineOut    = 0x20
	inlineBytes  = 16
	boxBytes     = 512 // of data in a mailbox
	boxNext      = 0x230
	// maxLength bounds input and output. The longest that drivers send are lists of pages.
	maxLength = 4 << 20
	// slack is behind every input and output, so that fixed offsets are always in them.
	slack = 0x1100
)

// Statuses of a command.
const (
	ok           = 0x00
	badOpcode    = 0x02
	badParam     = 0x03
	badResource  = 0x05
	limitReached = 0x08
	badState     = 0x10 // of a queue pair
)

// request is one command of the driver. Input and output have slack behind their length,
// and out begins with status and syndrome.
type request struct {
	op, opMod uint16
	in, out   []byte
	length    int // of the input
}

// object is the number in the second word of most inputs.
func (r *request) object() uint32 { return number(r.in, 8) }

// answer puts the number of an object into the second word of most outputs.
func (r *request) answer(n uint32) { be.PutUint32(r.out[8:], n) }

// tail is what follows the fixed part of an input: a list of pages.
func (r *request) tail(at int) []byte {
	if r.length <= at {
		return nil
	}
	return r.in[at:r.length]
}

// commands runs what the driver has put into the entries that a doorbell names.
func (h *hca) commands(vector uint32) {
	for i := range uint32(1) << logEntries {
		if vector>>i&1 != 0 {
			h.command(i)
		}
	}
}

func (h *hca) command(index uint32) {
	at := h.queue + uint64(index)*entryBytes
	entry := make([]byte, entryBytes)
	if h.c.bus.Read(at, entry) != nil {
		return
	}
	in, out := be.Uint32(entry[4:]), be.Uint32(entry[0x38:])
	if in > maxLength || out > maxLength {
		return
	}
	r := &request{in: make([]byte, int(in)+slack), out: make([]byte, int(out)+slack), length: int(in)}
	n := copy(r.in[:in], entry[inlineIn:inlineIn+inlineBytes])
	h.boxes(be.Uint64(entry[8:]), r.in[n:in], h.c.bus.Read)
	r.op, r.opMod = be.Uint16(r.in), be.Uint16(r.in[6:])
	had := h.routed(eventCommand)
	status := h.execute(r)
	if status != ok {
		h.c.logf("command %#x modifier %#x ends with status %#x", r.op, r.opMod, status)
	}
	r.out[0] = status
	n = copy(entry[inlineOut:inlineOut+inlineBytes], r.out[:out])
	h.boxes(be.Uint64(entry[0x30:]), r.out[n:out], h.c.bus.Write)
	entry[0x3f] = 0 // it belongs to the driver again
	_ = h.c.bus.Write(at+inlineOut, entry[inlineOut:])
	// None for the command that makes the queue of these events: the driver still polls.
	if had && h.routed(eventCommand) {
		var e event
		e[1] = eventCommand
		be.PutUint32(e[0x20:], 1<<index)
		h.async(e)
	}
}

// boxes moves p to or from a chain of mailboxes. A chain that is too short, or not in
// memory, leaves the rest as it is.
func (h *hca) boxes(addr uint64, p []byte, move func(uint64, []byte) error) {
	for len(p) > 0 && addr != 0 {
		n := min(len(p), boxBytes)
		var next [8]byte
		if move(addr, p[:n]) != nil || h.c.bus.Read(addr+boxNext, next[:]) != nil {
			return
		}
		p, addr = p[n:], be.Uint64(next[:])
	}
}

// execute runs one command.
func (h *hca) execute(r *request) byte {
	if handle := handlers[r.op]; handle != nil {
		return handle(h, r)
	}
	return badOpcode
}
