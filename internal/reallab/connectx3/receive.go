//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// Operations that a receive completion names.
const (
	gotWriteImm, gotSend, gotSendImm = 0, 1, 2
)

// slot is a receive work request that a message goes into.
type slot struct {
	index  uint32
	pieces []piece
	filled uint32
}

// posted is how many receive requests wait.
func (h *hca) posted(q *qp) uint32 {
	var record [4]byte
	if q.receiving.entries == 0 || h.c.bus.Read(q.record, record[:]) != nil {
		return 0
	}
	n := uint32(uint16(be.Uint32(record[:])) - uint16(q.tail))
	if n > q.receiving.entries {
		return 0
	}
	return n
}

// takeSlot takes the next receive request; nil if there is none.
func (h *hca) takeSlot(q *qp) *slot {
	if q.srq != nil {
		return h.takeShared(q.srq)
	}
	if h.posted(q) == 0 {
		return nil
	}
	m := make([]byte, 1<<q.receiving.stride)
	if !h.readBuffer(q.buffer, q.receiving.at(q.tail), m) {
		return nil
	}
	s := &slot{index: q.tail, pieces: piecesOf(m)}
	q.tail++
	return s
}

// piecesOf reads the pieces of a receive request. One without a key ends them.
func piecesOf(m []byte) (all []piece) {
	for ; len(m) >= 16; m = m[16:] {
		p := piece{size: be.Uint32(m) & 0x7fffffff, key: be.Uint32(m[4:]), addr: be.Uint64(m[8:])}
		if p.size == 0 || p.key == reservedKey && p.addr == 0 {
			break
		}
		all = append(all, p)
	}
	return all
}

// scatter puts data behind what pieces hold already; false if there is no room, or no
// memory.
func (h *hca) scatter(pieces []piece, filled uint32, data []byte) bool {
	for _, p := range pieces {
		if filled >= p.size {
			filled -= p.size
			continue
		}
		n := min(int(p.size-filled), len(data))
		if n > 0 && !h.move(p.key, p.addr+uint64(filled), data[:n], true) {
			return false
		}
		data, filled = data[n:], 0
		if len(data) == 0 {
			return true
		}
	}
	return len(data) == 0
}

// receive puts a datagram into a receive queue. Without a request that waits, or without
// room, it is lost.
func (h *hca) receive(q *qp, k *wire.Packet) {
	if q.state < stateRTR || q.state > stateSQD {
		return
	}
	s := h.takeSlot(q)
	if s == nil {
		h.c.logf("queue pair %#x has no receive request", q.number)
		return
	}
	data := make([]byte, 40, 40+len(k.Payload))
	copy(data, k.GRH)
	data = append(data, k.Payload...)
	if !h.scatter(s.pieces, 0, data) {
		h.failed(q, s.index, synLength, false)
		return
	}
	e := h.arrival(q, s, len(data), k.Immediate, gotSend)
	be.PutUint32(e[8:], k.SrcQP)
	if k.GRH != nil {
		e[8] |= 0x80
	}
	be.PutUint16(e[12:], uint16(k.SL)<<12)
	be.PutUint16(e[14:], k.SLID)
	h.complete(q.recvCQ, e, k.Solicited)
}

// arrival is the completion of a receive request.
func (h *hca) arrival(q *qp, s *slot, size int, immediate *uint32, op byte) (e [entrySize]byte) {
	be.PutUint32(e[0:], q.number)
	e[31] = op
	if immediate != nil {
		be.PutUint32(e[4:], *immediate)
		if op == gotSend {
			e[31] = gotSendImm
		}
	}
	be.PutUint32(e[20:], uint32(size))
	be.PutUint16(e[24:], uint16(s.index))
	return e
}

// srq is a shared receive queue: its requests are a list, each naming the next.
type srq struct {
	buffer
	entries uint32
	stride  uint8
	record  uint64
	next    uint32
	taken   uint16
}

func (h *hca) setSRQ(r request) int {
	b := h.box(r.in, 64)
	if b == nil {
		return badParam
	}
	log := be.Uint32(b) >> 24 & 0xf
	s := &srq{buffer: bufferOf(b[16], b[19], b[20:]), entries: 1 << log, stride: b[4]&7 + 4, record: be.Uint64(b[40:])}
	h.srqs[r.mod&0xffffff] = s
	return ok
}

func (h *hca) dropSRQ(r request) int {
	delete(h.srqs, r.mod&0xffffff)
	return ok
}

func (h *hca) querySRQ(r request) int {
	if h.srqs[r.mod&0xffffff] == nil {
		return badParam
	}
	return h.fill(r.out, make([]byte, 64)) // no limit is armed
}

func (h *hca) takeShared(s *srq) *slot {
	var record [4]byte
	if h.c.bus.Read(s.record, record[:]) != nil {
		return nil
	}
	if n := uint16(be.Uint32(record[:])) - s.taken; n == 0 || uint32(n) > s.entries {
		return nil
	}
	const head = 16
	m := make([]byte, 1<<s.stride)
	if len(m) < head || !h.readBuffer(s.buffer, uint64(s.next&(s.entries-1))<<s.stride, m) {
		return nil
	}
	t := &slot{index: s.next, pieces: piecesOf(m[head:])}
	s.next = uint32(be.Uint16(m[2:]))
	s.taken++
	return t
}
