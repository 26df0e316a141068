package transport

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// State is that of a queue pair (10.3.1), as chips number it in their contexts.
type State uint8

// States of a queue pair.
const (
	Reset State = iota
	Init
	ReadyToReceive
	ReadyToSend
	SendError
	SendDrained
	Error
)

// leads are the states that each state may be left for, but for Reset and Error (figure 124).
var leads = map[State][]State{Reset: {Init}, Init: {Init, ReadyToReceive}, ReadyToReceive: {ReadyToSend},
	ReadyToSend: {ReadyToSend, SendDrained}, SendError: {ReadyToSend}, SendDrained: {ReadyToSend, SendDrained}}

// MayBecome reports whether a driver may take a queue pair from its state to another.
func (q *QueuePair) MayBecome(s State) bool {
	return s == Reset || s == Error || slices.Contains(leads[q.State], s)
}

// Service is the transport service of a queue pair.
type Service uint8

// Services. The headers of a Raw one are in its requests: some drivers use it for
// management. With others the chip builds these headers, for Subnet, which is queue pair 0
// on the wire, and for General, which is queue pair 1.
const (
	Reliable Service = iota
	Datagram
	Raw
	Subnet
	General
)

// QueuePair is a queue pair as the wire knows it. The chip sets the exported fields, from
// the contexts that its driver writes.
type QueuePair struct {
	Number    uint32
	State     State
	Service   Service
	Port      int
	PKeyIndex int
	QKey      uint32
	Shared    bool   // its receive requests are those of a shared queue
	Remote    Remote // of a Reliable one
	// Steer takes the datagrams in place of the receive queue, if it is set.
	Steer func(*wire.Packet)

	chip  Chip
	rings Rings
	requester
	responder
}

// Remote is the other end of a connection.
type Remote struct {
	QueuePair uint32
	Path      Path
	MTU       int // bytes of a packet
	// Retries is how often a request is sent again without an answer, and RNRRetries
	// without a receive request at the other end; there 7 is for ever.
	Retries, RNRRetries int
}

// mtu is a driver's, which may be nonsense.
func (r *Remote) mtu() int { return max(r.MTU, smallestMTU) }

// smallestMTU is the smallest that InfiniBand has.
const smallestMTU = 256

// Path is the way to a queue pair: an address vector.
type Path struct {
	Port     int // of a datagram; 0 for that of the queue pair
	PathBits uint8
	DLID     uint16
	SL       uint8
	Global   *GlobalRoute // nil without a global header
}

// GlobalRoute is what an address vector says of the global header.
type GlobalRoute struct {
	GID          [16]byte
	FlowLabel    uint32
	TrafficClass uint8
	HopLimit     uint8
}

// header is the global header of a packet of a size.
func (g *GlobalRoute) header(from [16]byte, size int) []byte {
	const version, nextHeader, following = 6, 0x1b, 24
	h := make([]byte, 40)
	be.PutUint32(h, version<<28|uint32(g.TrafficClass)<<20|g.FlowLabel&0xfffff)
	be.PutUint16(h[4:], uint16(size+following))
	h[6], h[7] = nextHeader, g.HopLimit
	copy(h[8:24], from[:])
	copy(h[24:], g.GID[:])
	return h
}

// Create makes a queue pair in reset.
func Create(chip Chip, rings Rings, number uint32) *QueuePair {
	return &QueuePair{Number: number, chip: chip, rings: rings}
}

// ExpectFrom is the sequence number of the first packet that a connection receives.
func (q *QueuePair) ExpectFrom(psn uint32) { q.responder = responder{expected: psn & psnMask} }

// SendFrom is the sequence number of the first packet that a connection sends.
func (q *QueuePair) SendFrom(psn uint32) {
	q.hold(-q.bytes)
	q.requester = requester{next: psn & psnMask, awaited: psn & psnMask,
		retries: q.Remote.Retries, rnrRetries: q.Remote.RNRRetries, epoch: q.epoch + 1}
}

// Rewind takes a queue pair into reset, as does a driver that destroys it: what was in flight
// is forgotten.
func (q *QueuePair) Rewind() {
	q.State = Reset
	q.SendFrom(0)
	q.ExpectFrom(0)
}

// port is the one of the queue pair; the first, if a driver has named one that is not there.
func (q *QueuePair) port() *fabric.HCAPort {
	if p := q.chip.Port(q.Port); p != nil {
		return p
	}
	return q.chip.Port(1)
}

// receives reports whether packets are taken in this state.
func (q *QueuePair) receives() bool { return q.State >= ReadyToReceive && q.State <= SendDrained }

// Fail takes a queue pair into the error state: what is still in its queues comes back
// flushed.
func (q *QueuePair) Fail() {
	if q.State == Error || q.State == Reset {
		return
	}
	q.State = Error
	q.flushSends()
	if q.Shared {
		// Once: IPoIB frees the queue pair when it has seen this and its own last send, so
		// that a second one would be of a queue pair that is gone.
		q.rings.LastWQEReached()
		return
	}
	q.FlushReceives()
}

// flushSends gives back what has been sent and not answered, and what waits.
func (q *QueuePair) flushSends() {
	for _, r := range q.flight {
		q.rings.Sent(r.Send, Flushed)
	}
	q.flight = nil
	q.hold(-q.bytes)
	for range mostRequests {
		w := q.rings.NextSend()
		if w == nil {
			return
		}
		if !w.Local {
			q.rings.Sent(w, Flushed)
		}
	}
}

// FlushReceives gives back the receive requests of a queue pair in the error state. A chip
// whose driver rings a doorbell for them calls it then.
func (q *QueuePair) FlushReceives() {
	if q.State != Error || q.Shared {
		return
	}
	for range mostRequests {
		r := q.rings.NextReceive()
		if r == nil {
			return
		}
		q.rings.Received(r, Arrival{Status: Flushed})
	}
}

// reject completes a receive request with an error.
func (q *QueuePair) reject(r *Receive, s Status) { q.rings.Received(r, Arrival{Status: s}) }
