//go:build linux

package connectx3

// Statuses of a command.
const (
	ok          = 0x00
	badOpcode   = 0x02
	badParam    = 0x03
	badResource = 0x05
	badPacket   = 0x30
)

// Commands.
const (
	queryDevCap, queryFW, queryAdapter            = 0x03, 0x04, 0x06
	initHCA, closeHCA, initPort, closePort        = 0x07, 0x08, 0x09, 0x0a
	queryHCA, setPort                             = 0x0b, 0x0c
	setMPT, dropMPT                               = 0x0d, 0x0f
	writeMTT, mapEQ, setEQ, dropEQ, setCQ, dropCQ = 0x11, 0x12, 0x13, 0x14, 0x16, 0x17
	resetToInit, initToRTR, rtrToRTS, rtsToRTS    = 0x19, 0x1a, 0x1b, 0x1c
	sqeToRTS, toError, rtsToSQD, sqdToRTS         = 0x1d, 0x1e, 0x1f, 0x20
	toReset, queryQP, specialQP, madIFC           = 0x21, 0x22, 0x23, 0x24
	readMCG, writeMCG, hashMGID                   = 0x25, 0x26, 0x27
	modifyCQ, initToInit, diagnostics, noOp       = 0x2c, 0x2d, 0x30, 0x31
	modStat                                       = 0x34
	setSRQ, dropSRQ, querySRQ, sqdToSQD, armSRQ   = 0x35, 0x36, 0x37, 0x38, 0x40
	queryPort, sensePort                          = 0x43, 0x4d
	dumpEthStats, queryIfStat                     = 0x49, 0x54
	unmapICM, mapICM, sizeICM                     = 0xff9, 0xffa, 0xffd
)

// ignored are commands that have nothing to do here, and succeed: caches, the firmware's
// own memory, and filters of Ethernet.
var ignored = map[uint32]bool{0xfff: true, 0xffe: true, 0xff6: true, 0xffc: true, 0xffb: true, 0x2f: true, 0x2a: true,
	0x2b: true, 0x50: true, 0x5a: true, 0x47: true, 0x48: true, 0x61: true, 0x64: true, 0x65: true, 0x66: true, noOp: true}

// request is one command of the driver.
type request struct {
	op, opMod, mod uint32
	in, out        uint64
}

// command runs what the driver has put into the command register.
func (c *Card) command(v uint32) {
	r := &c.hcr
	q := request{op: v & 0xfff, opMod: v >> 12 & 0xf, mod: r[2], in: uint64(r[0])<<32 | uint64(r[1]),
		out: uint64(r[3])<<32 | uint64(r[4])}
	token := uint16(r[5] >> 16)
	h := c.hca
	status, result := h.execute(q)
	if status != ok {
		c.logf("command %#x modifier %#x/%d ends with status %#x", q.op, q.mod, q.opMod, status)
	}
	value := q.out
	if result != nil {
		value = *result
	}
	r[3], r[4] = uint32(value>>32), uint32(value)
	r[6] = v&^uint32(hcrBusy|0xff000000) | uint32(status)<<24
	if v&(1<<22) == 0 {
		return
	}
	var e [32]byte // the driver wants an event
	e[1] = eventCommand
	be.PutUint16(e[6:], token)
	e[15] = byte(status)
	be.PutUint64(e[16:], value)
	h.async(e)
}

