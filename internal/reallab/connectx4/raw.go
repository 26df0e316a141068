//go:build linux

package connectx4

import (
	"bytes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Raw queues are those of the accelerated data path: a driver of Ethernet has them, and
// IPoIB borrows them. Their contexts begin at rawAt; offsets count from there.
const (
	rawAt                                     = 0x20
	rawKind, rawState, rawCQ                  = 0x00, 0x01, 0x08
	rawTIS                                    = 0x2c
	wqKind, wqOffset, wqRecord                = 0x30, 0x35, 0x40
	wqStride, wqPage, wqSize                  = 0x51, 0x52, 0x53
	tisQP                                     = 0x28
	tirKind, tirQueue, tirTable               = 0x04, 0x1c, 0x20
	rqtSize, rqtList                          = 0x1a, 0xf0
	maxIndirect                               = 128
	wqLinked, rawReset, rawReady, rawFromPool = 0, 0, 1, 1
	maxStride                                 = 13
	logRaw                                    = 15
	rawKindMask, rawStateShift, wqMask        = 0xf, 4, 0x1f
)

// rawReceive reads the queue of a raw receive queue or of a memory pool.
func rawReceive(r *request) (*receiveQueue, byte) {
	c := r.in[rawAt:]
	q := &receiveQueue{record: be.Uint64(c[wqRecord:]),
		entries: 1 << (c[wqSize] & wqMask), stride: c[wqStride] & 0xf, linked: c[wqKind]>>4 == wqLinked, cq: number(c, rawCQ)}
	if q.entries > 1<<logRaw || q.stride > maxStride || q.stride < 4 || q.linked && q.stride < 5 {
		return nil, badParam
	}
	q.pages = pagesOf(r.tail(listAt), c[wqPage], uint64(c[wqOffset]&wqMask), uint64(q.entries)<<q.stride)
	return q, ok
}

// createRQ makes a raw receive queue. One that takes its requests from a pool is not
// served: no driver here makes one.
func (h *hca) createRQ(r *request) byte {
	if r.in[rawAt+rawKind]&rawKindMask == rawFromPool {
		return badParam
	}
	q, status := rawReceive(r)
	if status != ok {
		return status
	}
	return h.rqs.make(r, func(n uint32) *receiveQueue {
		q.number = n
		return q
	})
}

// modifyRQ takes a raw receive queue to another state. In Reset it is empty.
func (h *hca) modifyRQ(r *request) byte {
	q := h.rqs.at(r.object())
	if q == nil {
		return badResource
	}
	state := r.in[rawAt+rawState] >> rawStateShift
	q.ready = state == rawReady
	if state == rawReset {
		q.tail = 0
	}
	return ok
}

// rawSender is a raw send queue.
type rawSender struct {
	sendQueue
	number uint32
	tis    uint32
	ready  bool
	waits  bool // its next portion has been asked for
}

func (h *hca) createSQ(r *request) byte {
	c := r.in[rawAt:]
	s := &rawSender{tis: number(c, rawTIS), sendQueue: sendQueue{record: be.Uint64(c[wqRecord:]),
		entries: 1 << (c[wqSize] & wqMask), cq: number(c, rawCQ)}}
	if s.entries > 1<<logRaw {
		return badParam
	}
	s.pages = pagesOf(r.tail(listAt), c[wqPage], uint64(c[wqOffset]&wqMask), uint64(s.entries)*blockBytes)
	return h.sqs.make(r, func(n uint32) *rawSender {
		s.number = n
		return s
	})
}

func (h *hca) modifySQ(r *request) byte {
	s := h.sqs.at(r.object())
	if s == nil {
		return badResource
	}
	state := r.in[rawAt+rawState] >> rawStateShift
	s.ready = state == rawReady
	if state == rawReset {
		s.head = 0
	}
	return ok
}

// maxDatagram is the longest payload of a packet.
const maxDatagram = 4096

// createTIS makes the way out of raw send queues: the queue pair that they send for.
func (h *hca) createTIS(r *request) byte {
	return h.transports.make(r, func(uint32) uint32 { return number(r.in[rawAt:], tisQP) })
}

// receiver is a TIR: where flows end, in a queue or in one of a table of queues.
type receiver struct {
	direct       bool
	queue, table uint32
}

func (h *hca) createTIR(r *request) byte {
	c := r.in[rawAt:]
	return h.receivers.make(r, func(uint32) receiver {
		return receiver{direct: c[tirKind]>>4 == 0, queue: number(c, tirQueue), table: number(c, tirTable)}
	})
}

func queuesOf(r *request) (all []uint32) {
	c := r.in[rawAt:]
	for i := range min(int(be.Uint16(c[rqtSize:])), maxIndirect) {
		all = append(all, number(c, rqtList+4*i))
	}
	return all
}

func (h *hca) createRQT(r *request) byte {
	return h.indirect.make(r, func(uint32) []uint32 { return queuesOf(r) })
}

func (h *hca) modifyRQT(r *request) byte {
	if _, there := h.indirect.all[r.object()]; !there {
		return badResource
	}
	h.indirect.all[r.object()] = queuesOf(r)
	return ok
}

// queueOf is the receive queue that a packet of a flow goes to; nil if there is none.
func (h *hca) queueOf(tir uint32, hash uint32) *receiveQueue {
	t, there := h.receivers.all[tir]
	if !there {
		return nil
	}
	if t.direct {
		return h.rqs.at(t.queue)
	}
	all := h.indirect.at(t.table)
	if len(all) == 0 {
		return nil
	}
	return h.rqs.at(all[hash%uint32(len(all))])
}

// globalBytes is the size of a global route header. Receivers find room for it before each
// datagram, whether there is one or not.
const globalBytes = 40

// steer puts a packet for a queue pair of IPoIB into the raw queue that the flow tables
// name.
func (q *qp) steer(k *wire.Packet) {
	h, f := q.h, headersOf(k)
	tir, found := h.follow(h.roots[q.Number], &f)
	if !found {
		return
	}
	rq := h.queueOf(tir, f.hash())
	if rq == nil || !rq.ready {
		return
	}
	r := h.take(rq)
	if r == nil {
		h.Logf("raw queue %#x has no receive request", rq.number)
		return
	}
	data := make([]byte, globalBytes, globalBytes+len(k.Payload))
	copy(data, k.GRH)
	data = append(data, k.Payload...)
	e := arrival(q.Number, r.Index, len(data), k)
	if !h.scatter(r.Pieces, data) {
		e = completionOf(cqeRecvError, q.Number, r.Index)
		e[cqeSyndrome] = byte(transport.LocalLength)
	} else if len(k.Payload) > encapsulation {
		be.PutUint16(e[cqeChecksum:], fold(sum(0, k.Payload[encapsulation:])))
	}
	h.complete(rq.cq, e, k.Solicited)
}

// scatter puts data into pieces; false if there is no room, or no memory.
func (h *hca) scatter(pieces []transport.Piece, data []byte) bool {
	for _, p := range pieces {
		n := min(int(p.Size), len(data))
		if !h.Copy(p.Key, p.Addr, data[:n], transport.LocalWrite) {
			return false
		}
		if data = data[n:]; len(data) == 0 {
			return true
		}
	}
	return len(data) == 0
}

// gather reads the data of pieces, at most so many bytes; false if there are more, or no
// memory.
func (h *hca) gather(pieces []transport.Piece, most int) (data []byte, all bool) {
	for _, p := range pieces {
		if p.Inline != nil {
			data = append(data, p.Inline...)
			continue
		}
		at := len(data)
		if int(p.Size) > most-at {
			return nil, false
		}
		data = append(data, make([]byte, p.Size)...)
		if !h.Copy(p.Key, p.Addr, data[at:], transport.LocalRead) {
			return nil, false
		}
	}
	return data, len(data) <= most
}

// Layout of a send work request of IPoIB: control, address vector, padding, what to
// calculate, and the begin of the packet inline.
const (
	rawFlags, rawSegment, rawInlineSize, rawInline = 84, 86, 92, 94
	rawData                                        = 96
	inlineInHead                                   = rawData - rawInline
	flagChecksumL3, flagChecksumL4                 = 1 << 6, 1 << 7
)

// rawPortion is how many requests of a raw queue are done before the rest of the lab has
// its turn: each may be two thousand packets.
const rawPortion = 256

// sendsRaw works through a raw send queue, a portion at a time.
func (h *hca) sendsRaw(s *rawSender) {
	for range rawPortion {
		index := s.head
		if !s.ready || h.sqs.at(s.number) != s {
			return
		}
		w := h.fetch(&s.sendQueue)
		if w == nil {
			return
		}
		if len(w) < pieceBytes || !h.performRaw(s, w) {
			h.sent(&s.sendQueue, s.number, index, 0, 0, transport.LocalOperation)
			s.ready = false
			return
		}
		if w[wqeFlags]&completionMask == flagCompleted {
			h.sent(&s.sendQueue, s.number, index, w[wqeOpcode], 0, transport.Success)
		}
	}
	if s.waits {
		return
	}
	s.waits = true
	h.After(0, func() {
		s.waits = false
		h.sendsRaw(s)
	})
}

// performRaw sends the packet, or the packets, of a work request.
func (h *hca) performRaw(s *rawSender, w []byte) bool {
	op := w[wqeOpcode]
	q := h.qps.at(h.transports.at(s.tis))
	switch {
	case op == opNothing:
		return true
	case op != opSend && op != opSegments || q == nil || q.Steer == nil:
		return false
	}
	head, data, all := h.rawPacket(w)
	if !all {
		return false
	}
	packets, l3, l4 := [][]byte{append(bytes.Clone(head), data...)}, w[rawFlags]&flagChecksumL3 != 0, w[rawFlags]&flagChecksumL4 != 0
	if op == opSegments {
		packets, l3, l4 = segments(head, data, int(be.Uint16(w[rawSegment:]))), true, true
		if len(packets) == 0 {
			return false
		}
	}
	to := &transport.Send{}
	address(to, w[vectorAt:vectorEnd])
	for _, p := range packets {
		if len(p) > maxDatagram {
			return false
		}
		calculate(p, l3, l4)
		if q.State == transport.ReadyToSend {
			q.SendDatagram(to, p)
		}
	}
	return true
}

// rawPacket reads the begin of a packet, which is in the work request, and the rest.
func (h *hca) rawPacket(w []byte) (head, data []byte, all bool) {
	if len(w) < rawData {
		return nil, nil, false
	}
	size, rest := int(be.Uint16(w[rawInlineSize:])&maxInlineData), rawData
	if size > inlineInHead {
		rest += (size - inlineInHead + pieceBytes - 1) &^ (pieceBytes - 1)
	}
	if rest > len(w) {
		return nil, nil, false
	}
	pieces, there := sendPieces(w[rest:])
	if !there {
		return nil, nil, false
	}
	data, all = h.gather(pieces, 1<<logSegment)
	return w[rawInline : rawInline+size], data, all
}
