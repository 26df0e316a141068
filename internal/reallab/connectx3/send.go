//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// Operations of send work requests.
const (
	opNop, opWrite, opWriteImm, opSend, opSendImm, opRead = 0x00, 0x08, 0x09, 0x0a, 0x0b, 0x10
)

// Flags of send work requests.
const (
	flagLoop      = 1 << 0
	flagSolicited = 1 << 1
	flagCompleted = 3 << 2
	flagPermitted = 1 << 16 // the source LID is the permissive one
)

// maxMessage is the longest message, in bytes.
const maxMessage = 1 << logMessage

// work is a send work request.
type work struct {
	index     uint32
	op, flags uint32
	immediate uint32
	av        []byte // of a datagram
	dest      uint32
	qkey      uint32
	address   uint64 // of an RDMA request
	rkey      uint32
	pieces    []piece
	data      []byte
	length    uint32
}

// piece is a piece of memory of a work request.
type piece struct {
	key  uint32
	addr uint64
	size uint32
}

// owned reports whether the next send request belongs to the hardware: its owner bit
// changes at each turn of the queue.
func (h *hca) owned(q *qp) bool {
	var head [4]byte
	if q.sending.entries == 0 || !h.readBuffer(q.buffer, q.sending.at(q.head), head[:]) {
		return false
	}
	v := be.Uint32(head[:])
	return v>>31 == q.head/q.sending.entries&1 && v != 0xffffffff
}

// send works through the send queue.
func (h *hca) send(q *qp) {
	if q.state == stateError {
		h.flushSends(q)
		return
	}
	for q.state == stateRTS && q.rc.room() && h.owned(q) {
		w, syndrome := h.next(q)
		if w.op == opNop {
			q.head++
			continue
		}
		switch {
		case syndrome != 0:
			h.failed(q, q.head, syndrome, true)
			q.head++
			h.fail(q)
			return
		case q.service == serviceRC:
			q.head++
			h.request(q, w)
			continue
		case q.service == serviceMLX:
			h.sendRaw(q, w)
		case q.service == serviceUD:
			h.sendDatagram(q, w)
		}
		if w.flags&flagCompleted == flagCompleted {
			h.sent(q, w)
		}
		q.head++
	}
}

// sent completes a send request.
func (h *hca) sent(q *qp, w *work) {
	var e [entrySize]byte
	be.PutUint32(e[0:], q.number)
	be.PutUint32(e[20:], w.length)
	be.PutUint16(e[24:], uint16(w.index))
	e[31] = 0x40 | byte(w.op)
	h.complete(q.sendCQ, e, false)
}

// next reads the send request at the head, with its data; the syndrome is 0 if that went
// well.
func (h *hca) next(q *qp) (*work, byte) {
	m := make([]byte, 1<<q.sending.stride)
	if !h.readBuffer(q.buffer, q.sending.at(q.head), m) || len(m) < 16 {
		return &work{}, synProtection
	}
	w := &work{index: q.head, op: be.Uint32(m) & 0x1f, flags: be.Uint32(m[8:]), immediate: be.Uint32(m[12:])}
	if w.op == opNop {
		return w, 0
	}
	at, size := 16, min(int(m[7]&0x3f)*16, len(m))
	switch {
	case q.service == serviceUD && size >= 64:
		w.av, w.dest, w.qkey = m[16:48], be.Uint32(m[48:])&0xffffff, be.Uint32(m[52:])
		at = 64
	case q.service == serviceUD:
		return w, synLength
	case w.op == opWrite || w.op == opWriteImm || w.op == opRead:
		if size < 32 {
			return w, synLength
		}
		w.address, w.rkey = be.Uint64(m[16:]), be.Uint32(m[24:])
		at = 32
	}
	if !w.gather(h, m[:size], at) {
		return w, synProtection
	}
	return w, 0
}

