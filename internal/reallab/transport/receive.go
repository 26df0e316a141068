package transport

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Receive is a receive request.
type Receive struct {
	Index  uint32 // whatever the chip's completion needs to name it
	Pieces []Piece
	filled uint32 // bytes of a message under way
}

// Arrival is what came into a receive request.
type Arrival struct {
	Status Status
	Write  bool // an RDMA write with immediate data, whose bytes are elsewhere
	Size   int
	// Packet is the last of the message. A datagram's has source, SL and global header.
	Packet *wire.Packet
}

// scatter puts data behind what a list of pieces holds already; false if there is no room,
// or no memory.
func (q *QueuePair) scatter(pieces []Piece, filled uint32, data []byte) bool {
	for _, p := range pieces {
		if filled >= p.Size {
			filled -= p.Size
			continue
		}
		n := min(int(p.Size-filled), len(data))
		if n > 0 && !q.chip.Copy(p.Key, p.Addr+uint64(filled), data[:n], LocalWrite) {
			return false
		}
		data, filled = data[n:], 0
		if len(data) == 0 {
			return true
		}
	}
	return len(data) == 0
}

// receiveDatagram puts a datagram into a receive queue, behind 40 bytes for the global
// header. Without a request that waits, or without room, it is lost.
func (q *QueuePair) receiveDatagram(k *wire.Packet) {
	if !q.receives() {
		return
	}
	if q.Steer != nil {
		q.Steer(k)
		return
	}
	r := q.rings.NextReceive()
	if r == nil {
		q.chip.Logf("queue pair %#x has no receive request", q.Number)
		return
	}
	data := make([]byte, 40, 40+len(k.Payload))
	copy(data, k.GRH)
	data = append(data, k.Payload...)
	if !q.scatter(r.Pieces, 0, data) {
		q.reject(r, LocalLength)
		return
	}
	q.rings.Received(r, Arrival{Size: len(data), Packet: k})
}

// Deliver takes a packet that has come in at a port of a card.
func Deliver(c Chip, port int, k *wire.Packet) {
	p := c.Port(port)
	if k.DLID >= wire.FirstMulticast && k.DLID < wire.Permissive {
		deliverToGroup(c, port, k)
		return
	}
	q := c.Find(port, k.DestQP)
	switch {
	case q == nil || !q.takes(port, k):
	case k.DestQP == 0:
		q.receiveDatagram(k)
	case !p.Admits(k, q.admits()):
	case q.Service == Reliable:
		q.receiveConnected(k)
	case q.QKey != k.QKey:
		p.WrongQKey(k)
	default:
		q.receiveDatagram(k)
	}
}

// takes reports whether a packet is of the queue pair's service, which is in the first three
// bits of its opcode, and has come in at its port.
func (q *QueuePair) takes(port int, k *wire.Packet) bool {
	service := uint8(wire.UDSend)
	if q.Service == Reliable {
		service = wire.SendFirst
	}
	return q.Port == port && k.Opcode>>5 == service>>5
}

// deliverToGroup takes a multicast packet.
func deliverToGroup(c Chip, port int, k *wire.Packet) {
	if len(k.GRH) < 40 {
		return
	}
	c.Members(k.GRH[24:40], func(q *QueuePair) {
		if q.takes(port, k) && q.QKey == k.QKey && c.Port(port).Admits(k, q.admits()) {
			q.receiveDatagram(k)
		}
	})
}

// admits is the index of the P_Key that packets to the queue pair must have.
func (q *QueuePair) admits() int {
	if q.Service == Raw || q.Service == General {
		return fabric.AnyPKey
	}
	return q.PKeyIndex
}
