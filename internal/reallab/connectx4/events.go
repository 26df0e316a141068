//go:build linux

package connectx4

// Types of events.
const (
	eventCompletion  = 0x00
	eventPort        = 0x09
	eventCommand     = 0x0a
	eventLastRequest = 0x13 // a queue pair with a shared receive queue took its last one
)

// Kinds of a port event. mlx5 does not look into management datagrams, as mlx4 does: LID,
// P_Keys and the wish that clients register again come as events.
const (
	portDown       = 1
	portActive     = 4
	portLID        = 6
	portPKeys      = 7
	portReregister = 9
)

// event is an entry of an event queue, as completion is one of a completion queue.
type event [entryBytes]byte

type completion [entryBytes]byte

// pages is a buffer of the driver: a list of pages, and where in the first it begins.
type pages struct {
	list  []uint64
	shift uint
	begin uint64
}

// pagesOf reads as much of a list as a buffer of some bytes needs. The offset counts in 64ths
// of a page, however large the page is.
func pagesOf(list []byte, logPage byte, offset, size uint64) pages {
	p := pages{shift: uint(logPage&0x1f) + 12}
	p.begin = offset << p.shift / 64
	p.list = make([]uint64, min(uint64(len(list)/8), (p.begin+size)>>p.shift+1))
	for i := range p.list {
		p.list[i] = be.Uint64(list[8*i:]) &^ (pageSize - 1)
	}
	return p
}

// listed is how many pages the list has.
func (p *pages) listed() int { return len(p.list) }

// at is the bus address of an offset.
func (p *pages) at(off uint64) (uint64, bool) {
	off += p.begin
	i := off >> p.shift
	if i >= uint64(len(p.list)) {
		return 0, false
	}
	return p.list[i] + off&(1<<p.shift-1), true
}

// read and write reach a piece of a queue that does not cross a page.
func (h *hca) read(p *pages, off uint64, b []byte) bool {
	addr, there := p.at(off)
	return there && h.c.bus.Read(addr, b) == nil
}

func (h *hca) write(p *pages, off uint64, b []byte) {
	if addr, there := p.at(off); there {
		_ = h.c.bus.Write(addr, b) // a driver that gave no memory sees nothing, as on hardware
	}
}

// eq is an event queue.
type eq struct {
	pages
	log    uint8
	vector uint32
	types  uint64 // that come here, by bits
	next   uint32 // event to be written
	armed  bool
}

// Offsets in the contexts of event and completion queues.
const (
	queueOffset, queueLog, queuePage = 0x0a, 0x0c, 0x18
	eqVector                         = 0x16
	eqTypes                          = 0x58 // in the command
	cqSize, cqEvents                 = 0x01, 0x14
	contextAt                        = 0x10  // where in a command a context begins
	listAt                           = 0x110 // where its list of pages begins
)

// logQueue bounds every queue, in entries.
const logQueue = 22

// queuePages reads the buffer of an event or completion queue with entries of a size.
func queuePages(r *request, size uint64) pages {
	c := r.in[contextAt:]
	return pagesOf(r.tail(listAt), c[queuePage], uint64(be.Uint16(c[queueOffset:])>>6&0x3f), size<<(c[queueLog]&0x1f))
}

func (h *hca) createEQ(r *request) byte {
	c := r.in[contextAt:]
	log := c[queueLog] & 0x1f
	if log > logQueue {
		return badParam
	}
	q := &eq{pages: queuePages(r, entryBytes), log: log, vector: uint32(be.Uint16(c[eqVector:]) & 0xfff),
		types: be.Uint64(r.in[eqTypes:])}
	return h.eqs.make(r, func(uint32) *eq { return q })
}

func (h *hca) destroyEQ(r *request) byte {
	be.PutUint32(r.in[8:], uint32(r.in[11]))
	return h.eqs.drop(r)
}

// routed reports whether a queue takes events of a type.
func (h *hca) routed(kind byte) bool {
	for _, q := range h.eqs.all {
		if q.types>>kind&1 != 0 {
			return true
		}
	}
	return false
}

// async writes an event to the queues that take its type.
func (h *hca) async(e event) {
	for _, q := range h.eqs.all {
		if q.types>>e[1]&1 != 0 {
			h.event(q, e)
		}
	}
}

// event writes an event, and interrupts once if the queue is armed. The owner bit changes
// at each turn of the queue.
func (h *hca) event(q *eq, e event) {
	e[63] = byte(q.next >> q.log & 1)
	h.write(&q.pages, uint64(q.next&(1<<q.log-1))*entryBytes, e[:])
	q.next++
	if q.armed {
		q.armed = false
		h.c.bus.Interrupt(q.vector)
	}
}

