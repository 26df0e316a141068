//go:build linux

package infinihost3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"

// posted is a work request that a doorbell has told of. A request does not say what it
// does and how long it is: the one before it does, and the doorbell for the first.
type posted struct {
	offset    uint32
	operation uint32
	size      uint32 // in 16 bytes
	batch     uint32
}

// nextSegment is the head of a work request, which tells of the next one.
const nextSegment = 16

// Bits of the second word of the head: how long the next request is, and that it has a
// doorbell of its own.
const ownDoorbell = 1 << 7

// read is a piece of the queues of a queue pair; nil if there is no memory.
func (q *qp) read(offset uint32, size int) []byte {
	b := make([]byte, size)
	if !q.h.Copy(q.key, uint64(offset), b, transport.LocalRead) {
		return nil
	}
	return b
}

// follow lists the requests of a doorbell. Without a count they go to the first that has
// none behind it, or one with its own doorbell.
func (q *qp) follow(first posted, count uint32) (all []posted) {
	p, limit := first, count
	if count == 0 {
		limit = 1 << logQueue
	}
	for range limit {
		all = append(all, p)
		head := q.read(p.offset, nextSegment)
		if head == nil {
			break
		}
		next, after := be.Uint32(head), be.Uint32(head[4:])
		if count == 0 && (after&sizeMask == 0 || after&ownDoorbell != 0) {
			break
		}
		p = posted{next & offsetMask, next & operationMask, after & sizeMask, p.batch}
	}
	return all
}

// sendFrom takes send requests of a doorbell.
func (h *hca) sendFrom(number, offset, operation, size, count uint32) {
	q := h.qps[number]
	if q == nil || q.State < transport.ReadyToSend || size == 0 || len(q.sent) >= 1<<logQueue {
		return
	}
	q.batch++
	q.sent = append(q.sent, q.follow(posted{offset, operation, size, q.batch}, count)...)
	q.Ring()
}

// Operations of send work requests.
const (
	opWrite, opWriteImm, opSend, opSendImm, opRead = 0x08, 0x09, 0x0a, 0x0b, 0x10
)

// operations are what the transport knows of them.
var operations = map[uint32]transport.Operation{opWrite: transport.OpWrite, opWriteImm: transport.OpWriteImmediate,
	opSend: transport.OpSend, opSendImm: transport.OpSendImmediate, opRead: transport.OpRead}

// Flags of send work requests.
const (
	flagSolicited = 1 << 1
	flagCompleted = 1 << 3
	flagPermitted = 1 << 16 // the source LID is the permissive one
)

// NextSend implements transport.Rings.
func (q *qp) NextSend() *transport.Send {
	if len(q.sent) == 0 {
		return nil
	}
	p := q.sent[0]
	q.sent = q.sent[1:]
	w := &transport.Send{Index: p.offset, Opcode: uint8(p.operation), Batch: p.batch}
	op, there := operations[p.operation]
	m := q.read(p.offset, int(p.size)*16)
	switch {
	case !there:
		w.Malformed = transport.LocalOperation
	case len(m) < nextSegment:
		w.Malformed = transport.LocalProtection
	default:
		w.Operation = op
		q.readSend(w, m)
	}
	return w
}

// readSend reads a send request.
func (q *qp) readSend(w *transport.Send, m []byte) {
	flags := be.Uint32(m[8:])
	w.Immediate = be.Uint32(m[12:])
	w.Signalled = q.completeAll || flags&flagCompleted != 0
	w.Solicited = flags&flagSolicited != 0
	w.Permissive = q.Service == transport.Raw && flags&flagPermitted != 0
	at := nextSegment
	switch {
	case q.Service == transport.Datagram:
		at += datagramSegment
	case w.Operation == transport.OpWrite || w.Operation == transport.OpWriteImmediate || w.Operation == transport.OpRead:
		at += remoteSegment
	}
	if len(m) < at {
		w.Malformed = transport.LocalLength
		return
	}
	switch s := m[nextSegment:at]; len(s) {
	case datagramSegment:
		w.RemoteQP, w.QKey = be.Uint32(s[32:])&0xffffff, be.Uint32(s[36:])
		if !q.readAddress(w, s) {
			w.Malformed = transport.LocalProtection
			return
		}
	case remoteSegment:
		w.Address, w.RKey = be.Uint64(s), be.Uint32(s[8:])
	}
	pieces, there := dataSegments(m[at:])
	if w.Pieces = pieces; !there {
		w.Malformed = transport.LocalProtection
	}
}

// Sizes of the segments behind the head, if there is one: of a datagram, and of an RDMA
// request.
const (
	datagramSegment = 48
	remoteSegment   = 16
	vectorSize      = 32
)

// readAddress reads the address vector of a datagram. In Tavor mode it is elsewhere.
func (q *qp) readAddress(w *transport.Send, s []byte) bool {
	av := s[:vectorSize]
	if q.h.c.ownMemory {
		key, addr := be.Uint32(s[4:]), be.Uint64(s[8:])
		av = make([]byte, vectorSize)
		if !q.h.Copy(key, addr, av, transport.LocalRead) {
			return false
		}
	}
	w.Path = pathOf(av)
	w.Path.Port = int(av[0] & 3)
	return true
}

// dataSegments reads the data of a send request.
func dataSegments(m []byte) (all []transport.Piece, ok bool) {
	const inline, segment = 1 << 31, 16
	for len(m) >= segment {
		n := be.Uint32(m)
		if n&inline == 0 {
			all = append(all, transport.Piece{Size: n, Key: be.Uint32(m[4:]), Addr: be.Uint64(m[8:])})
			m = m[segment:]
			continue
		}
		end := 4 + int(n&0x3ff)
		if end > len(m) {
			return nil, false
		}
		all = append(all, transport.Piece{Inline: m[4:end]})
		m = m[min((end+segment-1)&^(segment-1), len(m)):]
	}
	return all, true
}

// Opcodes of completions with an error.
const (
	opcodeSendError    = 0xff
	opcodeReceiveError = 0xfe
)

// Sent implements transport.Rings. In Tavor mode one error stands for a whole batch: the
// driver walks the list itself.
func (q *qp) Sent(w *transport.Send, s transport.Status) {
	if s == transport.Success {
		e := q.entry(w.Index, w.Opcode)
		e[29] = 0x80
		be.PutUint32(e[20:], w.Length)
		q.h.complete(q.sendCQ, e, false)
		return
	}
	if q.h.c.ownMemory && q.failed == w.Batch {
		return
	}
	q.failed = w.Batch
	q.h.complete(q.sendCQ, q.failure(w.Index, opcodeSendError, s), true)
}

// entry begins the completion of a work request.
func (q *qp) entry(offset uint32, opcode byte) (e [entrySize]byte) {
	be.PutUint32(e[0:], q.Number)
	be.PutUint32(e[24:], offset)
	e[28] = opcode
	return e
}

// failure is a completion with an error.
func (q *qp) failure(offset uint32, opcode byte, s transport.Status) [entrySize]byte {
	e := q.entry(offset, opcode)
	e[16] = byte(s)
	return e
}
