package transport

import (
	"bytes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Syndromes of acknowledgements (9.7.5.2.1): the kind in bits 6:5, the reason below.
const (
	ackPositive = 0x1f // with no credit counted
	nakRNR      = 0x20
	nakSequence = 0x60
	nakInvalid  = 0x61
	nakAccess   = 0x62
	kindOfAck   = 0x60
	kindRNR     = 0x20
)

// responder is the state of the end of a connection that answers.
type responder struct {
	expected uint32   // sequence number of the next packet
	into     *Receive // the request of a message under way
	address  uint64   // of a write under way
	key      uint32
	nakSent  bool // a gap was told; packets until the missing one say nothing new
}

// receiveConnected takes a packet of a connection.
func (q *QueuePair) receiveConnected(k *wire.Packet) {
	switch {
	case !q.receives():
	case k.Opcode == wire.Acknowledge:
		q.acknowledged(k)
	case k.Opcode >= wire.ReadFirst && k.Opcode <= wire.ReadOnly:
		q.readResponse(k)
	default:
		q.respond(k)
	}
}

// respond does what a packet of the other end asks for.
func (q *QueuePair) respond(k *wire.Packet) {
	switch d := before(k.PSN, q.expected); {
	case d < 0 && k.Opcode == wire.ReadRequest:
		q.readFor(k)
	case d < 0:
		if k.AckRequest {
			q.answer(q.expected-1, ackPositive)
		}
	case d > 0:
		if !q.nakSent {
			q.nakSent = true
			q.answer(q.expected, nakSequence)
		}
	default:
		q.nakSent = false
		q.respondInOrder(k)
	}
}

// respondInOrder takes the packet that was expected.
func (q *QueuePair) respondInOrder(k *wire.Packet) {
	if k.Opcode == wire.ReadRequest {
		if q.readFor(k) {
			q.expected = (q.expected + q.Remote.packets(k.Length)) & psnMask
		}
		return
	}
	if nak := q.accept(k); nak != 0 {
		q.refuse(k.PSN, nak)
		return
	}
	q.expected = (q.expected + 1) & psnMask
	if k.AckRequest {
		q.answer(k.PSN, ackPositive)
	}
}

// answer sends an acknowledgement.
func (q *QueuePair) answer(psn uint32, syndrome uint8) {
	k := q.packet(wire.Acknowledge, psn)
	k.Syndrome = syndrome
	q.toOther(k)
}

// refuse says why a packet was not taken. All but "not ready" end the connection.
func (q *QueuePair) refuse(psn uint32, nak uint8) {
	q.answer(psn, nak)
	if nak == nakRNR {
		// The packets that follow say nothing new. To answer them with a gap would have the
		// other end send all again at once, and for ever.
		q.nakSent = true
		return
	}
	if q.into != nil {
		q.reject(q.into, LocalLength)
		q.into = nil
	}
	q.Fail()
}

// accept takes the packet of a send or a write; 0, or why it cannot.
func (q *QueuePair) accept(k *wire.Packet) (nak uint8) {
	if k.Opcode > wire.WriteOnlyImm {
		return nakInvalid
	}
	write := k.Opcode >= wire.WriteFirst
	if q.into == nil && begins(k.Opcode) || write && k.Immediate != nil {
		if q.into = q.rings.NextReceive(); q.into == nil {
			return nakRNR
		}
	}
	switch {
	case write:
		return q.acceptWrite(k)
	case q.into == nil || !q.scatter(q.into.Pieces, q.into.filled, k.Payload):
		return nakInvalid
	}
	q.into.filled += uint32(len(k.Payload))
	if k.Opcode != wire.SendFirst && k.Opcode != wire.SendMiddle {
		q.arrived(Arrival{Size: int(q.into.filled), Packet: k})
	}
	return 0
}

// begins reports whether a packet is the first of a message that takes a receive request.
func begins(opcode uint8) bool {
	return opcode == wire.SendFirst || opcode == wire.SendOnly || opcode == wire.SendOnlyImm
}

// arrived completes the receive request of a message.
func (q *QueuePair) arrived(a Arrival) {
	q.rings.Received(q.into, a)
	q.into = nil
}

func (q *QueuePair) acceptWrite(k *wire.Packet) uint8 {
	if k.Opcode == wire.WriteFirst || k.Opcode == wire.WriteOnly || k.Opcode == wire.WriteOnlyImm {
		q.address, q.key = k.Address, k.RKey
	}
	if len(k.Payload) > 0 && !q.chip.Copy(q.key, q.address, k.Payload, RemoteWrite) {
		return nakAccess
	}
	q.address += uint64(len(k.Payload))
	if k.Immediate != nil {
		q.arrived(Arrival{Write: true, Size: int(k.Length), Packet: k})
	}
	return 0
}

// readFor sends what the other end wants to read.
func (q *QueuePair) readFor(k *wire.Packet) bool {
	if k.Length > MaxMessage {
		q.refuse(k.PSN, nakInvalid)
		return false
	}
	data := make([]byte, k.Length)
	if k.Length > 0 && !q.chip.Copy(k.RKey, k.Address, data, RemoteRead) {
		q.refuse(k.PSN, nakAccess)
		return false
	}
	// A packet that waits keeps its own bytes only, not those of the whole message.
	q.split(readCodes, k.PSN, data, nil, func(k *wire.Packet, _ bool) { k.Payload = bytes.Clone(k.Payload) })
	return true
}
