//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// Operations that a receive completion names.
const (
	gotWriteImm, gotSend, gotSendImm = 0, 1, 2
)

// posted is how many receive requests wait.
func (q *qp) posted() uint32 {
	var record [4]byte
	if q.receiving.entries == 0 || q.h.c.bus.Read(q.record, record[:]) != nil {
		return 0
	}
	n := uint32(uint16(be.Uint32(record[:])) - uint16(q.tail))
	if n > q.receiving.entries {
		return 0
	}
	return n
}

// NextReceive implements transport.Rings.
func (q *qp) NextReceive() *transport.Receive {
	if q.srq != nil {
		return q.srq.next(q.h)
	}
	if q.posted() == 0 {
		return nil
	}
	m := make([]byte, 1<<q.receiving.stride)
	if !q.h.readBuffer(q.buffer, q.receiving.at(q.tail), m) {
		return nil
	}
	r := &transport.Receive{Index: q.tail, Pieces: receivePieces(m)}
	q.tail++
	return r
}

// receivePieces reads the pieces of a receive request. One without a key ends them.
func receivePieces(m []byte) (all []transport.Piece) {
	for ; len(m) >= 16; m = m[16:] {
		p := transport.Piece{Size: be.Uint32(m) & 0x7fffffff, Key: be.Uint32(m[4:]), Addr: be.Uint64(m[8:])}
		if p.Size == 0 || p.Key == reservedKey && p.Addr == 0 {
			break
		}
		all = append(all, p)
	}
	return all
}

// Received implements transport.Rings.
func (q *qp) Received(r *transport.Receive, a transport.Arrival) {
	e := q.entry(r.Index, gotSend)
	if a.Status != transport.Success {
		q.finish(q.recvCQ, e, a.Status, false)
		return
	}
	k := a.Packet
	if k.Immediate != nil {
		be.PutUint32(e[4:], *k.Immediate)
		e[31] = gotSendImm
	}
	if a.Write {
		e[31] = gotWriteImm
	}
	be.PutUint32(e[20:], uint32(a.Size))
	be.PutUint16(e[14:], k.SLID)
	if q.Service != transport.Reliable {
		be.PutUint32(e[8:], k.SrcQP)
		if k.GRH != nil {
			e[8] |= 0x80
		}
		be.PutUint16(e[12:], uint16(k.SL)<<12)
	}
	q.finish(q.recvCQ, e, a.Status, k.Solicited)
}

// LastWQEReached implements transport.Rings.
func (q *qp) LastWQEReached() { q.h.queueEvent(eventLastRequest, q.Number) }

// srq is a shared receive queue: its requests are a list, each naming the next.
type srq struct {
	buffer
	entries uint32
	stride  uint8
	record  uint64
	head    uint32 // index of the next request
	taken   uint16
}

func (h *hca) setSRQ(r hcr.Command) int {
	b := h.box(r.In, 64)
	switch {
	case b == nil:
		return hcr.BadParam
	case len(h.srqs) >= 1<<logSRQs:
		return hcr.BadResource
	}
	log := be.Uint32(b) >> 24 & 0xf
	s := &srq{buffer: bufferOf(b[16], b[19], b[20:]), entries: 1 << log, stride: b[4]&7 + 4, record: be.Uint64(b[40:])}
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

// next takes the next request of a shared receive queue; nil if there is none.
func (s *srq) next(h *hca) *transport.Receive {
	var record [4]byte
	if h.c.bus.Read(s.record, record[:]) != nil {
		return nil
	}
	if n := uint16(be.Uint32(record[:])) - s.taken; n == 0 || uint32(n) > s.entries {
		return nil
	}
	const head = 16
	m := make([]byte, 1<<s.stride)
	if len(m) < head || !h.readBuffer(s.buffer, uint64(s.head&(s.entries-1))<<s.stride, m) {
		return nil
	}
	r := &transport.Receive{Index: s.head, Pieces: receivePieces(m[head:])}
	s.head = uint32(be.Uint16(m[2:]))
	s.taken++
	return r
}
