//go:build linux

package iba7322

// engine sends packets that lie in the driver's memory, by descriptors in a ring
// (qib_sdma.c).
type engine struct {
	head   uint64
	packet []byte // that the descriptors so far make, with its control word
}

// Bits of a port's SendControl.
const (
	dmaCleanUp = 1 << 8
	dmaEnabled = 1 << 11
	dmaHalt    = 1 << 12
)

// Bits of a descriptor. Its first word has the number of words of four bytes, too, and the
// lower half of their address; the second has the upper half.
const (
	descLast      = 1 << 11
	descFirst     = 1 << 12
	descStoreHead = 1 << 13
	descInterrupt = 1 << 15
)

// dmaControl starts and stops the engine. That it has stopped is an error to the driver,
// which waits for it (sdma_7322_p_errors of qib_iba7322.c).
func (p *port) dmaControl(was, v uint64) {
	if v&^was&dmaHalt != 0 {
		p.fail(errDMAHalted)
	}
	if v&dmaCleanUp != 0 {
		p.dma = engine{}
		p.c.raise(1 << (intCleanedUp + p.index))
	}
	p.runDMA()
}

func (p *port) dmaRuns() bool { return p.regs[portSendControl]&(dmaEnabled|dmaHalt) == dmaEnabled }

// dmaStatus says whether the engine rests, and that nothing is under way.
func (p *port) dmaStatus() uint64 {
	const halted, empty = 1 << 61, 1 << 30
	if p.dmaRuns() {
		return empty
	}
	return halted | empty
}

// runDMA sends what the ring has.
func (p *port) runDMA() {
	entries, tail := p.regs[portDMALength]&0xffff, p.regs[portDMATail]
	if !p.dmaRuns() || tail >= entries || p.dma.head == tail {
		return
	}
	interrupts := uint64(1) << (intIdle + p.index)
	for p.dma.head != tail {
		flags, there := p.descriptor(p.dma.head)
		if !there {
			p.regs[portSendControl] |= dmaHalt
			p.fail(errDMAHalted | errDMABase)
			return
		}
		p.dma.head = (p.dma.head + 1) % entries
		if flags&descStoreHead != 0 {
			p.storeHead()
		}
		if flags&descInterrupt != 0 {
			interrupts |= 1 << (intDMA + p.index)
		}
	}
	p.c.raise(interrupts)
}

// descriptor takes one, and sends the packet that it ends.
func (p *port) descriptor(n uint64) (flags uint64, there bool) {
	var d [16]byte
	if err := p.c.bus.Read(p.regs[portDMABase]+n*16, d[:]); err != nil {
		return 0, false
	}
	first, second := le.Uint64(d[:]), le.Uint64(d[8:])
	if first&descFirst != 0 {
		p.dma.packet = nil
	}
	data := make([]byte, first>>16&0x7ff*4)
	if err := p.c.bus.Read(first>>32|second<<32, data); err != nil || len(p.dma.packet)+len(data) > largeStride {
		return 0, false
	}
	p.dma.packet = append(p.dma.packet, data...)
	if b := p.dma.packet; first&descLast != 0 && len(b) >= controlSize {
		body := b[controlSize:]
		p.send(body[:min(len(body), size(le.Uint64(b)))])
		p.dma.packet = nil
	}
	return first, true
}

func (p *port) storeHead() {
	var b [8]byte
	le.PutUint64(b[:], p.dma.head)
	_ = p.c.bus.Write(p.regs[portDMAHeadAddress], b[:]) // without memory the driver sees nothing
}
