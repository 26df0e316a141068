//go:build linux

package connectx3

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// States of a queue pair.
const (
	stateReset = iota
	stateInit
	stateRTR
	stateRTS
	stateSQE
	stateSQD
	stateError
)

// Services of a queue pair.
const (
	serviceRC  = 0
	serviceUD  = 3
	serviceMLX = 7 // the driver writes the headers itself
)

// Offsets in the context of a queue pair.
const (
	ctxService, ctxMTU, ctxReceive, ctxSend = 1, 8, 9, 10
	ctxRemote, ctxPath                      = 20, 24
	ctxParams, ctxNextPSN, ctxSendCQ        = 112, 120, 124
	ctxParams2, ctxReceivePSN, ctxReceiveCQ = 144, 148, 156
	ctxRecord, ctxQKey, ctxSRQ              = 160, 168, 172
	ctxPage, ctxMTTHigh, ctxMTTLow          = 200, 203, 204
	contextSize                             = 256
)

// Bits of the mask with which a transition names what it changes. Those of the paths have
// no bit where they must be given.
const (
	optPKey = 1 << 4
	optQKey = 1 << 5
)

// qp is a queue pair.
type qp struct {
	number  uint32
	state   int
	service uint8
	context [contextSize]byte

	receiving, sending queue
	buffer
	record         uint64 // doorbell record of the receive queue
	sendCQ, recvCQ uint32
	srq            *srq
	head, tail     uint32
	qkey           uint32
	port           int
	rc             connection
}

// queue is the ring of work requests of one direction.
type queue struct {
	entries uint32
	stride  uint8 // log2 of the bytes of a request
	offset  uint64
}

// noQueue is what the driver writes for a queue that is not there: a stride of 2^0 bytes,
// less 4.
const noQueue = 0xfc

func queueOf(b byte) queue {
	if b == noQueue || b>>3 == 0 {
		return queue{}
	}
	return queue{entries: 1 << (b >> 3), stride: b&7 + 4}
}

// at is the offset of a request.
func (q queue) at(index uint32) uint64 { return q.offset + uint64(index&(q.entries-1))<<q.stride }

// path is the address vector of a connected queue pair.
func (q *qp) path() []byte { return q.context[ctxPath : ctxPath+44] }

func (q *qp) pkeyIndex() int { return int(q.context[ctxPath+3] & 0x7f) }

// transitions are the states that commands lead to.
var transitions = map[uint32]int{resetToInit: stateInit, initToInit: stateInit, initToRTR: stateRTR, rtrToRTS: stateRTS,
	rtsToRTS: stateRTS, sqeToRTS: stateRTS, toError: stateError, toReset: stateReset, sqdToRTS: stateRTS,
	rtsToSQD: stateSQD, sqdToSQD: stateSQD}

// changeQP takes a queue pair from one state to another.
func (h *hca) changeQP(r request) int {
	next := transitions[r.op]
	number := r.mod & 0xffffff
	q := h.qps[number]
	if q == nil {
		if r.op != resetToInit {
			return known(r.op == toReset || r.op == toError)
		}
		q = &qp{number: number}
		h.qps[number] = q
	}
	switch r.op {
	case toReset:
		delete(h.qps, number)
		q.state = stateReset
		return ok
	case toError:
		h.fail(q)
		return ok
	}
	b := h.box(r.in, 8+contextSize)
	if b == nil {
		return badParam
	}
	q.state = next
	mask, c := be.Uint32(b), b[8:]
	switch r.op {
	case resetToInit:
		return h.begin(q, c)
	case initToRTR, rtrToRTS:
		q.connect(r.op, c)
	}
	if mask&optQKey != 0 {
		q.qkey = be.Uint32(c[ctxQKey:])
	}
	if mask&optPKey != 0 {
		q.context[ctxPath+3] = c[ctxPath+3]
	}
	return ok
}

// begin reads the context of a new queue pair.
func (h *hca) begin(q *qp, c []byte) int {
	copy(q.context[:], c)
	q.service = c[ctxService]
	q.receiving, q.sending = queueOf(c[ctxReceive]), queueOf(c[ctxSend])
	if q.receiving.entries > 1<<logQueue || q.sending.entries > 1<<logQueue {
		return badParam
	}
	// The queue with the larger requests comes first.
	if q.receiving.stride > q.sending.stride {
		q.sending.offset = uint64(q.receiving.entries) << q.receiving.stride
	} else {
		q.receiving.offset = uint64(q.sending.entries) << q.sending.stride
	}
	q.buffer = bufferOf(c[ctxPage], c[ctxMTTHigh], c[ctxMTTLow:])
	q.sendCQ, q.recvCQ = be.Uint32(c[ctxSendCQ:])&0xffffff, be.Uint32(c[ctxReceiveCQ:])&0xffffff
	q.record = be.Uint64(c[ctxRecord:])
	q.qkey = be.Uint32(c[ctxQKey:])
	q.srq = nil
	if v := be.Uint32(c[ctxSRQ:]); v>>24&1 != 0 {
		q.srq = h.srqs[v&0xffffff]
	}
	q.head, q.tail, q.rc = 0, 0, connection{}
	q.port = 1
	if v := c[ctxPath+32]; v != 0 {
		q.port = int(v>>6&1) + 1
	}
	if d := q.number - h.special; d < 4 && h.special != 0 {
		q.port = int(d&1) + 1
	}
	return ok
}

