//go:build linux

package iba7322

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// receiver is a receive context: a queue in the driver's memory for the headers of packets
// and buffers for what follows them. The driver's contexts are those with the number of a
// port; all packets of the port go there.
type receiver struct {
	head, tail  uint64 // of the header queue, in words of four bytes
	sequence    uint32 // of the next entry: 1 to lastSequence
	eagerHead   uint64 // the buffer that the driver has emptied last
	eagerTail   uint64 // the next to be filled
	interrupted bool   // no other interrupt is wanted until the driver says so
}

// lastSequence is followed by 1 (qib_kreceive of qib_driver.c). By it the driver sees that
// an entry is new.
const lastSequence = 13

// Registers of a context, in its page.
const (
	ctxTail, ctxHead, ctxEagerTail, ctxEagerHead = 0x00, 0x08, 0x10, 0x18
)

func (c *Card) readContext(addr uint32) uint64 {
	x := &c.contexts[(addr-contextRegs)/contextStride]
	switch addr % contextStride {
	case ctxTail:
		return x.tail
	case ctxHead:
		return x.head
	case ctxEagerTail:
		return x.eagerTail
	case ctxEagerHead:
		return x.eagerHead
	}
	return c.regs[addr]
}

// writeContext takes how far the driver has read. With a number of packets in the upper
// half it wants to be interrupted again.
func (c *Card) writeContext(addr uint32, v uint64) {
	n := (addr - contextRegs) / contextStride
	x := &c.contexts[n]
	switch addr % contextStride {
	case ctxHead:
		x.head = v & 0xffffffff
		if v>>32 != 0 {
			x.interrupted = false
			c.tellReceived(int(n))
		}
	case ctxEagerHead:
		x.eagerHead = v
	default:
		c.regs[addr] = v
	}
}

// tellReceived interrupts if there is something that the driver has not read.
func (c *Card) tellReceived(n int) {
	const first = 20
	x := &c.contexts[n]
	if x.interrupted || x.head == x.tail || c.regs[regReceiveControl]>>(first+n)&1 == 0 {
		return
	}
	x.interrupted = true
	c.raise(1 << (intReceived + n))
}

// enableContexts begins contexts, by bits, from the start.
func (c *Card) enableContexts(bits uint64) {
	for n := range c.contexts {
		if bits>>n&1 != 0 {
			c.contexts[n] = receiver{sequence: 1}
		}
	}
}

// eagerCount is how many buffers each context of user programs has, by how many contexts
// ReceiveControl configures (qib_7322_config_ctxts).
func eagerCount(control uint64) uint64 { return 4096 >> min(control>>41&3, 2) }

// kernelBuffers is how many buffers the contexts of the ports have together.
const kernelBuffers = 2048

// Receive implements wire.Receiver.
func (p *port) Receive(k *wire.Packet) {
	const enabled = 1 << 39
	if !p.carries(k) || p.regs[portReceiveControl]&enabled == 0 || p.regs[portReceiveControl]>>p.index&1 == 0 {
		return
	}
	header, payload := encode(k)
	p.counts[countReceived]++
	p.counts[countReceivedWords] += uint64(len(header)+len(payload)+checksum) / 4
	if !p.c.store(p.index, len(p.c.ports), header, payload) {
		p.counts[countOverflow]++
	}
	p.c.tellReceived(p.index)
}

// Flags of an entry of the header queue, in its last eight bytes (qib_common.h): the length
// in words of four bytes, the kind of a packet that is not one of PSM, and the buffer.
const (
	flagOther    = 2 << 11
	flagBuffered = 1 << 31
	flagBuffer   = 16
)

// store writes a packet to a context; false if there is no room.
func (c *Card) store(n, sharers int, header, payload []byte) bool {
	x := &c.contexts[n]
	entry := c.regs[regEntrySize]
	next := x.tail + entry
	if next >= c.regs[regEntries]*entry {
		next = 0
	}
	if next == x.head || uint64(len(header)) > (entry-2)*4 {
		return false
	}
	flags := uint32(len(header)+len(payload)+checksum)/4 | flagOther
	if len(payload) > 0 {
		if !c.storePayload(x, n, sharers, payload) {
			return false
		}
		flags |= flagBuffered | uint32(x.eagerTail)<<flagBuffer
		x.eagerTail = (x.eagerTail + 1) % (kernelBuffers / uint64(sharers))
	}
	var last [8]byte
	le.PutUint32(last[:], flags)
	le.PutUint32(last[4:], x.sequence)
	at := c.regs[regHeaderAddress+8*uint32(n)] + x.tail*4
	if c.bus.Write(at, header) != nil || c.bus.Write(at+(entry-2)*4, last[:]) != nil {
		return false
	}
	x.tail = next
	x.sequence = x.sequence%lastSequence + 1
	return true
}

// storePayload writes to the next buffer. The table has the size of each, in bits 37 and
// up, and its address in units of 2 KiB.
func (c *Card) storePayload(x *receiver, n, sharers int, payload []byte) bool {
	count := kernelBuffers / uint64(sharers)
	if (x.eagerTail+1)%count == x.eagerHead {
		return false
	}
	const unit, sizeAt = 2048, 37
	tid := c.regs[eagerTable+8*uint32(uint64(n)*count+x.eagerTail)]
	if uint64(len(payload)) > tid>>sizeAt*unit {
		return false
	}
	return c.bus.Write(tid&(1<<sizeAt-1)*unit, payload) == nil
}
