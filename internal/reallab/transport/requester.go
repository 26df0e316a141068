package transport

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

const psnMask = 0xffffff

// Times of the reliable connection. A guest that a processor emulates is slow: what the
// driver asks for in microseconds would end connections that only wait for it.
const (
	answerTime = 2 * time.Second
	rnrTime    = 10 * time.Millisecond
)

// Bounds of what a queue pair has sent and not seen acknowledged, and of what all queue pairs
// of a card have, in bytes. A message more may be begun below them.
const (
	inFlight     = 1 << 20
	inFlightCard = 64 << 20
)

// crowdedTime is how long a queue pair waits for the others of its card.
const crowdedTime = 10 * time.Millisecond

// retryForever is the count of retries that never ends.
const retryForever = 7

// requester is the state of the end of a connection that asks.
type requester struct {
	next                uint32 // sequence number of the next packet
	awaited             uint32 // that of the first one that the other end has not confirmed
	flight              []*asked
	bytes               int
	retries, rnrRetries int
	watched, active     bool // a timer runs, and something has come since it was set
	paused              bool // the other end was not ready
	crowded             bool // the others of the card have too much in flight
	goesOn              bool // the next portion of requests has been asked for
	epoch               int  // counts beginnings, so that timers of an earlier one end
}

// room reports whether more may be sent. It is so for queue pairs without a connection. If
// the others of the card have too much in flight, it is asked for again.
func (q *QueuePair) room() bool {
	switch {
	case q.Service != Reliable:
		return true
	case q.bytes >= inFlight:
		return false
	case q.chip.held().bytes < inFlightCard:
		return true
	case !q.crowded:
		q.crowded = true
		q.later(crowdedTime, func() {
			q.crowded = false
			q.Ring()
		})
	}
	return false
}

// hold counts bytes in flight.
func (q *QueuePair) hold(n int) {
	q.bytes += n
	q.chip.held().bytes += n
}

// asked is a request that is not answered yet.
type asked struct {
	*Send
	first, last uint32
	got         uint32 // bytes of a read that have come
}

