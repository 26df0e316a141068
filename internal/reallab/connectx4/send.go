//go:build linux

package connectx4

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"

// Operations of send work requests.
const (
	opNothing, opWrite, opWriteImm, opSend, opSendImm = 0x00, 0x08, 0x09, 0x0a, 0x0b
	opSegments, opRead, opChangeKey                   = 0x0e, 0x10, 0x25
)

// operations are what the transport knows of them.
var operations = map[byte]transport.Operation{opWrite: transport.OpWrite, opWriteImm: transport.OpWriteImmediate,
	opSend: transport.OpSend, opSendImm: transport.OpSendImmediate, opRead: transport.OpRead}

// Flags of send work requests.
const (
	flagSolicited  = 1 << 1
	flagCompleted  = 2 << 2
	completionMask = 3 << 2
)

// Layout of a send work request: blocks of 64 bytes, of pieces of 16. The first piece is
// control; a datagram has an address vector behind it, and an RDMA request an address.
const (
	blockBytes, pieceBytes            = 64, 16
	maxBlocks                         = 16
	vectorAt, vectorEnd               = 16, 64
	rdmaAt, rdmaEnd                   = 16, 32
	wqeOpcode, wqePieces, wqeFlags    = 3, 7, 11
	wqeImmediate                      = 12
	inlineData                        = 1 << 31
	maxInlineData                     = 0x3ff
	recordSend                        = 4 // in a doorbell record, behind that of the receive queue
	vectorQKey, vectorDest, vectorHop = 0, 8, 27
)

// sendQueue is a ring of send work requests.
type sendQueue struct {
	pages
	offset  uint64
	entries uint32 // blocks
	record  uint64
	head    uint32
	cq      uint32
}

// postedSends is how many blocks wait.
func (h *hca) postedSends(q *sendQueue) uint32 {
	var record [4]byte
	if q.entries == 0 || h.c.bus.Read(q.record+recordSend, record[:]) != nil {
		return 0
	}
	n := uint32(uint16(be.Uint32(record[:])) - uint16(q.head))
	if n > q.entries {
		return 0
	}
	return n
}

// fetch takes the work request at the head. One that is not in memory, or longer than
// what was posted, comes back short.
func (h *hca) fetch(q *sendQueue) (w []byte) {
	posted := h.postedSends(q)
	if posted == 0 {
		return nil
	}
	w = make([]byte, blockBytes, maxBlocks*blockBytes)
	if !h.read(&q.pages, q.offset+uint64(q.head&(q.entries-1))*blockBytes, w) {
		q.head++
		return w[:0]
	}
	size := max(1, int(w[wqePieces]&0x3f)) * pieceBytes
	blocks := (uint32(size) + blockBytes - 1) / blockBytes
	if blocks > posted {
		q.head += posted
		return w[:0]
	}
	for i := uint32(1); i < blocks; i++ {
		w = w[:len(w)+blockBytes]
		if !h.read(&q.pages, q.offset+uint64((q.head+i)&(q.entries-1))*blockBytes, w[len(w)-blockBytes:]) {
			q.head += blocks
			return w[:0]
		}
	}
	q.head += blocks
	return w[:size]
}

// NextSend implements transport.Rings. What does not go to the wire is done here.
func (q *qp) NextSend() *transport.Send {
	index := q.send.head
	w := q.h.fetch(&q.send)
	switch {
	case w == nil:
		return nil
	case len(w) < pieceBytes:
		return &transport.Send{Index: index, Malformed: transport.LocalProtection}
	case q.State == transport.Error:
		return q.sendOf(w, index)
	}
	local := &transport.Send{Index: index, Opcode: w[wqeOpcode], Local: true,
		Signalled: w[wqeFlags]&completionMask == flagCompleted}
	switch w[wqeOpcode] {
	case opNothing:
		return local
	case opChangeKey:
		if !q.h.register(w, be.Uint32(w[wqeImmediate:])) {
			return &transport.Send{Index: index, Opcode: opChangeKey, Malformed: transport.LocalOperation}
		}
		return local
	}
	return q.sendOf(w, index)
}

