//go:build linux

package connectx3

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

const psnMask = 0xffffff

// Times of the reliable connection. A guest that a processor emulates is slow: what the
// driver asks for in microseconds would end connections that only wait for it.
const (
	answerTime   = 2 * time.Second
	notReadyTime = 10 * time.Millisecond
)

// inFlight bounds what a queue pair has sent and not seen acknowledged, in bytes.
const inFlight = 1 << 20

// Syndromes of acknowledgements (9.7.5.2.1): the kind in bits 6:5, the reason below.
const (
	ackPositive   = 0x1f // with no credit counted
	ackNotReady   = 0x20
	nakSequence   = 0x60
	nakInvalid    = 0x61
	nakAccess     = 0x62
	nakOperation  = 0x63
	kindOfAck     = 0x60
	kindNotReady  = 0x20
	retryForever  = 7
	smallestMTU   = 256
	logOfSmallest = 1 // as path MTUs are numbered
)

// connection is the state of a reliable connection.
type connection struct {
	// As the one who asks.
	next                uint32 // sequence number of the next packet
	flight              []*asked
	bytes               int
	retries, rnrRetries int
	waiting             int // counts timers, so that only the last one counts
	// As the one who answers.
	expected uint32
	messages uint32
	into     *slot // the receive request of a message under way
	address  uint64
	key      uint32
	naked    bool // a gap was told; packets until the missing one say nothing new
}

// room reports whether more may be sent. It is so for queue pairs without a connection.
func (c *connection) room() bool { return c.bytes < inFlight }

// asked is a request that is not answered yet.
type asked struct {
	*work
	first, last uint32
	got         uint32 // bytes of a read that have come
}

// before compares sequence numbers, which wrap: negative if a comes before b.
func before(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

func (q *qp) mtu() int {
	return smallestMTU << (max(q.context[ctxMTU]>>5, logOfSmallest) - logOfSmallest)
}

// packets is how many packets carry so many bytes.
func (q *qp) packets(size uint32) uint32 { return max(1, (size+uint32(q.mtu())-1)/uint32(q.mtu())) }

// request sends a work request of a connection.
func (h *hca) request(q *qp, w *work) {
	c := &q.rc
	a := &asked{work: w, first: c.next}
	a.last = (a.first + q.packets(w.length) - 1) & psnMask
	c.next = (a.last + 1) & psnMask
	c.flight = append(c.flight, a)
	c.bytes += int(w.length) + 1
	h.transmit(q, a)
	h.watch(q)
}

// packet is one to the other end of a connection.
func (h *hca) packet(q *qp, opcode uint8, psn uint32) *wire.Packet {
	path, p := q.path(), h.portAt(q.port)
	k := &wire.Packet{SLID: p.LID() | uint16(path[5]&0x7f), DLID: be.Uint16(path[6:]), SL: path[32] >> 2 & 0xf,
		Opcode: opcode, PSN: psn & psnMask, PKey: p.PKey(q.pkeyIndex()), DestQP: be.Uint32(q.context[ctxRemote:]) & 0xffffff}
	if path[5]&0x80 != 0 {
		av := make([]byte, 32)
		copy(av[11:16], path[11:16])
		copy(av[16:], path[16:32])
		k.GRH = globalHeader(av, p.GID(), 0)
	}
	return k
}

func (h *hca) toOther(q *qp, k *wire.Packet) { h.portAt(q.port).Send(k) }

// Opcodes by where in its message a packet stands: first, middle, last, only; and the
// last two with immediate data.
var (
	sendCodes = [6]uint8{wire.SendFirst, wire.SendMiddle, wire.SendLast, wire.SendOnly, wire.SendLastImm,
		wire.SendOnlyImm}
	writeCodes = [6]uint8{wire.WriteFirst, wire.WriteMiddle, wire.WriteLast, wire.WriteOnly, wire.WriteLastImm,
		wire.WriteOnlyImm}
	readCodes = [6]uint8{wire.ReadFirst, wire.ReadMiddle, wire.ReadLast, wire.ReadOnly, wire.ReadLast, wire.ReadOnly}
)

// transmit sends the packets of a request, or sends them again.
func (h *hca) transmit(q *qp, a *asked) {
	if a.op == opRead {
		k := h.packet(q, wire.ReadRequest, a.first)
		k.Address, k.RKey, k.Length, k.AckRequest = a.address, a.rkey, a.length, true
		h.toOther(q, k)
		return
	}
	codes := sendCodes
	if a.op == opWrite || a.op == opWriteImm {
		codes = writeCodes
	}
	var immediate *uint32
	if a.op == opWriteImm || a.op == opSendImm {
		immediate = &a.immediate
	}
	h.split(q, codes, a.first, a.data, immediate, func(k *wire.Packet, last bool) {
		k.Address, k.RKey, k.Length = a.address, a.rkey, a.length
		k.AckRequest, k.Solicited = last, last && a.flags&flagSolicited != 0
	})
}

// split sends a message in packets of the path's MTU.
func (h *hca) split(q *qp, codes [6]uint8, psn uint32, data []byte, immediate *uint32,
	finish func(*wire.Packet, bool)) {
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), q.mtu())
		last, at := n == len(data), 1
		switch {
		case first && last:
			at = 3
		case first:
			at = 0
		case last:
			at = 2
		}
		if last && immediate != nil {
			at += map[int]int{2: 2, 3: 2}[at]
		}
		k := h.packet(q, codes[at], psn)
		k.Payload, psn, data = data[:n], psn+1, data[n:]
		if last {
			k.Immediate = immediate
		}
		finish(k, last)
		h.toOther(q, k)
	}
}

