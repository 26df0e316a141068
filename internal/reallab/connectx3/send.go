//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"

// Operations of send work requests.
const (
	opNop, opWrite, opWriteImm, opSend, opSendImm, opRead = 0x00, 0x08, 0x09, 0x0a, 0x0b, 0x10
)

// operations are what the transport knows of them.
var operations = map[byte]transport.Operation{opWrite: transport.OpWrite, opWriteImm: transport.OpWriteImmediate,
	opSend: transport.OpSend, opSendImm: transport.OpSendImmediate, opRead: transport.OpRead}

// Flags of send work requests.
const (
	flagLoop      = 1 << 0
	flagSolicited = 1 << 1
	flagCompleted = 3 << 2
	flagPermitted = 1 << 16 // the source LID is the permissive one
)

// owned reports whether the next send request belongs to the hardware: its owner bit
// changes at each turn of the queue.
func (q *qp) owned() bool {
	var head [4]byte
	if q.sending.entries == 0 || !q.h.readBuffer(q.buffer, q.sending.at(q.head), head[:]) {
		return false
	}
	v := be.Uint32(head[:])
	return v>>31 == q.head/q.sending.entries&1 && v != 0xffffffff
}

// NextSend implements transport.Rings.
func (q *qp) NextSend() *transport.Send {
	if !q.owned() {
		return nil
	}
	m := make([]byte, 1<<q.sending.stride)
	if !q.h.readBuffer(q.buffer, q.sending.at(q.head), m) {
		m = m[:0]
	}
	index := q.head
	q.head++
	switch {
	case len(m) < 16:
		return &transport.Send{Index: index, Malformed: transport.LocalProtection}
	case m[3]&0x1f == opNop:
		return &transport.Send{Index: index, Local: true}
	}
	return q.sendOf(m, index)
}

// sendOf reads a send request.
func (q *qp) sendOf(m []byte, index uint32) *transport.Send {
	flags := be.Uint32(m[8:])
	w := &transport.Send{Index: index, Opcode: m[3] & 0x1f, Immediate: be.Uint32(m[12:]), Signalled: flags&flagCompleted == flagCompleted,
		Solicited: flags&flagSolicited != 0, Loop: flags&flagLoop != 0, Permissive: flags&flagPermitted != 0}
	op, there := operations[w.Opcode]
	if !there {
		w.Malformed = transport.LocalOperation
		return w
	}
	w.Operation = op
	at, size := 16, min(int(m[7]&0x3f)*16, len(m))
	switch {
	case q.Service == transport.Datagram:
		if at = 64; size >= at {
			w.Path, w.RemoteQP, w.QKey = pathOf(m[16:48], m[28]>>4), be.Uint32(m[48:])&0xffffff, be.Uint32(m[52:])
			w.Path.Port = int(m[16] & 3)
		}
	case op == transport.OpWrite || op == transport.OpWriteImmediate || op == transport.OpRead:
		if at = 32; size >= at {
			w.Address, w.RKey = be.Uint64(m[16:]), be.Uint32(m[24:])
		}
	}
	if size < at {
		w.Malformed = transport.LocalLength
		return w
	}
	if w.Pieces, there = sendPieces(m[at:size]); !there {
		w.Malformed = transport.LocalProtection
	}
	return w
}

// sendPieces reads the data segments of a send request.
func sendPieces(m []byte) (all []transport.Piece, ok bool) {
	const inline = 1 << 31
	for len(m) >= 16 {
		n := be.Uint32(m)
		if n&inline == 0 {
			all = append(all, transport.Piece{Size: n, Key: be.Uint32(m[4:]), Addr: be.Uint64(m[8:])})
			m = m[16:]
			continue
		}
		end := 4 + int(n&0x3ff)
		if end > len(m) {
			return nil, false
		}
		all = append(all, transport.Piece{Inline: m[4:end]})
		m = m[min((end+15)&^15, len(m)):]
	}
	return all, true
}

// Sent implements transport.Rings.
func (q *qp) Sent(w *transport.Send, s transport.Status) {
	e := q.entry(w.Index, sentBit|w.Opcode)
	be.PutUint32(e[20:], w.Length)
	q.finish(q.sendCQ, e, s, false)
}

// Marks of a completion: that of a send queue, and the opcode of an error.
const (
	sentBit     = 0x40
	opcodeError = 0x1e
)

// entry begins the completion of a work request.
func (q *qp) entry(index uint32, opcode byte) (e [entrySize]byte) {
	be.PutUint32(e[0:], q.Number)
	be.PutUint16(e[24:], uint16(index))
	e[31] = opcode
	return e
}

// finish writes a completion. One of an error is an event for all who wait.
func (q *qp) finish(cq uint32, e [entrySize]byte, s transport.Status, solicited bool) {
	if s != transport.Success {
		be.PutUint32(e[20:], 0)
		e[27], e[31] = byte(s), e[31]&sentBit|opcodeError
	}
	q.h.complete(cq, e, solicited || s != transport.Success)
}