// sendOf reads a send request.
func (q *qp) sendOf(w []byte, index uint32) *transport.Send {
	s := &transport.Send{Index: index, Opcode: w[wqeOpcode], Immediate: be.Uint32(w[wqeImmediate:]),
		Signalled: w[wqeFlags]&completionMask == flagCompleted, Solicited: w[wqeFlags]&flagSolicited != 0}
	op, there := operations[s.Opcode]
	if !there {
		s.Malformed = transport.LocalOperation
		return s
	}
	s.Operation = op
	at := pieceBytes
	switch {
	case q.Service != transport.Reliable:
		if at = vectorEnd; len(w) >= at {
			address(s, w[vectorAt:vectorEnd])
		}
	case op == transport.OpWrite || op == transport.OpWriteImmediate || op == transport.OpRead:
		if at = rdmaEnd; len(w) >= at {
			s.Address, s.RKey = be.Uint64(w[rdmaAt:]), be.Uint32(w[rdmaAt+8:])
		}
	}
	if len(w) < at {
		s.Malformed = transport.LocalLength
		return s
	}
	if s.Pieces, there = sendPieces(w[at:]); !there {
		s.Malformed = transport.LocalProtection
	}
	return s
}

// address reads the address vector of a datagram (struct mlx5_av).
func address(s *transport.Send, a []byte) {
	s.QKey, s.RemoteQP = be.Uint32(a[vectorQKey:]), number(a, vectorDest)
	s.Path = transport.Path{SL: a[12] & 0xf, PathBits: a[13] & 0x7f, DLID: be.Uint16(a[14:])}
	if v := be.Uint32(a[28:]); v>>30 != 0 {
		s.Path.Global = &transport.GlobalRoute{TrafficClass: a[26], HopLimit: a[vectorHop], FlowLabel: v & 0xfffff,
			GID: [16]byte(a[32:])}
	}
}

// sendPieces reads the data segments of a send request.
func sendPieces(w []byte) (all []transport.Piece, there bool) {
	for len(w) >= pieceBytes {
		n := be.Uint32(w)
		if n&inlineData == 0 {
			all = append(all, pieceOf(w))
			w = w[pieceBytes:]
			continue
		}
		end := 4 + int(n&maxInlineData)
		if end > len(w) {
			return nil, false
		}
		all = append(all, transport.Piece{Inline: w[4:end]})
		w = w[min(len(w), (end+pieceBytes-1)&^(pieceBytes-1)):]
	}
	return all, true
}

// pieceOf reads a piece of memory.
func pieceOf(b []byte) transport.Piece {
	return transport.Piece{Size: be.Uint32(b) & 0x7fffffff, Key: be.Uint32(b[4:]), Addr: be.Uint64(b[8:])}
}

// Operations of completions, in the upper half of their last byte.
const (
	cqeSent        = 0x0
	cqeWrittenImm  = 0x1
	cqeReceived    = 0x2
	cqeReceivedImm = 0x3
	cqeResize      = 0x5
	cqeSendError   = 0xd
	cqeRecvError   = 0xe
)

// Offsets in a completion.
const (
	cqeChecksum, cqeSLID, cqeSource, cqeShared, cqeImmediate = 0x14, 0x16, 0x18, 0x20, 0x24
	cqeBytes, cqeSyndrome, cqeNumber, cqeIndex, cqeOperation = 0x2c, 0x37, 0x38, 0x3c, 0x3f
)

// completionOf begins the completion of a work request.
func completionOf(operation byte, name, index uint32) completion {
	e := completion{cqeOperation: operation << 4}
	be.PutUint32(e[cqeNumber:], name)
	be.PutUint16(e[cqeIndex:], uint16(index))
	return e
}

// Sent implements transport.Rings.
func (q *qp) Sent(w *transport.Send, s transport.Status) {
	q.h.sent(&q.send, q.Number, w.Index, w.Opcode, w.Length, s)
}

// sent completes a send request of a queue.
func (h *hca) sent(q *sendQueue, name, index uint32, opcode byte, size uint32, s transport.Status) {
	e := completionOf(cqeSent, uint32(opcode)<<24|name, index)
	be.PutUint32(e[cqeBytes:], size)
	if s != transport.Success {
		e[cqeSyndrome], e[cqeOperation] = byte(s), cqeSendError<<4
	}
	h.complete(q.cq, e, s != transport.Success)
}
