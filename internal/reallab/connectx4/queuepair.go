//go:build linux

package connectx4

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// serviceRegister is that of the queue pair that changes memory keys, and sends nothing.
const serviceRegister = 0xc

// services are those of a queue pair.
var services = map[byte]transport.Service{0x0: transport.Reliable, 0x2: transport.Datagram, 0x7: transport.Subnet,
	0x8: transport.General, serviceRegister: transport.Datagram}

// Offsets in the context of a queue pair (struct mlx5_ifc_qpc_bits). Words hold a number
// in their lower 24 bits.
const (
	ctxService, ctxMTU, ctxReceive, ctxSend, ctxOffload = 0x01, 0x08, 0x09, 0x0a, 0x0b
	ctxPage, ctxRemote, ctxPath                         = 0x14, 0x14, 0x18
	ctxRetries, ctxNotReady, ctxNextPSN                 = 0x71, 0x72, 0x78
	ctxSendCQ, ctxOffset, ctxReceivePSN, ctxReceiveCQ   = 0x7c, 0x92, 0x94, 0x9c
	ctxRecord, ctxQKey, ctxReceiveType, ctxSRQ          = 0xa0, 0xa8, 0xac, 0xac
	contextSize                                         = 0xe8
	pathSize                                            = 0x2c
	qpContextAt, qpOptionsAt                            = 0x18, 0x10 // in a command, and in the answer to a query
)

// Bits of the mask with which a transition names what it changes.
const (
	optPKey = 1 << 4
	optQKey = 1 << 5
)

// qp is a queue pair.
type qp struct {
	*transport.QueuePair
	h       *hca
	context [contextSize]byte
	send    sendQueue
	receive *receiveQueue // nil if it has none
	recvCQ  uint32
	// flushing says that receive requests are looked for, and flushes how often more.
	flushing bool
	flushes  int
}

func (h *hca) createQP(r *request) byte {
	const accelerated = 2
	c := r.in[qpContextAt : qpContextAt+contextSize]
	service, there := services[c[ctxService]]
	if !there {
		return badParam
	}
	n, free := h.qps.reserve()
	if !free {
		return limitReached
	}
	q := &qp{h: h}
	q.QueuePair = transport.Create(h, q, n)
	q.Service, q.Port = service, 1
	copy(q.context[:], c)
	if c[ctxOffload]&0xf == accelerated {
		q.Steer = q.steer
	} else {
		q.takeBuffer(r)
	}
	q.takeQueues(c)
	return h.qps.put(r, n, q)
}

// takeBuffer reads where the queues are: in one buffer, that for receiving first.
func (q *qp) takeBuffer(r *request) {
	const noSend, plain = 1 << 7, 0
	c := r.in[qpContextAt : qpContextAt+contextSize]
	record := be.Uint64(c[ctxRecord:])
	if c[ctxReceiveType]&7 == plain {
		q.receive = &receiveQueue{record: record, entries: 1 << (c[ctxReceive] >> 3 & 0xf), stride: c[ctxReceive]&7 + 4}
		q.send.offset = uint64(q.receive.entries) << q.receive.stride
	} else if s := q.h.shared.at(number(c, ctxSRQ)); s != nil {
		q.receive, q.Shared = s, true
	}
	if c[ctxSend]&noSend == 0 {
		q.send.record, q.send.entries = record, 1<<(c[ctxSend]>>3&0xf)
	}
	q.send.pages = pagesOf(r.tail(listAt), c[ctxPage], uint64(be.Uint16(c[ctxOffset:])>>6&0x3f),
		q.send.offset+uint64(q.send.entries)*blockBytes)
	if q.receive != nil && !q.Shared {
		q.receive.pages = q.send.pages
	}
}

// listed is how many pages the buffer has.
func (q *qp) listed() int { return q.send.listed() }

// takeQueues reads the completion queues and the doorbell record. The transition to Init
// says them again; what it leaves out stays.
func (q *qp) takeQueues(c []byte) {
	if n := number(c, ctxSendCQ); n != 0 {
		q.send.cq = n
	}
	if n := number(c, ctxReceiveCQ); n != 0 {
		q.recvCQ = n
	}
	if addr := be.Uint64(c[ctxRecord:]); addr != 0 {
		q.send.record = addr
		if q.receive != nil && !q.Shared {
			q.receive.record = addr
		}
	}
}

func (h *hca) destroyQP(r *request) byte {
	n := r.object()
	if q := h.qps.at(n); q != nil {
		q.Rewind()
	}
	delete(h.roots, n)
	for i := range h.special {
		if h.special[i] == n {
			h.special[i] = 0
		}
	}
	return h.qps.drop(r)
}

// transitions are the states that commands lead to.
var transitions = map[uint16]transport.State{opResetToInit: transport.Init, opInitToInit: transport.Init,
	opInitToRTR: transport.ReadyToReceive, opRTRToRTS: transport.ReadyToSend, opRTSToRTS: transport.ReadyToSend,
	opSQEToRTS: transport.ReadyToSend, opSQDToRTS: transport.ReadyToSend, opToError: transport.Error,
	opToReset: transport.Reset}