// watch sends again what stays without an answer.
func (h *hca) watch(q *qp) {
	q.rc.waiting++
	mine := q.rc.waiting
	h.c.after(answerTime, func() {
		if q.rc.waiting != mine || len(q.rc.flight) == 0 || h.qps[q.number] != q || q.state != stateRTS {
			return
		}
		if q.rc.retries--; q.rc.retries < 0 {
			h.breakOff(q, synNoAnswer)
			return
		}
		h.again(q)
		h.watch(q)
	})
}

// again sends everything that is not answered.
func (h *hca) again(q *qp) {
	for _, a := range q.rc.flight {
		a.got = 0
		h.transmit(q, a)
	}
}

// breakOff ends a connection with an error of its oldest request.
func (h *hca) breakOff(q *qp, syndrome byte) {
	if len(q.rc.flight) > 0 {
		h.failed(q, q.rc.flight[0].index, syndrome, true)
		q.rc.flight = q.rc.flight[1:]
	}
	h.fail(q)
}

// receiveConnected takes a packet of a connection.
func (h *hca) receiveConnected(q *qp, k *wire.Packet) {
	switch {
	case q.state < stateRTR || q.state > stateSQD:
	case k.Opcode == wire.Acknowledge:
		h.acknowledged(q, k)
	case k.Opcode >= wire.ReadFirst && k.Opcode <= wire.ReadOnly:
		h.readResponse(q, k)
	default:
		h.respond(q, k)
	}
}

// progress notes that the other end answers.
func (h *hca) progress(q *qp) {
	q.rc.retries, q.rc.rnrRetries = q.retryLimits()
	h.watch(q)
}

// finishUpTo completes the requests that an answer covers. A read ends by its data only.
func (h *hca) finishUpTo(q *qp, psn uint32) {
	c := &q.rc
	for len(c.flight) > 0 && before(c.flight[0].last, psn) <= 0 {
		a := c.flight[0]
		if a.op == opRead && a.got < a.length {
			return
		}
		c.flight = c.flight[1:]
		c.bytes -= int(a.length) + 1
		if a.flags&flagCompleted == flagCompleted {
			h.sent(q, a.work)
		}
	}
}

func (h *hca) acknowledged(q *qp, k *wire.Packet) {
	if q.state != stateRTS && q.state != stateSQD || len(q.rc.flight) == 0 {
		return
	}
	switch k.Syndrome & kindOfAck {
	case 0:
		h.finishUpTo(q, k.PSN)
		h.progress(q)
		h.send(q)
	case kindNotReady:
		h.finishUpTo(q, k.PSN-1)
		h.notReady(q)
	default:
		h.finishUpTo(q, k.PSN-1)
		switch k.Syndrome {
		case nakSequence:
			h.again(q)
		case nakInvalid:
			h.breakOff(q, synRemoteInvalid)
		case nakAccess:
			h.breakOff(q, synRemoteAccess)
		default:
			h.breakOff(q, synRemoteFailed)
		}
	}
}

// notReady waits for a receive buffer of the other end.
func (h *hca) notReady(q *qp) {
	if q.rc.rnrRetries != retryForever {
		if q.rc.rnrRetries--; q.rc.rnrRetries < 0 {
			h.breakOff(q, synNotReady)
			return
		}
	}
	q.rc.waiting++
	mine := q.rc.waiting
	h.c.after(notReadyTime, func() {
		if q.rc.waiting == mine && h.qps[q.number] == q && q.state == stateRTS {
			h.again(q)
			h.watch(q)
		}
	})
}

// readResponse takes data that was asked for.
func (h *hca) readResponse(q *qp, k *wire.Packet) {
	c := &q.rc
	for i, a := range c.flight {
		if a.op != opRead || before(k.PSN, a.first) < 0 || before(k.PSN, a.last) > 0 {
			continue
		}
		if k.PSN != (a.first+a.got/uint32(q.mtu()))&psnMask || uint32(len(k.Payload)) > a.length-a.got {
			return // of an earlier try
		}
		if !h.scatter(a.pieces, a.got, k.Payload) {
			c.flight = c.flight[i:]
			h.breakOff(q, synProtection)
			return
		}
		a.got += uint32(len(k.Payload))
		if a.got >= a.length {
			h.finishUpTo(q, a.last)
			h.progress(q)
			h.send(q)
		}
		return
	}
}
