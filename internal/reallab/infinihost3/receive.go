//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// receiveFrom takes receive requests of a doorbell, of which there is one in Tavor mode
// alone. One without a size names a shared queue. A count of 0 is 256.
func (h *hca) receiveFrom(number, offset, size, count uint32) {
	if count == 0 {
		count = 256
	}
	if size == 0 {
		if s := h.srqs[number]; s != nil && s.waiting+count <= s.most() {
			if s.waiting == 0 {
				s.head = offset
			}
			s.waiting += count
		}
		return
	}
	q := h.qps[number]
	if q == nil || len(q.received) >= 1<<logQueue {
		return
	}
	q.received = append(q.received, q.follow(posted{offset: offset, size: size}, count)...)
	q.FlushReceives()
}

// NextReceive implements transport.Rings.
func (q *qp) NextReceive() *transport.Receive {
	switch {
	case q.srq != nil:
		return q.srq.next(q.h)
	case q.h.c.ownMemory:
		return q.nextOfList()
	}
	produced, there := q.h.record(q.page, q.recordIndex)
	waiting := uint32(produced - uint16(q.taken))
	if !there || waiting == 0 || waiting > q.receiving.entries {
		return nil
	}
	offset := q.receiving.at(q.taken)
	m := q.read(offset, 1<<q.receiving.stride)
	if m == nil {
		return nil
	}
	q.taken++
	return receiveOf(offset, m)
}

func (q *qp) nextOfList() *transport.Receive {
	if len(q.received) == 0 {
		return nil
	}
	p := q.received[0]
	q.received = q.received[1:]
	return receiveOf(p.offset, q.read(p.offset, int(p.size)*16))
}

// receiveOf reads the pieces of a receive request. One without a key ends them.
func receiveOf(offset uint32, m []byte) *transport.Receive {
	r := &transport.Receive{Index: offset}
	for at := nextSegment; at+16 <= len(m); at += 16 {
		p := transport.Piece{Size: be.Uint32(m[at:]) & 0x7fffffff, Key: be.Uint32(m[at+4:]), Addr: be.Uint64(m[at+8:])}
		if p.Size == 0 || p.Key == endKey {
			break
		}
		r.Pieces = append(r.Pieces, p)
	}
	return r
}

// Received implements transport.Rings.
func (q *qp) Received(r *transport.Receive, a transport.Arrival) {
	if a.Status != transport.Success {
		q.h.complete(q.recvCQ, q.failure(r.Index, opcodeReceiveError, a.Status), true)
		return
	}
	k := a.Packet
	e := q.entry(r.Index, k.Opcode)
	if k.Immediate != nil {
		be.PutUint32(e[16:], *k.Immediate)
	}
	be.PutUint32(e[20:], uint32(a.Size))
	q.putSource(&e, k)
	q.h.complete(q.recvCQ, e, k.Solicited)
}

// putSource writes where a packet came from.
func (q *qp) putSource(e *[entrySize]byte, k *wire.Packet) {
	be.PutUint16(e[14:], k.SLID)
	if q.Service == transport.Reliable {
		return
	}
	be.PutUint32(e[8:], k.SrcQP)
	e[12] = k.SL << 4
	if k.GRH != nil {
		e[13] = 0x80
	}
}

// LastWQEReached implements transport.Rings.
func (q *qp) LastWQEReached() { q.h.async(numbered(eventLastRequest, q.Number)) }

// srq is a shared receive queue: its requests are a list, each naming the next. How many
// wait a doorbell record says, or in Tavor mode doorbells.
type srq struct {
	key         uint32
	stride      uint8 // log2 of the bytes of a request
	entries     uint32
	page, index uint32 // of the doorbell record
	taken       uint16 // of what the record counts
	waiting     uint32 // in Tavor mode
	head        uint32 // offset of the next request
}

// most is how many requests can wait. In Tavor mode the card does not know the size.
func (s *srq) most() uint32 {
	if s.entries == 0 {
		return 1 << logQueue
	}
	return s.entries
}

func (h *hca) setSRQ(r hcr.Command) int {
	b := h.box(r.In, 64)
	if b == nil || len(h.srqs) >= maxQueues {
		return hcr.BadParam
	}
	s := &srq{key: be.Uint32(b[4:]), stride: b[12]>>5 + 4, entries: 1 << (be.Uint32(b) >> 24 & 0xf),
		page: be.Uint32(b[12:]) & 0xffffff, index: be.Uint32(b[8:])}
	if h.c.ownMemory {
		s = &srq{key: be.Uint32(b[12:])}
		for units := b[7] & 0x3f; units > 1; units >>= 1 {
			s.stride++
		}
		s.stride += 4
	}
	h.srqs[r.Index&0xffffff] = s
	return hcr.OK
}

func (h *hca) dropSRQ(r hcr.Command) int {
	delete(h.srqs, r.Index&0xffffff)
	return hcr.OK
}

func (h *hca) querySRQ(r hcr.Command) int {
	if h.srqs[r.Index&0xffffff] == nil {
		return hcr.BadParam
	}
	return h.fill(r.Out, make([]byte, 64)) // no limit is armed
}

// posted is how many requests wait.
func (s *srq) posted(h *hca) uint32 {
	if h.c.ownMemory {
		return s.waiting
	}
	produced, there := h.record(s.page, s.index)
	if n := uint32(produced - s.taken); there && n <= s.entries {
		return n
	}
	return 0
}

// next takes the next request; nil if there is none.
func (s *srq) next(h *hca) *transport.Receive {
	if s.posted(h) == 0 {
		return nil
	}
	m := make([]byte, 1<<s.stride)
	if len(m) < nextSegment || !h.Copy(s.key, uint64(s.head), m, transport.LocalRead) {
		return nil
	}
	r := receiveOf(s.head, m)
	s.head = be.Uint32(m) & offsetMask
	s.taken++
	if s.waiting > 0 {
		s.waiting--
	}
	return r
}
