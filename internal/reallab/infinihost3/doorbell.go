//go:build linux

package infinihost3

// Doorbells, by their place in a page of the second BAR. Each is 64 bits, of which the
// card gets two words. Chips without memory have the first and the third alone: all else
// is in doorbell records.
const (
	bellSend, bellReceive, bellCompletion, bellEvent = 0x10, 0x18, 0x20, 0x28
)

// Fields of the word that names a queue of work requests.
const (
	operationMask = 0x1f
	sizeMask      = 0x3f // in 16 bytes
	offsetMask    = ^uint32(0x3f)
)

// doorbell is a write to the pages of the second BAR.
func (h *hca) doorbell(at uint64, high, low uint32) {
	switch {
	case at == bellSend && h.c.ownMemory:
		h.sendFrom(low>>8, high&offsetMask, high&operationMask, low&sizeMask, 0)
	case at == bellSend:
		if q := h.qps[low>>8]; q != nil {
			h.sendFrom(low>>8, q.sending.at(high>>8&0xffff), high&operationMask, low&sizeMask, high>>24)
		}
	case at == bellCompletion && h.c.ownMemory:
		h.tavorCompletion(h.cqs[high&0xffffff], high>>24, low)
	case at == bellCompletion:
		h.arbelCompletion(h.cqs[high&0xffffff], high>>24&3, low)
	case at == bellReceive && h.c.ownMemory:
		h.receiveFrom(low>>8, high&offsetMask, high&sizeMask, low&0xff)
	case at == bellEvent && h.c.ownMemory:
		h.tavorEvent(high&0xffffff, high>>24, low)
	}
}

// arbelCompletion arms a completion queue: 1 for solicited ones, 2 and 3 for all. The
// driver says how far it has read.
func (h *hca) arbelCompletion(c *cq, command, seen uint32) {
	if c == nil || command == 0 {
		return
	}
	c.seen = seen
	a := armedAny
	if command == 1 {
		a = armedSolicited
	}
	h.armCQ(c, a)
}

// tavorCompletion tells how far the driver has read a completion queue, or arms it.
func (h *hca) tavorCompletion(c *cq, command, v uint32) {
	const advance, armAll, armSolicited, set, armSeveral = 1, 2, 3, 4, 5
	if c == nil {
		return
	}
	switch command {
	case advance:
		c.seen += v + 1
	case set:
		c.seen = v
	case armAll, armSeveral:
		h.armCQ(c, armedAny)
	case armSolicited:
		h.armCQ(c, armedSolicited)
	}
}

// tavorEvent tells how far the driver has read an event queue, arms it, or disarms a
// completion queue that it has told of.
func (h *hca) tavorEvent(number, command, v uint32) {
	const advance, arm, disarm, set = 1, 2, 3, 4
	switch command {
	case advance:
		if q := h.eqs[number]; q != nil {
			q.seen++
		}
	case set:
		h.consumed(number, v)
	case arm:
		h.armEQ(number)
	case disarm:
		if c := h.cqs[v&0xffffff]; c != nil {
			c.armed = unarmed
		}
	}
}