// handlers are the commands that end with a status alone.
var handlers = map[uint32]func(*hca, request) int{
	queryDevCap: (*hca).query, queryFW: (*hca).query, queryAdapter: (*hca).query, queryPort: (*hca).query,
	queryHCA: (*hca).query, modStat: (*hca).query, diagnostics: (*hca).query, dumpEthStats: (*hca).query,
	queryIfStat: (*hca).query,
	mapICM:      (*hca).mapICM, unmapICM: (*hca).unmapICM, initHCA: (*hca).start, closeHCA: succeed,
	initPort: (*hca).switchPort, closePort: (*hca).switchPort, setPort: (*hca).setPort, madIFC: (*hca).mad,
	setMPT: (*hca).setMPT, dropMPT: (*hca).dropMPT, writeMTT: (*hca).writeMTT,
	setEQ: (*hca).setEQ, dropEQ: (*hca).dropEQ, mapEQ: (*hca).mapEQ,
	setCQ: (*hca).setCQ, dropCQ: (*hca).dropCQ, modifyCQ: (*hca).modifyCQ,
	setSRQ: (*hca).setSRQ, dropSRQ: (*hca).dropSRQ, querySRQ: (*hca).querySRQ, armSRQ: succeed,
	specialQP: (*hca).setSpecial, queryQP: (*hca).queryQP, readMCG: (*hca).group, writeMCG: (*hca).group,
	resetToInit: (*hca).changeQP, initToInit: (*hca).changeQP, initToRTR: (*hca).changeQP, rtrToRTS: (*hca).changeQP,
	rtsToRTS: (*hca).changeQP, sqeToRTS: (*hca).changeQP, toError: (*hca).changeQP, toReset: (*hca).changeQP,
	sqdToRTS: (*hca).changeQP, rtsToSQD: (*hca).changeQP, sqdToSQD: (*hca).changeQP,
}

func succeed(*hca, request) int { return ok }

// execute runs one command. result is its immediate answer, if it has one.
func (h *hca) execute(q request) (status int, result *uint64) {
	switch {
	case ignored[q.op]:
		return ok, nil
	case q.op == sizeICM || q.op == hashMGID || q.op == sensePort:
		return h.immediate(q)
	}
	if handle := handlers[q.op]; handle != nil {
		return handle(h, q), nil
	}
	return badOpcode, nil
}

// start takes the layout of the tables.
func (h *hca) start(q request) int {
	h.init = h.box(q.in, 1024)
	return known(h.init != nil)
}

func (h *hca) setSpecial(q request) int {
	h.special = q.mod & 0xffffff
	return ok
}

func known(there bool) int {
	if there {
		return ok
	}
	return badParam
}

// immediate runs the commands that answer without a mailbox.
func (h *hca) immediate(q request) (int, *uint64) {
	var v uint64
	switch q.op {
	case sizeICM:
		v = 256 // pages that the firmware asks for itself
	case sensePort:
		v = 1 // InfiniBand is on the cable
		if p := h.Port(int(q.mod)); p == nil || p.Wire().Cable() == nil {
			v = 0
		}
	case hashMGID:
		gid := h.box(q.in, 16)
		if gid == nil || h.init == nil {
			return badParam, nil
		}
		for i, b := range gid {
			v = v*31 + uint64(b) + uint64(i)
		}
		v %= 1 << (h.init[0xd7] & 0x1f)
	}
	return ok, &v
}

// mad has the firmware answer a datagram.
func (h *hca) mad(q request) int {
	p, in := h.Port(int(q.mod&0xff)), h.box(q.in, 256)
	if p == nil || in == nil {
		return badParam
	}
	out, answered := p.MAD(in, q.opMod&1 != 0)
	if !answered {
		return badPacket
	}
	return h.fill(q.out, out)
}

// switchPort opens or closes a port. One that speaks Ethernet has no cable here.
func (h *hca) switchPort(q request) int {
	p := h.Port(int(q.mod))
	if p == nil {
		return badParam
	}
	p.Enable(q.op == initPort && h.infiniBand[q.mod-1])
	return ok
}

// setPort takes what a port is: with the modifier of 0 InfiniBand, with 1 Ethernet.
func (h *hca) setPort(q request) int {
	n := int(q.mod & 0xff)
	p, b := h.Port(n), h.box(q.in, 64)
	if p == nil || b == nil {
		return badParam
	}
	if q.opMod != 0 {
		h.infiniBand[n-1] = false
		p.Enable(false)
		return ok
	}
	if !h.c.Model.Running().VPI {
		return badParam
	}
	h.infiniBand[n-1] = true
	p.SetCapabilities(be.Uint32(b[4:]))
	if b[3]&1 != 0 {
		p.ResetQKeyCounter()
	}
	return ok
}
