//go:build linux

package infinihost3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"

// noMemory is the status of a command that asks a card for memory that it does not have.
const noMemory = 0x22

// Commands.
const (
	queryLimits, queryFW, queryDDR, queryAdapter  = 0x03, 0x04, 0x05, 0x06
	initHCA, closeHCA, initPort, closePort        = 0x07, 0x08, 0x09, 0x0a
	queryHCA, setPort                             = 0x0b, 0x0c
	setMPT, dropMPT                               = 0x0d, 0x0f
	writeMTT, mapEQ, setEQ, dropEQ, setCQ, dropCQ = 0x11, 0x12, 0x13, 0x14, 0x16, 0x17
	resetToInit, initToRTR, rtrToRTS, rtsToRTS    = 0x19, 0x1a, 0x1b, 0x1c
	sqeToRTS, toError, rtsToSQD, sqdToRTS         = 0x1d, 0x1e, 0x1f, 0x20
	toReset, queryQP, specialQP, madIFC           = 0x21, 0x22, 0x23, 0x24
	readMGM, writeMGM, hashMGID                   = 0x25, 0x26, 0x27
	resizeCQ, initToInit                          = 0x2c, 0x2d
	setSRQ, dropSRQ, querySRQ, sqdToSQD, armSRQ   = 0x35, 0x36, 0x37, 0x38, 0x40
	enableMemory, unmapICM, mapICM, sizeICM       = 0xff8, 0xff9, 0xffa, 0xffd
)

// ignored are commands that have nothing to do here, and succeed: switching the system on
// and off, the firmware's own memory, caches and messages for debugging, no operation.
var ignored = map[uint32]bool{0x01: true, 0x02: true, 0xff7: true, 0xfff: true, 0xffe: true, 0xff6: true, 0xffc: true,
	0xffb: true, 0x2f: true, 0x2a: true, 0x2b: true, 0x31: true}

// command runs what the driver has put into the command register.
func (c *Card) command(q hcr.Command) {
	h := c.hca
	status, result := h.execute(q)
	if status != hcr.OK {
		c.logf("command %#x modifier %#x/%d ends with status %#x", q.Op, q.Index, q.Modifier, status)
	}
	if e, wanted := c.hcr.Finish(status, result); wanted {
		h.async(e)
	}
}

// handlers are the commands that end with a status alone.
var handlers = map[uint32]func(*hca, hcr.Command) int{
	queryLimits: (*hca).query, queryFW: (*hca).query, queryDDR: (*hca).query, queryAdapter: (*hca).query,
	queryHCA:     (*hca).query,
	enableMemory: func(*hca, hcr.Command) int { return noMemory },
	mapICM:       (*hca).mapICM, unmapICM: (*hca).unmapICM, initHCA: (*hca).start, closeHCA: succeed,
	initPort: (*hca).switchPort, closePort: (*hca).switchPort, setPort: (*hca).setPort, madIFC: (*hca).mad,
	setMPT: (*hca).setMPT, dropMPT: (*hca).dropMPT, writeMTT: (*hca).writeMTT,
	setEQ: (*hca).setEQ, dropEQ: (*hca).dropEQ, mapEQ: (*hca).mapEQ,
	setCQ: (*hca).setCQ, dropCQ: (*hca).dropCQ, resizeCQ: (*hca).resizeCQ,
	setSRQ: (*hca).setSRQ, dropSRQ: (*hca).dropSRQ, querySRQ: (*hca).querySRQ, armSRQ: succeed,
	specialQP: (*hca).setSpecial, queryQP: (*hca).queryQP, readMGM: (*hca).group, writeMGM: (*hca).group,
	resetToInit: (*hca).changeQP, initToInit: (*hca).changeQP, initToRTR: (*hca).changeQP, rtrToRTS: (*hca).changeQP,
	rtsToRTS: (*hca).changeQP, sqeToRTS: (*hca).changeQP, toError: (*hca).changeQP, toReset: (*hca).changeQP,
	sqdToRTS: (*hca).changeQP, rtsToSQD: (*hca).changeQP, sqdToSQD: (*hca).changeQP,
}

func succeed(*hca, hcr.Command) int { return hcr.OK }

// execute runs one command. result is its immediate answer, if it has one.
func (h *hca) execute(q hcr.Command) (status int, result *uint64) {
	switch {
	case ignored[q.Op]:
		return hcr.OK, nil
	case q.Op == sizeICM:
		pages := uint64(256) // that the firmware asks for itself
		return hcr.OK, &pages
	case q.Op == hashMGID:
		return h.hash(q)
	}
	if handle := handlers[q.Op]; handle != nil {
		return handle(h, q), nil
	}
	return hcr.BadOpcode, nil
}

// initSize is the size of the mailbox of INIT_HCA.
const initSize = 512

// start takes the layout of the tables.
func (h *hca) start(q hcr.Command) int {
	b := h.box(q.In, initSize)
	if b == nil {
		return hcr.BadParam
	}
	h.layout = &layout{logKeys: b[0xfb] & 0x1f, records: be.Uint64(b[0x138:]), recordsLog: b[0x129]&0x1f + 12,
		hashSize: uint64(be.Uint16(b[0xd6:]))}
	return hcr.OK
}

// setSpecial takes the number of the queue pair of the first port for management, with
// the modifier of 0 of subnet management.
func (h *hca) setSpecial(q hcr.Command) int {
	if q.Modifier < 2 {
		h.special[q.Modifier] = q.Index & 0xffffff
	}
	return hcr.OK
}

// mad has the firmware answer a datagram.
func (h *hca) mad(q hcr.Command) int {
	p, in := h.Port(int(q.Index&0xff)), h.box(q.In, 256)
	if p == nil || in == nil {
		return hcr.BadParam
	}
	out, answered := p.MAD(in, uint16(q.Index>>16), q.Modifier&1 != 0)
	if !answered {
		return hcr.BadPacket
	}
	return h.fill(q.Out, out)
}

// switchPort opens or closes a port.
func (h *hca) switchPort(q hcr.Command) int {
	p := h.Port(int(q.Index))
	if p == nil {
		return hcr.BadParam
	}
	p.Enable(q.Op == initPort)
	return hcr.OK
}

// setPort takes what the host can do.
func (h *hca) setPort(q hcr.Command) int {
	p, b := h.Port(int(q.Index)), h.box(q.In, 64)
	if p == nil || b == nil {
		return hcr.BadParam
	}
	p.SetCapabilities(be.Uint32(b[4:]))
	if b[3]&1 != 0 {
		p.ResetQKeyCounter()
	}
	return hcr.OK
}
