//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// services are those of a queue pair. With the last the driver writes the headers itself.
var services = map[byte]transport.Service{0: transport.Reliable, 3: transport.Datagram, 7: transport.Raw}

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
	*transport.QueuePair
	h       *hca
	context [contextSize]byte

	receiving, sending queue
	buffer
	record         uint64 // doorbell record of the receive queue
	sendCQ, recvCQ uint32
	srq            *srq
	head, tail     uint32
}

// queue is the ring of work requests of one direction.
type queue struct {
	entries uint32
	stride  uint8 // log2 of the bytes of a request
	offset  uint64
}

// noQueue is what the driver writes for a queue that is not there: a stride of 2^0 bytes,
// less 4. A queue of one request is written as any other.
const noQueue = 0xfc

func queueOf(b byte) queue {
	if b == noQueue {
		return queue{}
	}
	return queue{entries: 1 << (b >> 3), stride: b&7 + 4}
}

// at is the offset of a request.
func (q queue) at(index uint32) uint64 { return q.offset + uint64(index&(q.entries-1))<<q.stride }

// transitions are the states that commands lead to.
var transitions = map[uint32]transport.State{resetToInit: transport.Init, initToInit: transport.Init,
	initToRTR: transport.ReadyToReceive, rtrToRTS: transport.ReadyToSend, rtsToRTS: transport.ReadyToSend,
	sqeToRTS: transport.ReadyToSend, toError: transport.Error, toReset: transport.Reset,
	sqdToRTS: transport.ReadyToSend, rtsToSQD: transport.SendDrained, sqdToSQD: transport.SendDrained}

// mostPairs bounds the queue pairs that are in use at once: their numbers have 24 bits.
const mostPairs = 1 << 16

// changeQP takes a queue pair from one state to another.
func (h *hca) changeQP(r hcr.Command) int {
	number := r.Index & 0xffffff
	q := h.qps[number]
	switch {
	case r.Op == resetToInit:
		return h.create(number, r)
	case r.Op == toReset:
		h.dropQP(number)
		return hcr.OK
	case q == nil:
		return hcr.Known(r.Op == toError)
	case r.Op == toError:
		q.Fail()
		return hcr.OK
	case !q.MayBecome(transitions[r.Op]):
		return hcr.BadState
	}
	b := h.box(r.In, 8+contextSize)
	if b == nil {
		return hcr.BadParam
	}
	q.State = transitions[r.Op]
	mask, c := be.Uint32(b), b[8:]
	switch r.Op {
	case initToRTR:
		q.setPort(c) // some drivers name it only here
		q.expect(c)
	case rtrToRTS:
		q.connect(c)
	}
	if mask&optQKey != 0 {
		q.QKey = be.Uint32(c[ctxQKey:])
	}
	if mask&optPKey != 0 {
		q.context[ctxPath+3] = c[ctxPath+3]
		q.PKeyIndex = pkeyIndex(c)
	}
	if r.Op == sqdToRTS {
		q.Ring() // what was posted in between
	}
	return hcr.OK
}

// create makes a queue pair of a context.
func (h *hca) create(number uint32, r hcr.Command) int {
	b := h.box(r.In, 8+contextSize)
	if b == nil {
		return hcr.BadParam
	}
	q := h.newQP(number)
	if q == nil {
		return hcr.BadResource
	}
	status := h.begin(q, b[8:])
	if status != hcr.OK {
		h.dropQP(number)
	}
	return status
}

// newQP makes a queue pair, in the place of one that is there; nil if there are too many.
func (h *hca) newQP(number uint32) *qp {
	h.dropQP(number)
	if len(h.qps) >= mostPairs {
		return nil
	}
	q := &qp{h: h}
	q.QueuePair = transport.Create(h, q, number)
	h.qps[number] = q
	return q
}

// dropQP forgets a queue pair.
func (h *hca) dropQP(number uint32) {
	if q := h.qps[number]; q != nil {
		q.Rewind()
		delete(h.qps, number)
	}
}