// changeQP takes a queue pair from one state to another.
func (h *hca) changeQP(r *request) byte {
	q := h.qps.at(r.object())
	if q == nil {
		return badResource
	}
	options, c := be.Uint32(r.in[qpOptionsAt:]), r.in[qpContextAt:]
	if r.op == opToError {
		q.Fail()
		q.keepFlushing()
		return ok
	}
	if !q.MayBecome(transitions[r.op]) {
		return badState
	}
	q.State = transitions[r.op]
	switch r.op {
	case opToReset:
		q.Rewind()
		q.rewind()
	case opResetToInit:
		q.rewind()
		q.begin(c)
	case opInitToRTR:
		q.expect(c)
	case opRTRToRTS:
		q.connect(c)
	}
	if options&optQKey != 0 {
		q.QKey = be.Uint32(c[ctxQKey:])
	}
	if options&optPKey != 0 {
		q.setPKey(c)
	}
	return ok
}

// rewind empties the queues.
func (q *qp) rewind() {
	q.send.head = 0
	if q.receive != nil && !q.Shared {
		q.receive.tail = 0
	}
}

// Requests that are posted in the error state ring no doorbell: they are looked for.
const (
	flushTries = 400
	flushPause = 5 * time.Millisecond
)

// keepFlushing looks for them for a while. A driver may ask for it again and again: there is
// one timer at a time.
func (q *qp) keepFlushing() {
	q.flushes = flushTries
	q.FlushReceives()
	if !q.flushing {
		q.flushLater()
	}
}

func (q *qp) flushLater() {
	q.flushing = q.State == transport.Error && !q.Shared && q.flushes > 0
	if !q.flushing {
		return
	}
	q.flushes--
	q.h.After(flushPause, func() {
		q.FlushReceives()
		q.flushLater()
	})
}

// begin reads what the transition from Reset says.
func (q *qp) begin(c []byte) {
	q.takeQueues(c)
	q.QKey = be.Uint32(c[ctxQKey:])
	copy(q.context[ctxPath:ctxPath+pathSize], c[ctxPath:])
	q.setPKey(c)
	if q.Service == transport.Subnet {
		q.h.special[0] = q.Number
	}
	if q.Service == transport.General {
		q.h.special[1] = q.Number
	}
}

func (q *qp) setPKey(c []byte) {
	copy(q.context[ctxPath+2:ctxPath+4], c[ctxPath+2:])
	q.PKeyIndex = int(be.Uint16(c[ctxPath+2:]))
}

// expect takes the other end of a reliable connection.
func (q *qp) expect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	path := c[ctxPath : ctxPath+pathSize]
	q.context[ctxMTU] = c[ctxMTU]
	copy(q.context[ctxRemote+1:ctxRemote+4], c[ctxRemote+1:])
	copy(q.context[ctxPath:], path)
	copy(q.context[ctxOffset:ctxReceivePSN+4], c[ctxOffset:])
	q.PKeyIndex = int(be.Uint16(path[2:]))
	q.Remote = transport.Remote{QueuePair: number(c, ctxRemote), MTU: mtuOf(c[ctxMTU] >> 5), Path: pathOf(path)}
	q.ExpectFrom(number(c, ctxReceivePSN))
}

// connect lets a reliable connection send.
func (q *qp) connect(c []byte) {
	if q.Service != transport.Reliable {
		return
	}
	copy(q.context[ctxRetries:ctxNextPSN+4], c[ctxRetries:])
	q.Remote.Retries, q.Remote.RNRRetries = int(c[ctxRetries]&7), int(c[ctxNotReady]>>5)
	q.SendFrom(number(c, ctxNextPSN))
}

// mtuOf is the size of a packet by its number: 1 is 256 bytes.
func mtuOf(number byte) int { return 128 << number }

// pathOf reads the address vector of a connection (struct mlx5_ifc_ads_bits).
func pathOf(a []byte) transport.Path {
	p := transport.Path{PathBits: a[5] & 0x7f, DLID: be.Uint16(a[6:]), SL: a[0x24] & 0xf}
	if a[5]&0x80 != 0 {
		v := be.Uint32(a[0x0c:])
		p.Global = &transport.GlobalRoute{HopLimit: a[0x0b], TrafficClass: byte(v >> 20), FlowLabel: v & 0xfffff,
			GID: [16]byte(a[0x10:])}
	}
	return p
}

func (h *hca) queryQP(r *request) byte {
	q := h.qps.at(r.object())
	if q == nil {
		return badResource
	}
	o := r.out[qpContextAt : qpContextAt+contextSize]
	copy(o, q.context[:])
	o[0] = o[0]&0xf | byte(q.State)<<4
	be.PutUint32(o[ctxQKey:], q.QKey)
	return ok
}

// maxMembers bounds the queue pairs of a multicast group, and maxGroups the groups.
const (
	maxMembers = 256
	maxGroups  = 1 << 13
)

const groupAt = 0x10

func (h *hca) attach(r *request) byte {
	gid := [16]byte(r.in[groupAt:])
	if h.groups[gid] == nil {
		if len(h.groups) >= maxGroups {
			return limitReached
		}
		h.groups[gid] = map[uint32]bool{}
	}
	if len(h.groups[gid]) >= maxMembers {
		return limitReached
	}
	h.groups[gid][r.object()] = true
	return ok
}

func (h *hca) detach(r *request) byte {
	gid := [16]byte(r.in[groupAt:])
	delete(h.groups[gid], r.object())
	if len(h.groups[gid]) == 0 {
		delete(h.groups, gid)
	}
	return ok
}
