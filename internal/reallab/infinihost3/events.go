//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// Types of events.
const (
	eventCompletion  = 0x00
	eventPort        = 0x09
	eventLastRequest = 0x13 // a queue pair with a shared receive queue took its last one
)

// entrySize is that of events and of completions.
const entrySize = hcr.EventSize

// ring is a queue in memory that the card writes. The driver marks what it has read as the
// card's, and the card what it writes as the driver's: with an owner of 0.
type ring struct {
	key   uint32
	start uint64
	log   uint8
	next  uint32 // entry to be written
	seen  uint32 // that the driver has not read yet
}

func (r *ring) unread() bool { return (r.next-r.seen)&(1<<r.log-1) != 0 }

// put writes an entry.
func (h *hca) put(r *ring, e [entrySize]byte) {
	e[31] = 0
	// A driver that gave no memory sees nothing, as on hardware.
	h.Copy(r.key, r.start+uint64(r.next&(1<<r.log-1))*entrySize, e[:], transport.LocalWrite)
	r.next++
}

// route is the event queue of a type of events.
type route struct {
	eq  uint32
	set bool
}

// eq is an event queue.
type eq struct {
	ring
	vector uint32
	armed  bool
}

// firstVector is what the number of an MSI-X vector is added to; less is a line.
const firstVector = 128

func (h *hca) setEQ(q hcr.Command) int {
	b := h.box(q.In, 64)
	if b == nil || q.Index >= eventQueues || b[23] < firstVector {
		return hcr.BadParam
	}
	const armed = 1
	h.eqs[q.Index] = &eq{ring: ringOf(b), vector: uint32(b[23] - firstVector), armed: be.Uint32(b)>>8&3 == armed}
	return hcr.OK
}

// ringOf reads where the context of an event or completion queue has its entries.
func ringOf(b []byte) ring {
	return ring{key: be.Uint32(b[28:]), start: be.Uint64(b[4:]), log: b[12] & 0x1f}
}

func (h *hca) dropEQ(q hcr.Command) int {
	delete(h.eqs, q.Index)
	return hcr.OK
}

// mapEQ sends types of events, by bits, to a queue, or to none.
func (h *hca) mapEQ(q hcr.Command) int {
	for i := range h.routes {
		if q.In>>i&1 != 0 {
			h.routes[i] = route{eq: q.Index & 0x3ff, set: q.Index>>31 == 0}
		}
	}
	return hcr.OK
}

// async writes an event to the queue of its type.
func (h *hca) async(e [entrySize]byte) {
	if r := h.routes[e[1]&0x3f]; r.set {
		h.event(r.eq, e)
	}
}

// event writes an event, and interrupts once if the queue is armed.
func (h *hca) event(number uint32, e [entrySize]byte) {
	q := h.eqs[number]
	if q == nil {
		return
	}
	h.put(&q.ring, e)
	h.interrupt(q)
}

// interrupt raises the vector of a queue that is armed and has something.
func (h *hca) interrupt(q *eq) {
	if q.armed && q.unread() {
		q.armed = false
		h.c.bus.Interrupt(q.vector)
	}
}

// armEvents arms event queues, by bits.
func (h *hca) armEvents(mask uint32) {
	for n := range uint32(eventQueues) {
		if mask>>n&1 != 0 {
			h.armEQ(n)
		}
	}
}

func (h *hca) armEQ(number uint32) {
	if q := h.eqs[number]; q != nil {
		q.armed = true
		h.interrupt(q)
	}
}

// consumed takes how far the driver has read an event queue.
func (h *hca) consumed(number, index uint32) {
	if q := h.eqs[number]; q != nil {
		q.seen = index
	}
}

// portEvent tells that a port became active (4), or went down (1).
func (h *hca) portEvent(port int, active bool) {
	e := [entrySize]byte{1: eventPort, 3: 1}
	if active {
		e[3] = 4
	}
	be.PutUint32(e[12:], uint32(port)<<28)
	h.async(e)
}

// numbered is an event of a queue.
func numbered(kind byte, number uint32) [entrySize]byte {
	e := [entrySize]byte{1: kind}
	be.PutUint32(e[4:], number)
	return e
}

// cq is a completion queue.
type cq struct {
	ring
	number uint32
	eq     uint32
	armed  arming
}

// arming is what a completion queue waits for.
type arming int

const (
	unarmed arming = iota
	armedSolicited
	armedAny
)

func (h *hca) setCQ(q hcr.Command) int {
	b := h.box(q.In, 64)
	if b == nil {
		return hcr.BadParam
	}
	number := q.Index & 0xffffff
	c := &cq{ring: ringOf(b), number: number, eq: uint32(b[23])}
	if c.log > logCompletions || len(h.cqs) >= maxQueues {
		return hcr.BadParam
	}
	h.cqs[number] = c
	return hcr.OK
}

func (h *hca) dropCQ(q hcr.Command) int {
	delete(h.cqs, q.Index&0xffffff)
	return hcr.OK
}

// resizeCQ moves a queue to another buffer. The driver brings along what it has not read.
// In Tavor mode indices count to the size of the queue.
func (h *hca) resizeCQ(q hcr.Command) int {
	c, b := h.cqs[q.Index&0xffffff], h.box(q.In, 64)
	if c == nil || b == nil || b[12] > logCompletions {
		return hcr.BadParam
	}
	if h.c.ownMemory {
		c.next, c.seen = c.next&(1<<c.log-1), c.seen&(1<<c.log-1)
	}
	c.key, c.start, c.log = be.Uint32(b[28:]), 0, b[12]
	return hcr.OK
}

// complete writes a completion.
func (h *hca) complete(number uint32, e [entrySize]byte, solicited bool) {
	c := h.cqs[number]
	if c == nil {
		return
	}
	h.put(&c.ring, e)
	if c.armed == armedAny || c.armed == armedSolicited && solicited {
		h.completionEvent(c)
	}
}

func (h *hca) completionEvent(c *cq) {
	c.armed = unarmed
	h.event(c.eq, numbered(eventCompletion, c.number))
}

// armCQ asks for an event at the next completion. One that the driver has not seen yet
// makes it at once.
func (h *hca) armCQ(c *cq, a arming) {
	c.armed = a
	if c.unread() {
		h.completionEvent(c)
	}
}
