//go:build linux

package connectx3

import (
	"bytes"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// Types of events.
const (
	eventCompletion  = 0x00
	eventPort        = 0x09
	eventLastRequest = 0x13 // a queue pair with a shared receive queue took its last one
)

// hca is the card since its last reset.
type hca struct {
	transport.Held
	c          *Card
	pages      hcr.Pages
	init       []byte // what INIT_HCA has said
	mpts       map[uint32]*mpt
	eqs        map[uint32]*eq
	cqs        map[uint32]*cq
	qps        map[uint32]*qp
	srqs       map[uint32]*srq
	groups     map[uint32][]byte
	routes     [64]route
	special    uint32 // number of the first of the four management queue pairs
	infiniBand [ports]bool
}

// route is the event queue of a type of events.
type route struct {
	eq  uint32
	set bool
}

func newHCA(c *Card) *hca {
	h := &hca{c: c, mpts: map[uint32]*mpt{}, eqs: map[uint32]*eq{}, cqs: map[uint32]*cq{},
		qps: map[uint32]*qp{}, srqs: map[uint32]*srq{}, groups: map[uint32][]byte{}}
	for i := range h.infiniBand {
		h.infiniBand[i] = c.Model.Running().VPI
	}
	return h
}

// Port implements transport.Chip.
func (h *hca) Port(n int) *fabric.HCAPort {
	if n < 1 || n > len(h.c.ports) {
		return nil
	}
	return h.c.ports[n-1]
}

// After implements transport.Chip.
func (h *hca) After(d time.Duration, f func()) { h.c.timers.After(d, f) }

// Logf implements transport.Chip.
func (h *hca) Logf(format string, args ...any) { h.c.logf(format, args...) }

// eq is an event queue.
type eq struct {
	buffer
	log    uint8
	vector uint8
	next   uint32 // event to be written
	armed  bool
}

// entrySize is that of events and of completions.
const entrySize = hcr.EventSize

func (h *hca) setEQ(q hcr.Command) int {
	b := h.box(q.In, 64)
	if b == nil || b[12] > logQueue+2 {
		return hcr.BadParam
	}
	e := &eq{buffer: bufferOf(b[24], b[27], b[28:]), log: b[12], vector: b[23], armed: be.Uint32(b)>>8&0xf == 9}
	var empty [entrySize]byte
	empty[31] = 0x80 // belongs to the hardware
	for i := range uint64(1) << e.log {
		h.writeBuffer(e.buffer, i*entrySize, empty[:])
	}
	h.eqs[q.Index&0x3ff] = e
	return hcr.OK
}

func (h *hca) dropEQ(q hcr.Command) int {
	delete(h.eqs, q.Index&0x3ff)
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

// event writes an event, and interrupts once if the queue is armed. The owner bit
// changes at each turn of the queue.
func (h *hca) event(number uint32, e [entrySize]byte) {
	q := h.eqs[number]
	if q == nil {
		return
	}
	e[31] = byte(q.next>>q.log&1) << 7
	h.writeBuffer(q.buffer, uint64(q.next&(1<<q.log-1))*entrySize, e[:])
	q.next++
	if q.armed {
		q.armed = false
		h.c.bus.Interrupt(uint32(q.vector))
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

// queueEvent tells something of a queue pair.
func (h *hca) queueEvent(kind byte, number uint32) {
	e := [entrySize]byte{1: kind}
	be.PutUint32(e[4:], number)
	h.async(e)
}

// cq is a completion queue.
type cq struct {
	buffer
	number uint32
	log    uint8
	offset uint64
	eq     uint32
	next   uint32
	armed  arming
}

// opcodeResize is that of the last entry before a queue moves.
const opcodeResize = 0x16

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
	c := &cq{buffer: bufferOf(b[24], b[27], b[28:]), number: q.Index, log: byte(be.Uint32(b[12:]) >> 24 & 0x1f),
		offset: uint64(be.Uint16(b[10:])) & 0xfff, eq: uint32(b[23])}
	if c.log > logCompletions {
		return hcr.BadParam
	}
	if len(h.cqs) >= 1<<logCQs {
		return hcr.BadResource
	}
	h.disown(c)
	h.cqs[q.Index] = c
	return hcr.OK
}

func (h *hca) dropCQ(q hcr.Command) int {
	delete(h.cqs, q.Index)
	return hcr.OK
}

// disown marks all entries of a completion queue as not written. The driver leaves that to
// the firmware: entries of zero would look like completions. It goes by pages, so that the
// largest queue does not keep the others waiting.
func (h *hca) disown(c *cq) {
	const page = 4096
	empty := bytes.Repeat([]byte{0xcc}, page)
	for at, end := c.offset, c.offset+entrySize<<c.log; at < end; {
		n := min(page-at%page, end-at)
		h.writeBuffer(c.buffer, at, empty[:n])
		at += n
	}
}

// modifyCQ moves a queue to another buffer (with the modifier of 0), or sets its
// moderation, which nothing here has.
func (h *hca) modifyCQ(q hcr.Command) int {
	c, b := h.cqs[q.Index], h.box(q.In, 64)
	if c == nil || b == nil {
		return hcr.BadParam
	}
	log := byte(be.Uint32(b[12:]) >> 24 & 0x1f)
	switch {
	case q.Modifier != 0:
		return hcr.OK
	case log > logCompletions:
		return hcr.BadParam
	}
	// The last entry of the old buffer tells the driver to go on in the new one.
	h.complete(q.Index, [entrySize]byte{31: opcodeResize}, false)
	c.buffer, c.log, c.offset = bufferOf(b[24], b[27], b[28:]), log, uint64(be.Uint16(b[10:]))&0xfff
	h.disown(c)
	return hcr.OK
}

// complete writes a completion.
func (h *hca) complete(number uint32, e [entrySize]byte, solicited bool) {
	c := h.cqs[number]
	if c == nil {
		return
	}
	e[31] = e[31]&0x7f | byte(c.next>>c.log&1)<<7
	h.writeBuffer(c.buffer, uint64(c.next&(1<<c.log-1))*entrySize+c.offset, e[:])
	c.next++
	if c.armed == armedAny || c.armed == armedSolicited && solicited {
		h.completionEvent(c)
	}
}

func (h *hca) completionEvent(c *cq) {
	c.armed = unarmed
	e := [entrySize]byte{1: eventCompletion}
	be.PutUint32(e[4:], c.number)
	h.event(c.eq, e)
}

// doorbell is a write to the pages of the second BAR.
func (h *hca) doorbell(off uint64, p []byte) {
	page, at := off>>12, off&0xfff
	switch {
	case at == 0x14 && len(p) == 4:
		if q := h.qps[be.Uint32(p)>>8]; q != nil {
			q.Ring()
		}
	case at == 0x20 && len(p) == 8:
		h.arm(be.Uint32(p), be.Uint32(p[4:]))
	case at >= 0x800 && at < 0x820 && len(p) == 4:
		h.acknowledge(h.eqs[uint32(page)*4+uint32(at-0x800)/8], be.Uint32(p))
	}
}

// arm asks for an event at the next completion. One that the driver has not seen yet
// makes it at once.
func (h *hca) arm(v, seen uint32) {
	c := h.cqs[v&0xffffff]
	if c == nil {
		return
	}
	c.armed = armedSolicited
	if v>>24&3 == 2 {
		c.armed = armedAny
	}
	if c.next&0xffffff != seen&0xffffff {
		h.completionEvent(c)
	}
}

func (h *hca) acknowledge(q *eq, v uint32) {
	if q == nil || v>>31 == 0 {
		return
	}
	q.armed = q.next&0xffffff == v&0xffffff
	if !q.armed {
		h.c.bus.Interrupt(uint32(q.vector))
	}
}
