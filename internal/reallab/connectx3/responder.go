//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// respond does what a packet of the other end asks for.
func (h *hca) respond(q *qp, k *wire.Packet) {
	c := &q.rc
	switch d := before(k.PSN, c.expected); {
	case d < 0 && k.Opcode == wire.ReadRequest:
		h.readFor(q, k)
	case d < 0:
		if k.AckRequest {
			h.answer(q, c.expected-1, ackPositive)
		}
	case d > 0:
		if !c.naked {
			c.naked = true
			h.answer(q, c.expected, nakSequence)
		}
	default:
		c.naked = false
		if k.Opcode == wire.ReadRequest {
			if h.readFor(q, k) {
				c.expected = (c.expected + q.packets(k.Length)) & psnMask
			}
			return
		}
		if nak := h.accept(q, k); nak != 0 {
			h.refuse(q, k.PSN, nak)
			return
		}
		c.expected = (c.expected + 1) & psnMask
		if k.AckRequest {
			h.answer(q, k.PSN, ackPositive)
		}
	}
}

// answer sends an acknowledgement.
func (h *hca) answer(q *qp, psn uint32, syndrome uint8) {
	k := h.packet(q, wire.Acknowledge, psn)
	k.Syndrome = syndrome
	h.toOther(q, k)
}

// refuse says why a packet was not taken. All but "not ready" end the connection.
func (h *hca) refuse(q *qp, psn uint32, nak uint8) {
	h.answer(q, psn, nak)
	if nak == ackNotReady {
		return
	}
	if s := q.rc.into; s != nil {
		h.failed(q, s.index, synLength, false)
		q.rc.into = nil
	}
	h.fail(q)
}

// accept takes the packet of a send or a write; 0, or why it cannot.
func (h *hca) accept(q *qp, k *wire.Packet) (nak uint8) {
	c := &q.rc
	if k.Opcode > wire.WriteOnlyImm {
		return nakInvalid
	}
	write := k.Opcode >= wire.WriteFirst
	if c.into == nil && begins(k.Opcode) || write && k.Immediate != nil {
		if c.into = h.takeSlot(q); c.into == nil {
			return ackNotReady
		}
	}
	switch {
	case write:
		return h.acceptWrite(q, k)
	case c.into == nil || !h.scatter(c.into.pieces, c.into.filled, k.Payload):
		return nakInvalid
	}
	c.into.filled += uint32(len(k.Payload))
	if k.Opcode != wire.SendFirst && k.Opcode != wire.SendMiddle {
		h.complete(q.recvCQ, h.connected(q, k, int(c.into.filled), gotSend), k.Solicited)
		c.into = nil
	}
	return 0
}

// begins reports whether a packet is the first of a message that takes a receive request.
func begins(opcode uint8) bool {
	return opcode == wire.SendFirst || opcode == wire.SendOnly || opcode == wire.SendOnlyImm
}

// connected is the completion of a message of a connection.
func (h *hca) connected(q *qp, k *wire.Packet, size int, op byte) [entrySize]byte {
	e := h.arrival(q, q.rc.into, size, k.Immediate, op)
	be.PutUint16(e[14:], k.SLID)
	q.rc.messages++
	return e
}

func (h *hca) acceptWrite(q *qp, k *wire.Packet) uint8 {
	c := &q.rc
	if k.Opcode == wire.WriteFirst || k.Opcode == wire.WriteOnly || k.Opcode == wire.WriteOnlyImm {
		c.address, c.key = k.Address, k.RKey
	}
	if len(k.Payload) > 0 && (!h.allows(c.key, keyRemoteWrite) || !h.move(c.key, c.address, k.Payload, true)) {
		return nakAccess
	}
	c.address += uint64(len(k.Payload))
	if k.Immediate != nil {
		h.complete(q.recvCQ, h.connected(q, k, int(k.Length), gotWriteImm), k.Solicited)
		c.into = nil
	}
	return 0
}

// readFor sends what the other end wants to read.
func (h *hca) readFor(q *qp, k *wire.Packet) bool {
	if k.Length > maxMessage {
		h.refuse(q, k.PSN, nakInvalid)
		return false
	}
	data := make([]byte, k.Length)
	if k.Length > 0 && (!h.allows(k.RKey, keyRemoteRead) || !h.move(k.RKey, k.Address, data, false)) {
		h.refuse(q, k.PSN, nakAccess)
		return false
	}
	h.split(q, readCodes, k.PSN, data, nil, func(*wire.Packet, bool) {})
	return true
}
