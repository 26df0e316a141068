//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"

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

func succeed(*hca, hcr.Command) int { return hcr.OK }

// execute runs one command. result is its immediate answer, if it has one.
func (h *hca) execute(q hcr.Command) (status int, result *uint64) {
	switch {
	case ignored[q.Op]:
		return hcr.OK, nil
	case q.Op == sizeICM || q.Op == hashMGID || q.Op == sensePort:
		return h.immediate(q)
	}
	if handle := handlers[q.Op]; handle != nil {
		return handle(h, q), nil
	}
	return hcr.BadOpcode, nil
}

// start takes the layout of the tables.
func (h *hca) start(q hcr.Command) int {
	h.init = h.box(q.In, 1024)
	return hcr.Known(h.init != nil)
}

func (h *hca) setSpecial(q hcr.Command) int {
	h.special = q.Index & 0xffffff
	return hcr.OK
}

// immediate runs the commands that answer without a mailbox.
func (h *hca) immediate(q hcr.Command) (int, *uint64) {
	var v uint64
	switch q.Op {
	case sizeICM:
		v = 256 // pages that the firmware asks for itself
	case sensePort:
		v = 1 // InfiniBand is on the cable
		if p := h.Port(int(q.Index)); p == nil || p.Wire().Cable() == nil {
			v = 0
		}
	case hashMGID:
		gid := h.box(q.In, 16)
		if gid == nil || h.init == nil {
			return hcr.BadParam, nil
		}
		for i, b := range gid {
			v = v*31 + uint64(b) + uint64(i)
		}
		v %= 1 << (h.init[0xd7] & 0x1f)
	}
	return hcr.OK, &v
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

// switchPort opens or closes a port. One that speaks Ethernet has no cable here.
func (h *hca) switchPort(q hcr.Command) int {
	p := h.Port(int(q.Index))
	if p == nil {
		return hcr.BadParam
	}
	p.Enable(q.Op == initPort && h.infiniBand[q.Index-1])
	return hcr.OK
}

// setPort takes what a port is: with the modifier of 0 InfiniBand, with 1 Ethernet.
func (h *hca) setPort(q hcr.Command) int {
	n := int(q.Index & 0xff)
	p, b := h.Port(n), h.box(q.In, 64)
	if p == nil || b == nil {
		return hcr.BadParam
	}
	if q.Modifier != 0 {
		h.infiniBand[n-1] = false
		p.Enable(false)
		return hcr.OK
	}
	if !h.c.Model.Running().VPI {
		return hcr.BadParam
	}
	h.infiniBand[n-1] = true
	p.SetCapabilities(be.Uint32(b[4:]))
	if b[3]&1 != 0 {
		p.ResetQKeyCounter()
	}
	return hcr.OK
}