// before compares sequence numbers, which wrap: negative if a comes before b.
func before(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// packets is how many packets carry so many bytes.
func (r *Remote) packets(size uint32) uint32 {
	mtu := uint32(r.mtu())
	return max(1, (size+mtu-1)/mtu)
}

// request sends a work request of a connection.
func (q *QueuePair) request(w *Send) {
	a := &asked{Send: w, first: q.next}
	a.last = (a.first + q.Remote.packets(w.Length) - 1) & psnMask
	q.next = (a.last + 1) & psnMask
	q.flight = append(q.flight, a)
	q.hold(int(w.Length) + 1)
	q.transmit(a)
	q.watch()
}

// transmit sends the packets of a request, or sends them again.
func (q *QueuePair) transmit(a *asked) {
	if a.Operation == OpRead {
		k := q.packet(wire.ReadRequest, a.first)
		k.Address, k.RKey, k.Length, k.AckRequest = a.Address, a.RKey, a.Length, true
		q.toOther(k)
		return
	}
	codes := sendCodes
	if a.Operation == OpWrite || a.Operation == OpWriteImmediate {
		codes = writeCodes
	}
	var immediate *uint32
	if a.Operation == OpWriteImmediate || a.Operation == OpSendImmediate {
		immediate = &a.Immediate
	}
	q.split(codes, a.first, a.data, immediate, func(k *wire.Packet, last bool) {
		k.Address, k.RKey, k.Length = a.Address, a.RKey, a.Length
		k.AckRequest, k.Solicited = last, last && a.Solicited
	})
}

// watch sends again what stays without an answer. There is one timer at a time, which an
// answer does not replace: a timer for each packet would be most of the card's work. So
// what was lost is sent again after one to two times the time.
func (q *QueuePair) watch() {
	q.active = true
	if q.watched {
		return
	}
	q.watched, q.active = true, false
	q.later(answerTime, func() {
		q.watched = false
		switch {
		case len(q.flight) == 0:
		case q.active || q.paused:
			q.watch()
		case q.retries == 0:
			q.breakOff(NoAnswer)
		default:
			q.retries--
			q.again()
			q.watch()
		}
	})
}

// later runs f after a time, unless the queue pair has failed by then, or has begun anew. One
// that is drained still waits for its answers.
func (q *QueuePair) later(d time.Duration, f func()) {
	mine := q.epoch
	q.chip.After(d, func() {
		if q.epoch == mine && (q.State == ReadyToSend || q.State == SendDrained) {
			f()
		}
	})
}

// again sends everything that is not answered.
func (q *QueuePair) again() {
	for _, a := range q.flight {
		a.got = 0
		q.transmit(a)
	}
}

// breakOff ends a connection with an error of its oldest request.
func (q *QueuePair) breakOff(s Status) {
	if len(q.flight) > 0 {
		q.rings.Sent(q.flight[0].Send, s)
		q.flight = q.flight[1:]
	}
	q.Fail()
}

// progress notes that the other end answers.
func (q *QueuePair) progress() {
	q.retries, q.rnrRetries = q.Remote.Retries, q.Remote.RNRRetries
	q.watch()
}

// finishUpTo completes the requests that an answer covers. A read ends by its data only.
func (q *QueuePair) finishUpTo(psn uint32) {
	for len(q.flight) > 0 && before(q.flight[0].last, psn) <= 0 {
		a := q.flight[0]
		if a.Operation == OpRead && a.got < a.Length {
			return
		}
		q.flight = q.flight[1:]
		q.hold(-int(a.Length) - 1)
		q.complete(a.Send)
	}
}

// acknowledged takes an acknowledgement.
func (q *QueuePair) acknowledged(k *wire.Packet) {
	if q.State != ReadyToSend && q.State != SendDrained || len(q.flight) == 0 {
		return
	}
	switch k.Syndrome & kindOfAck {
	case 0:
		if behind := (k.PSN + 1) & psnMask; before(behind, q.awaited) > 0 {
			q.awaited = behind
		}
		q.finishUpTo(k.PSN)
		q.progress()
		q.Ring()
	case kindRNR:
		q.finishUpTo(k.PSN - 1)
		q.rnr()
	default:
		q.finishUpTo(k.PSN - 1)
		switch k.Syndrome {
		case nakSequence:
			q.gap(k.PSN)
		case nakInvalid:
			q.breakOff(RemoteInvalid)
		case nakAccess:
			q.breakOff(RemoteAccess)
		default:
			q.breakOff(RemoteOperation)
		}
	}
}

// gap sends again from a packet on that the other end misses. Without progress that is a try.
func (q *QueuePair) gap(psn uint32) {
	if before(psn, q.awaited) > 0 {
		q.awaited = psn
		q.progress()
	}
	if q.retries == 0 {
		q.breakOff(NoAnswer)
		return
	}
	q.retries--
	q.again()
}

// rnr waits for a receive request of the other end.
func (q *QueuePair) rnr() {
	if q.paused {
		return
	}
	if q.rnrRetries != retryForever {
		if q.rnrRetries--; q.rnrRetries < 0 {
			q.breakOff(NotReady)
			return
		}
	}
	q.paused = true
	q.later(rnrTime, func() {
		q.paused = false
		q.again()
		q.watch()
	})
}

// readResponse takes data that was asked for.
func (q *QueuePair) readResponse(k *wire.Packet) {
	for i, a := range q.flight {
		if a.Operation != OpRead || before(k.PSN, a.first) < 0 || before(k.PSN, a.last) > 0 {
			continue
		}
		if k.PSN != (a.first+a.got/uint32(q.Remote.mtu()))&psnMask || uint32(len(k.Payload)) > a.Length-a.got {
			return // of an earlier try
		}
		if !q.scatter(a.Pieces, a.got, k.Payload) {
			q.flight = q.flight[i:]
			q.breakOff(LocalProtection)
			return
		}
		a.got += uint32(len(k.Payload))
		if a.got >= a.Length {
			q.finishUpTo(a.last)
			q.progress()
			q.Ring()
		}
		return
	}
}