// gather reads the data of a request. That of a read is what comes back.
func (w *work) gather(h *hca, m []byte, at int) bool {
	const inline = 1 << 31
	for at+16 <= len(m) {
		n := be.Uint32(m[at:])
		if n&inline != 0 {
			end := at + 4 + int(n&0x3ff)
			if end > len(m) {
				return false
			}
			w.data = append(w.data, m[at+4:end]...)
			at = (end + 15) &^ 15
			continue
		}
		p := piece{size: n, key: be.Uint32(m[at+4:]), addr: be.Uint64(m[at+8:])}
		if w.length += p.size; w.length > maxMessage || p.size > maxMessage {
			return false
		}
		w.pieces = append(w.pieces, p)
		if w.op != opRead {
			b := make([]byte, p.size)
			if !h.move(p.key, p.addr, b, false) {
				return false
			}
			w.data = append(w.data, b...)
		}
		at += 16
	}
	if w.op != opRead {
		w.length = uint32(len(w.data))
	}
	return true
}

// sendRaw sends a request whose headers the driver has written: management.
func (h *hca) sendRaw(q *qp, w *work) {
	const local, base, datagram, checksum = 8, 12, 8, 4
	d := w.data
	p := h.portAt(q.port)
	if len(d) < local+base+datagram+checksum || p == nil {
		return
	}
	k := &wire.Packet{SL: d[1] >> 4, DLID: be.Uint16(d[2:]), SLID: p.LID() | be.Uint16(d[6:])&0x7f}
	if w.flags&flagPermitted != 0 {
		k.SLID = wire.Permissive
	}
	global := d[1]&3 == 3
	d = d[local:]
	if global {
		if len(d) < 40+base+datagram+checksum {
			return
		}
		k.GRH, d = d[:40], d[40:]
	}
	k.Opcode, k.Solicited, k.PKey = d[0], d[1]&0x80 != 0, be.Uint16(d[2:])
	k.DestQP, k.QKey, k.SrcQP = be.Uint32(d[4:])&0xffffff, be.Uint32(d[12:]), be.Uint32(d[16:])&0xffffff
	d = d[base+datagram:]
	if k.Opcode == wire.UDSendImm && len(d) >= 8 {
		v := be.Uint32(d)
		k.Immediate, d = &v, d[4:]
	}
	k.Payload = d[:len(d)-checksum]
	if w.flags&flagLoop != 0 {
		p.Loop(k)
		return
	}
	p.Send(k)
}

// sendDatagram sends an unreliable datagram.
func (h *hca) sendDatagram(q *qp, w *work) {
	n := int(w.av[0] & 3)
	if h.portAt(n) == nil {
		n = q.port
	}
	p := h.portAt(n)
	if p.State() != 4 {
		return // only an active port carries data
	}
	k := &wire.Packet{SL: w.av[12] >> 4, DLID: be.Uint16(w.av[6:]), SLID: p.LID() | uint16(w.av[5]&0x7f),
		DestQP: w.dest, QKey: w.qkey, SrcQP: q.number, PKey: p.PKey(q.pkeyIndex()), Payload: w.data, Opcode: wire.UDSend,
		Solicited: w.flags&flagSolicited != 0}
	if w.qkey>>31 != 0 {
		k.QKey = q.qkey // a privileged one stands for that of the queue pair
	}
	if w.op == opSendImm {
		k.Opcode, k.Immediate = wire.UDSendImm, &w.immediate
	}
	if w.av[5]&0x80 != 0 {
		k.GRH = globalHeader(w.av, p.GID(), len(w.data))
	}
	p.Send(k)
}

// globalHeader is the global route header that an address vector asks for.
func globalHeader(av []byte, from [16]byte, size int) []byte {
	g := make([]byte, 40)
	be.PutUint32(g, 6<<28|be.Uint32(av[12:])&0x0fffffff)
	be.PutUint16(g[4:], uint16(size+24))
	g[6], g[7] = 0x1b, av[11]
	copy(g[8:24], from[:])
	copy(g[24:], av[16:32])
	return g
}