// connect takes the other end of a reliable connection from a transition.
func (q *qp) connect(op uint32, c []byte) {
	if q.service != serviceRC {
		return
	}
	if op == initToRTR {
		q.context[ctxMTU] = c[ctxMTU]
		copy(q.context[ctxRemote:ctxRemote+4], c[ctxRemote:])
		copy(q.path(), c[ctxPath:])
		copy(q.context[ctxParams2:ctxReceivePSN+4], c[ctxParams2:])
		q.rc.expected = be.Uint32(c[ctxReceivePSN:]) & psnMask
		if v := c[ctxPath+32]; v != 0 {
			q.port = int(v>>6&1) + 1
		}
		return
	}
	copy(q.context[ctxParams:ctxNextPSN+4], c[ctxParams:])
	q.rc.next = be.Uint32(c[ctxNextPSN:]) & psnMask
	q.rc.retries, q.rc.rnrRetries = q.retryLimits()
}

// retryLimits are how often a request is sent again without an answer, and without a
// receive buffer at the other end; 7 is for ever for the second.
func (q *qp) retryLimits() (lost, notReady int) {
	v := be.Uint32(q.context[ctxParams:])
	return int(v >> 16 & 7), int(v >> 13 & 7)
}

func (h *hca) queryQP(r request) int {
	o := make([]byte, 8+contextSize)
	q := h.qps[r.mod&0xffffff]
	if q == nil {
		return h.fill(r.out, o) // in reset
	}
	copy(o[8:], q.context[:])
	o[8] = o[8]&0xf | byte(q.state)<<4
	be.PutUint32(o[8+ctxQKey:], q.qkey)
	return h.fill(r.out, o)
}

// Syndromes of completions.
const (
	synLength        = 0x01
	synProtection    = 0x04
	synFlushed       = 0x05
	synRemoteInvalid = 0x12
	synRemoteAccess  = 0x13
	synRemoteFailed  = 0x14
	synNoAnswer      = 0x15
	synNotReady      = 0x16
)

const opcodeError = 0x1e

// failed completes a work request with a syndrome.
func (h *hca) failed(q *qp, index uint32, syndrome byte, sent bool) {
	var e [entrySize]byte
	be.PutUint32(e[0:], q.number)
	be.PutUint16(e[24:], uint16(index))
	e[27] = syndrome
	e[31] = opcodeError
	number := q.recvCQ
	if sent {
		e[31] |= 0x40
		number = q.sendCQ
	}
	h.complete(number, e, true)
}

// fail takes a queue pair into the error state: what is still in its queues comes back
// flushed.
func (h *hca) fail(q *qp) {
	if q.state == stateError || q.state == stateReset {
		return
	}
	q.state = stateError
	h.flushSends(q)
	if q.srq != nil {
		// Once: its receiver frees the queue pair when it has seen this and its own last
		// send, so that a second one would be of a queue pair that is gone.
		h.queueEvent(eventLastRequest, q.number)
		return
	}
	for h.posted(q) > 0 {
		h.failed(q, q.tail, synFlushed, false)
		q.tail++
	}
}

// flushSends gives back what has been sent and not answered, and what waits.
func (h *hca) flushSends(q *qp) {
	for _, r := range q.rc.flight {
		h.failed(q, r.index, synFlushed, true)
	}
	q.rc.flight = nil
	for h.owned(q) {
		h.failed(q, q.head, synFlushed, true)
		q.head++
	}
}

// group reads or writes an entry of the table of multicast groups.
func (h *hca) group(r request) int {
	if r.op == readMCG {
		o := make([]byte, 1024)
		copy(o, h.groups[r.mod])
		return h.fill(r.out, o)
	}
	b := h.box(r.in, 1024)
	if b == nil || len(h.groups) > 1<<16 {
		return badParam
	}
	h.groups[r.mod] = b
	return ok
}

// members calls f for the queue pairs of a group.
func (h *hca) members(gid []byte, f func(*qp)) {
	for _, e := range h.groups {
		if string(e[16:32]) != string(gid) {
			continue
		}
		for i := range min(int(be.Uint32(e[4:])&0xffffff), (len(e)-32)/4) {
			if q := h.qps[be.Uint32(e[32+4*i:])&0xffffff]; q != nil {
				f(q)
			}
		}
	}
}

// deliver takes a packet that has come in at a port.
func (h *hca) deliver(port int, k *wire.Packet) {
	if k.DLID >= wire.FirstMulticast && k.DLID < wire.Permissive {
		h.deliverToGroup(port, k)
		return
	}
	p := h.portAt(port)
	number := k.DestQP
	if number <= 1 {
		number = h.special + 2*number + uint32(port-1)
	}
	q := h.qps[number]
	switch {
	case q == nil:
	case k.DestQP == 0:
		h.receive(q, k)
	case !p.Admits(k.PKey):
	case q.service == serviceRC:
		h.receiveConnected(q, k)
	case k.DestQP > 1 && q.qkey != k.QKey:
		p.WrongQKey()
	default:
		h.receive(q, k)
	}
}

// deliverToGroup takes a multicast packet.
func (h *hca) deliverToGroup(port int, k *wire.Packet) {
	if len(k.GRH) < 40 || !h.portAt(port).Admits(k.PKey) {
		return
	}
	h.members(k.GRH[24:40], func(q *qp) {
		if q.qkey == k.QKey && q.port == port {
			h.receive(q, k)
		}
	})
}