func (h *hca) portEvent(kind byte) {
	e := event{1: eventPort, 3: kind}
	e[0x28] = 1 << 4 // the port
	h.async(e)
}

// queueEvent tells something of a queue pair.
func (h *hca) queueEvent(kind byte, number uint32) {
	e := event{1: kind}
	be.PutUint32(e[0x38:], number)
	h.async(e)
}

// cq is a completion queue.
type cq struct {
	pages
	number uint32
	log    uint8
	size   uint64 // bytes of an entry; the last 64 of them are the completion
	eq     uint32
	next   uint32
	armed  arming
}

// arming is what a completion queue waits for.
type arming int

const (
	unarmed arming = iota
	armedSolicited
	armedAny
)

func (h *hca) createCQ(r *request) byte {
	c := r.in[contextAt:]
	log := c[queueLog] & 0x1f
	if log > logQueue {
		return badParam
	}
	size := entrySizeOf(c)
	q := &cq{pages: queuePages(r, size), log: log, size: size, eq: be.Uint32(c[cqEvents:]) & 0xff}
	return h.cqs.make(r, func(n uint32) *cq {
		q.number = n
		return q
	})
}

// entrySizeOf is 64, or 128 where the context says so.
func entrySizeOf(context []byte) uint64 { return entryBytes << (context[cqSize] >> 5 & 1) }

// modifyCQ moves a queue to another buffer, or sets its moderation, which nothing here has.
func (h *hca) modifyCQ(r *request) byte {
	const resize = 1
	q, c := h.cqs.at(r.object()), r.in[contextAt:]
	log := c[queueLog] & 0x1f
	switch {
	case q == nil:
		return badResource
	case r.opMod != resize:
		return ok
	case log > logQueue:
		return badParam
	}
	size := entrySizeOf(c)
	buffer := queuePages(r, size)
	if !h.lists.swap(q.listed(), buffer.listed()) {
		return limitReached
	}
	// The last entry of the old buffer tells the driver to go on in the new one.
	h.complete(q.number, completion{63: cqeResize << 4}, false)
	q.pages, q.log, q.size = buffer, log, size
	return ok
}

// complete writes a completion.
func (h *hca) complete(number uint32, e completion, solicited bool) {
	q := h.cqs.at(number)
	if q == nil {
		return
	}
	e[63] = e[63]&^1 | byte(q.next>>q.log&1)
	h.write(&q.pages, uint64(q.next&(1<<q.log-1))*q.size+q.size-entryBytes, e[:])
	q.next++
	if q.armed == armedAny || q.armed == armedSolicited && solicited {
		h.completionEvent(q)
	}
}

func (h *hca) completionEvent(q *cq) {
	q.armed = unarmed
	e := event{1: eventCompletion}
	be.PutUint32(e[0x38:], q.number)
	if to := h.eqs.at(q.eq); to != nil {
		h.event(to, e)
	}
}

// Offsets in a page of doorbells.
const (
	bellArmCQ   = 0x20
	bellArmEQ   = 0x40
	bellSend    = 0x800
	bellSpacing = 0x100 // of the registers for sends, which take a request inline, too
)

// doorbell is a write to a page of doorbells.
func (h *hca) doorbell(off uint64, p []byte) {
	switch at := off % pageSize; {
	case at == bellArmEQ && len(p) == 4:
		v := be.Uint32(p)
		h.armEQ(h.eqs.at(v>>24), v&0xffffff)
	case at == bellArmCQ && len(p) == 8:
		h.armCQ(be.Uint32(p), number(p, 4))
	case at >= bellSend && at%bellSpacing == 0 && len(p) >= 8:
		h.ring(be.Uint32(p[4:]) >> 8)
	}
}

// ring works through the send queue that a doorbell names.
func (h *hca) ring(name uint32) {
	if q := h.qps.at(name); q != nil {
		q.Ring()
	} else if s := h.sqs.at(name); s != nil {
		h.sendsRaw(s)
	}
}

// armEQ asks for an interrupt at the next event. One that the driver has not seen yet makes
// it at once.
func (h *hca) armEQ(q *eq, seen uint32) {
	if q == nil {
		return
	}
	q.armed = q.next&0xffffff == seen
	if !q.armed {
		h.c.bus.Interrupt(q.vector)
	}
}

// armCQ asks for an event at the next completion, as armEQ does.
func (h *hca) armCQ(v, name uint32) {
	q := h.cqs.at(name)
	if q == nil {
		return
	}
	q.armed = armedAny
	if v>>24&1 != 0 {
		q.armed = armedSolicited
	}
	if q.next&0xffffff != v&0xffffff {
		h.completionEvent(q)
	}
}
