//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// services are those of a queue pair. With the last the driver writes the headers itself.
var services = map[byte]transport.Service{0: transport.Reliable, 3: transport.Datagram, 7: transport.Raw}

// Offsets in the context of a queue pair.
const (
	ctxService, ctxMTU, ctxReceive, ctxSend, ctxPage = 1, 8, 9, 10, 12
	ctxRemote, ctxPath                               = 20, 32
	ctxKey, ctxParams, ctxNextPSN, ctxSendCQ         = 108, 112, 120, 124
	ctxSendStart, ctxParams2, ctxReceivePSN          = 128, 144, 148
	ctxReceiveCQ, ctxRecord, ctxQKey, ctxSRQ         = 156, 164, 168, 172
	contextSize                                      = 256
	pathSize                                         = 32
)

// Offsets in a path, which but for its first word is laid out as an address vector.
const (
	pathPort, pathPKey, pathRetry = 0, 3, 4
)

// Bits of the mask with which a transition names what it changes.
const (
	optPKey = 1 << 4
	optQKey = 1 << 5
)

// completeAll is the bit of the parameters of sending that has every request completed.
const completeAll = 1 << 3

// qp is a queue pair.
type qp struct {
	*transport.QueuePair
	h       *hca
	context [contextSize]byte

	key                uint32 // of the memory of both queues
	receiving, sending queue
	page, recordIndex  uint32 // of the doorbell record of the receive queue
	sendCQ, recvCQ     uint32
	completeAll        bool
	srq                *srq
	taken              uint32 // receive requests, of a ring
	received           []posted
	sent               []posted
	batch              uint32 // the last one of requests that were posted at once
	failed             uint32 // a batch of which one has failed
}

// queue is the ring of work requests of one direction. In Tavor mode the card does not
// know it: requests are a list.
type queue struct {
	entries uint32
	stride  uint8 // log2 of the bytes of a request
	offset  uint32
}

func queueOf(b byte, offset uint32) queue { return queue{1 << (b >> 3), b&7 + 4, offset} }

// at is the offset of a request.
func (q queue) at(index uint32) uint32 { return q.offset + index&(q.entries-1)<<q.stride }

// transitions are the states that commands lead to.
var transitions = map[uint32]transport.State{resetToInit: transport.Init, initToInit: transport.Init,
	initToRTR: transport.ReadyToReceive, rtrToRTS: transport.ReadyToSend, rtsToRTS: transport.ReadyToSend,
	sqeToRTS: transport.ReadyToSend, toError: transport.Error, toReset: transport.Reset,
	sqdToRTS: transport.ReadyToSend, rtsToSQD: transport.SendDrained, sqdToSQD: transport.SendDrained}

// changeQP takes a queue pair from one state to another.
func (h *hca) changeQP(r hcr.Command) int {
	number := r.Index & 0xffffff
	q := h.qps[number]
	switch {
	case r.Op == toReset:
		h.dropQP(number)
		return hcr.OK
	case r.Op == resetToInit:
		return h.begin(number, r)
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
		q.expect(c)
	case rtrToRTS:
		q.connect(c)
	}
	if mask&optQKey != 0 {
		q.QKey = be.Uint32(c[ctxQKey:])
	}
	if mask&optPKey != 0 {
		q.PKeyIndex = pkeyIndex(c)
	}
	if r.Op == sqdToRTS {
		q.Ring() // what was posted in between
	}
	return hcr.OK
}

// dropQP forgets a queue pair.
func (h *hca) dropQP(number uint32) {
	if q := h.qps[number]; q != nil {
		q.Rewind()
		delete(h.qps, number)
	}
}

// begin makes a queue pair of a context.
func (h *hca) begin(number uint32, r hcr.Command) int {
	b := h.box(r.In, 8+contextSize)
	if b == nil {
		return hcr.BadParam
	}
	c := b[8:]
	service, there := services[c[ctxService]]
	q := &qp{h: h, key: be.Uint32(c[ctxKey:]), receiving: queueOf(c[ctxReceive], 0),
		sending: queueOf(c[ctxSend], be.Uint32(c[ctxSendStart:])), page: be.Uint32(c[ctxPage:]) & 0xffffff,
		recordIndex: be.Uint32(c[ctxRecord:]), sendCQ: be.Uint32(c[ctxSendCQ:]) & 0xffffff,
		recvCQ: be.Uint32(c[ctxReceiveCQ:]) & 0xffffff, completeAll: be.Uint32(c[ctxParams:])&completeAll != 0}
	if !there || q.receiving.entries > 1<<logQueue || q.sending.entries > 1<<logQueue || len(h.qps) >= maxQueues {
		return hcr.BadParam
	}
	copy(q.context[:], c)
	q.QueuePair = transport.Create(h, q, number)
	q.State, q.Service = transport.Init, service
	if v := be.Uint32(c[ctxSRQ:]); v>>24&1 != 0 {
		q.srq = h.srqs[v&0xffffff]
	}
	q.Shared, q.QKey = q.srq != nil, be.Uint32(c[ctxQKey:])
	q.Port, q.PKeyIndex = max(1, int(c[ctxPath+pathPort]&3)), pkeyIndex(c)
	h.dropQP(number)
	h.qps[number] = q
	return hcr.OK
}

func pkeyIndex(context []byte) int { return int(context[ctxPath+pathPKey] & 0x7f) }

// expect takes the other end of a reliable connection.
func (q *qp) expect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	q.context[ctxMTU] = c[ctxMTU]
	copy(q.context[ctxRemote:ctxRemote+4], c[ctxRemote:])
	copy(q.context[ctxPath+pathRetry:ctxPath+pathSize], c[ctxPath+pathRetry:])
	copy(q.context[ctxParams2:ctxReceivePSN+4], c[ctxParams2:])
	q.Remote = transport.Remote{QueuePair: be.Uint32(c[ctxRemote:]) & 0xffffff, MTU: mtuOf(c[ctxMTU] >> 5),
		Path: pathOf(c[ctxPath : ctxPath+pathSize])}
	q.ExpectFrom(be.Uint32(c[ctxReceivePSN:]))
}

// connect lets a reliable connection send.
func (q *qp) connect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	copy(q.context[ctxParams:ctxNextPSN+4], c[ctxParams:])
	q.context[ctxPath+pathRetry] = c[ctxPath+pathRetry]
	q.Remote.Retries = int(be.Uint32(c[ctxParams:]) >> 16 & 7)
	q.Remote.RNRRetries = int(c[ctxPath+pathRetry] >> 5)
	q.SendFrom(be.Uint32(c[ctxNextPSN:]))
}

// mtuOf is the size of a packet by its number: 1 is 256 bytes.
func mtuOf(number byte) int { return 128 << number }

// pathOf reads an address vector. Its port is that of the queue pair.
func pathOf(av []byte) transport.Path {
	v := be.Uint32(av[12:])
	p := transport.Path{PathBits: av[5] & 0x7f, DLID: be.Uint16(av[6:]), SL: byte(v >> 28)}
	if av[5]&0x80 != 0 {
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
	o[8+ctxPath+pathPKey] = byte(q.PKeyIndex)
	be.PutUint32(o[8+ctxQKey:], q.QKey)
	return h.fill(r.Out, o)
}
