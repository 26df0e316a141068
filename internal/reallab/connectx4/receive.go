//go:build linux

package connectx4

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// receiveQueue is a ring of receive work requests, or with links a list in which each
// names the next.
type receiveQueue struct {
	pages
	number  uint32
	entries uint32
	stride  uint8 // log2 of the bytes of a request
	record  uint64
	tail    uint32
	linked  bool
	next    uint32 // of a list
	cq      uint32 // of a raw queue
	ready   bool   // a raw queue takes packets
}

// invalidKey ends the pieces of a receive request.
const invalidKey = 0x100

// posted is how many requests wait.
func (h *hca) posted(q *receiveQueue) uint32 {
	var record [4]byte
	if h.c.bus.Read(q.record, record[:]) != nil {
		return 0
	}
	n := uint32(uint16(be.Uint32(record[:])) - uint16(q.tail))
	if n > q.entries {
		return 0
	}
	return n
}

// take takes the next receive request; nil if there is none.
func (h *hca) take(q *receiveQueue) *transport.Receive {
	if h.posted(q) == 0 {
		return nil
	}
	index, w := q.tail, make([]byte, 1<<q.stride)
	if q.linked {
		index = q.next
	}
	if !h.read(&q.pages, uint64(index&(q.entries-1))<<q.stride, w) {
		return nil
	}
	if q.linked {
		q.next = uint32(be.Uint16(w[2:]))
		w = w[pieceBytes:]
	}
	q.tail++
	return &transport.Receive{Index: index, Pieces: receivePieces(w)}
}

func receivePieces(w []byte) (all []transport.Piece) {
	for ; len(w) >= pieceBytes; w = w[pieceBytes:] {
		p := pieceOf(w)
		if p.Key == invalidKey || p.Size == 0 {
			break
		}
		all = append(all, p)
	}
	return all
}

// NextReceive implements transport.Rings.
func (q *qp) NextReceive() *transport.Receive {
	if q.receive == nil {
		return nil
	}
	return q.h.take(q.receive)
}

// Received implements transport.Rings.
func (q *qp) Received(r *transport.Receive, a transport.Arrival) {
	e, solicited := completionOf(cqeRecvError, q.Number, r.Index), true
	e[cqeSyndrome] = byte(a.Status)
	if a.Status == transport.Success {
		e, solicited = arrival(q.Number, r.Index, a.Size, a.Packet), a.Packet.Solicited
	}
	if a.Write {
		e[cqeOperation] = cqeWrittenImm << 4
	}
	if q.Shared {
		// Programs find the queue by its number; the kernel knows it.
		be.PutUint32(e[cqeShared:], q.receive.number)
	}
	q.h.complete(q.recvCQ, e, solicited)
}

// arrival is the completion of a message of a size, whose last packet is k.
func arrival(name, index uint32, size int, k *wire.Packet) completion {
	e := completionOf(cqeReceived, name, index)
	source := uint32(k.SL)<<24 | k.SrcQP&lastNumber
	if k.GRH != nil {
		source |= 1 << 28
	}
	be.PutUint16(e[cqeSLID:], k.SLID)
	be.PutUint32(e[cqeSource:], source)
	be.PutUint32(e[cqeImmediate:], uint32(k.PKey))
	if k.Immediate != nil {
		be.PutUint32(e[cqeImmediate:], *k.Immediate)
		e[cqeOperation] = cqeReceivedImm << 4
	}
	be.PutUint32(e[cqeBytes:], uint32(size))
	return e
}

// LastWQEReached implements transport.Rings.
func (q *qp) LastWQEReached() { q.h.queueEvent(eventLastRequest, q.Number) }

// createShared makes a shared receive queue, which to this interface is a receive memory
// pool.
func (h *hca) createShared(r *request) byte {
	q, status := rawReceive(r)
	if status != ok {
		return status
	}
	return h.shared.make(r, func(n uint32) *receiveQueue {
		q.number = n
		return q
	})
}