// begin reads the context of a new queue pair.
func (h *hca) begin(q *qp, c []byte) int {
	service, there := services[c[ctxService]]
	if !there {
		return hcr.BadParam
	}
	copy(q.context[:], c)
	q.State, q.Service = transport.Init, service
	q.receiving, q.sending = queueOf(c[ctxReceive]), queueOf(c[ctxSend])
	if q.receiving.entries > 1<<logQueue || q.sending.entries > 1<<logQueue {
		return hcr.BadParam
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
	q.srq = nil
	if v := be.Uint32(c[ctxSRQ:]); v>>24&1 != 0 {
		q.srq = h.srqs[v&0xffffff]
	}
	q.head, q.tail = 0, 0
	q.Shared, q.QKey, q.PKeyIndex = q.srq != nil, be.Uint32(c[ctxQKey:]), pkeyIndex(c)
	q.Port = 1
	q.setPort(c)
	if d := q.Number - h.special; d < 4 && h.special != 0 {
		q.Port = int(d&1) + 1
	}
	return hcr.OK
}

func pkeyIndex(context []byte) int { return int(context[ctxPath+3] & 0x7f) }

// setPort takes the port from the path of a context that names one.
func (q *qp) setPort(c []byte) {
	if v := c[ctxPath+32]; v != 0 {
		q.Port = int(v>>6&1) + 1
	}
}

// expect takes the other end of a reliable connection.
func (q *qp) expect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	q.context[ctxMTU] = c[ctxMTU]
	copy(q.context[ctxRemote:ctxRemote+4], c[ctxRemote:])
	copy(q.context[ctxPath:ctxPath+44], c[ctxPath:])
	copy(q.context[ctxParams2:ctxReceivePSN+4], c[ctxParams2:])
	q.PKeyIndex = pkeyIndex(c)
	q.Remote = transport.Remote{QueuePair: be.Uint32(c[ctxRemote:]) & 0xffffff, MTU: mtuOf(c[ctxMTU] >> 5),
		Path: pathOf(c[ctxPath:ctxPath+44], c[ctxPath+32]>>2&0xf)}
	q.ExpectFrom(be.Uint32(c[ctxReceivePSN:]))
}

// connect lets a reliable connection send.
func (q *qp) connect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	copy(q.context[ctxParams:ctxNextPSN+4], c[ctxParams:])
	v := be.Uint32(c[ctxParams:])
	q.Remote.Retries, q.Remote.RNRRetries = int(v>>16&7), int(v>>13&7)
	q.SendFrom(be.Uint32(c[ctxNextPSN:]))
}

// mtuOf is the size of a packet by its number: 1 is 256 bytes.
func mtuOf(number byte) int { return 128 << number }

// pathOf reads an address vector. Where the service level stands is not alike in all.
func pathOf(av []byte, sl byte) transport.Path {
	p := transport.Path{PathBits: av[5] & 0x7f, DLID: be.Uint16(av[6:]), SL: sl}
	if av[5]&0x80 != 0 {
		v := be.Uint32(av[12:])
		p.Global = &transport.GlobalRoute{HopLimit: av[11], TrafficClass: byte(v >> 20), FlowLabel: v & 0xfffff,
			GID: [16]byte(av[16:32])}
	}
	return p
}

func (h *hca) queryQP(r hcr.Command) int {
	o := make([]byte, 8+contextSize)
	q := h.qps[r.Index&0xffffff]
	if q == nil {
		return h.fill(r.Out, o) // in reset
	}
	copy(o[8:], q.context[:])
	o[8] = o[8]&0xf | byte(q.State)<<4
	be.PutUint32(o[8+ctxQKey:], q.QKey)
	return h.fill(r.Out, o)
}

// group reads or writes an entry of the table of multicast groups.
func (h *hca) group(r hcr.Command) int {
	if r.Op == readMCG {
		o := make([]byte, 1024)
		copy(o, h.groups[r.Index])
		return h.fill(r.Out, o)
	}
	b := h.box(r.In, 1024)
	if b == nil || len(h.groups) > 1<<16 {
		return hcr.BadParam
	}
	h.groups[r.Index] = b
	return hcr.OK
}

// Members implements transport.Chip.
func (h *hca) Members(gid []byte, f func(*transport.QueuePair)) {
	for _, e := range h.groups {
		if string(e[16:32]) != string(gid) {
			continue
		}
		for i := range min(int(be.Uint32(e[4:])&0xffffff), (len(e)-32)/4) {
			if q := h.qps[be.Uint32(e[32+4*i:])&0xffffff]; q != nil {
				f(q.QueuePair)
			}
		}
	}
}

// Find implements transport.Chip.
func (h *hca) Find(port int, number uint32) *transport.QueuePair {
	if number <= 1 {
		number = h.special + 2*number + uint32(port-1)
	}
	if q := h.qps[number]; q != nil {
		return q.QueuePair
	}
	return nil
}
