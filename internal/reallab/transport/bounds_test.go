package transport_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// lone is the ring of a queue pair with one request.
type lone struct {
	*chip
	request *transport.Send
}

func (l *lone) NextSend() *transport.Send {
	w := l.request
	l.request = nil
	return w
}

// All connections of a card together have so much in flight. The others wait, and go on when
// there is room, however it came.
func TestConnections_in_flight(t *testing.T) {
	const fit, more = 4, 3
	a, _, _ := cabled(t) // no port is active: nothing is answered
	var all []*transport.QueuePair
	var rings []*lone
	for n := range uint32(fit + more) {
		longest := &transport.Send{Operation: transport.OpRead, Pieces: []transport.Piece{{Size: transport.MaxMessage}}}
		rings = append(rings, &lone{a, longest})
		q := transport.Create(a, rings[n], 8+n)
		q.State, q.Port, q.Remote.Retries = transport.ReadyToSend, 1, 7
		q.SendFrom(0)
		all = append(all, q)
		a.world.Do(q.Ring)
		a.world.Do(q.Ring)
	}
	waiting := func(what string, want int) {
		t.Helper()
		a.fire()
		for _, r := range rings {
			if r.request != nil {
				want--
			}
		}
		if want != 0 {
			t.Errorf("%s: %d requests too few wait", what, want)
		}
	}
	waiting("at first", more)
	all[0].Fail()
	waiting("after an error", more-1)
	all[1].Rewind()
	waiting("after a reset", more-2)
	all[2].SendFrom(0)
	waiting("after a new begin", more-3)
}

// A packet of an answer that waits does not keep the whole answer.
func TestConnection_answer_in_pieces(t *testing.T) {
	a, _, _ := connected(t)
	a.send(transport.Send{Operation: transport.OpRead, Pieces: []transport.Piece{{Size: 60000}}})
	expect(t, "read", a.sent, transport.Success)
	if a.kept > 1024 {
		t.Errorf("a packet of 256 bytes keeps %d", a.kept)
	}
}

// endless is a ring that a driver fills as fast as it is worked through.
type endless struct {
	*chip
	taken int
}

func (e *endless) NextSend() *transport.Send {
	e.taken++
	return &transport.Send{Local: true}
}

// A queue without end, even of requests that the card does alone, is done in portions: the
// rest of the lab has its turn between them.
func TestRing_portions(t *testing.T) {
	a, _, _ := connected(t)
	e := &endless{chip: a}
	q := transport.Create(a, e, 8)
	q.State = transport.ReadyToSend
	for range 3 {
		a.world.Do(q.Ring)
	}
	if e.taken > 3000 || len(a.timers) != 1 {
		t.Errorf("three doorbells: %d requests, %d timers", e.taken, len(a.timers))
	}
	before := e.taken
	a.fire()
	if e.taken == before || len(a.timers) != 1 {
		t.Errorf("the next portion: %d requests, %d timers", e.taken-before, len(a.timers))
	}
	q.Fail()
	a.fire()
	if len(a.timers) != 0 {
		t.Errorf("after an error: %d timers", len(a.timers))
	}
}

// The other end may tell of a gap so often as a request is sent again without an answer. One
// further on tells of progress.
func TestConnection_gaps(t *testing.T) {
	a, b, _ := connected(t) // two retries, packets from 0xfffffe on
	b.qp.State = transport.Init
	a.send(message(3000))
	gap := func(psn uint32) {
		a.world.Do(func() {
			a.Deliver(1, &wire.Packet{DLID: 1, DestQP: 7, Opcode: wire.Acknowledge, PSN: psn, Syndrome: 0x60, PKey: 0xffff})
		})
	}
	for _, psn := range []uint32{0xfffffe, 0xfffffe, 1, 1, 5, 5} {
		gap(psn)
	}
	expect(t, "with progress", a.sent)
	gap(5)
	expect(t, "without", a.sent, transport.NoAnswer)
}

// A queue pair takes the packets of its service and its port only. Queue pair 1 has a Q_Key,
// too.
func TestDeliver_to_queue_pair(t *testing.T) {
	const reliable, datagram = wire.SendOnly, wire.UDSend
	for _, tt := range []struct {
		what    string
		service transport.Service
		k       wire.Packet
		port    int
		arrives bool
	}{
		{"a datagram", transport.Datagram, wire.Packet{Opcode: datagram, QKey: 5, DestQP: 7}, 1, true},
		{"a packet of a connection to one of datagrams", transport.Datagram, wire.Packet{Opcode: reliable, QKey: 5, DestQP: 7}, 1, false},
		{"a datagram at another port", transport.Datagram, wire.Packet{Opcode: datagram, QKey: 5, DestQP: 7}, 2, false},
		{"a packet of a connection", transport.Reliable, wire.Packet{Opcode: reliable, PSN: 0xfffffe, DestQP: 7}, 1, true},
		{"a datagram to a connection", transport.Reliable, wire.Packet{Opcode: datagram, QKey: 5, PSN: 0xfffffe, DestQP: 7}, 1, false},
		{"of an unreliable connection", transport.Reliable, wire.Packet{Opcode: 1<<5 | wire.SendOnly, PSN: 0xfffffe, DestQP: 7}, 1, false},
		{"management", transport.General, wire.Packet{Opcode: datagram, QKey: 5, DestQP: 1}, 1, true},
		{"management with headers", transport.Raw, wire.Packet{Opcode: datagram, QKey: 5, DestQP: 1}, 1, true},
		{"management with another Q_Key", transport.General, wire.Packet{Opcode: datagram, QKey: 6, DestQP: 1}, 1, false},
		{"subnet management", transport.Subnet, wire.Packet{Opcode: datagram}, 1, true},
		{"no subnet management", transport.Subnet, wire.Packet{Opcode: reliable}, 1, false},
		{"a group", transport.Datagram, wire.Packet{Opcode: datagram, QKey: 5, DLID: wire.FirstMulticast, GRH: make([]byte, 40)}, 1, true},
		{"a connection of a group", transport.Datagram, wire.Packet{QKey: 5, DLID: wire.FirstMulticast, GRH: make([]byte, 40)}, 1, false},
	} {
		a, _, _ := connected(t)
		a.ports = append(a.ports, a.ports[0])
		a.qp.Service, a.qp.QKey = tt.service, 5
		a.offer(128)
		tt.k.PKey = 0xffff
		a.world.Do(func() { a.Deliver(tt.port, &tt.k) })
		if (len(a.arrivals) == 1) != tt.arrives || a.qp.State != transport.ReadyToSend {
			t.Errorf("%s: %d arrivals, state %d", tt.what, len(a.arrivals), a.qp.State)
		}
	}
}

// A queue pair that is drained still waits for its answers, and sends again without one.
func TestConnection_drained(t *testing.T) {
	a, b, cable := connected(t)
	b.offer(64)
	cable.LoseEvery(1)
	a.send(message(8))
	cable.LoseEvery(0)
	a.qp.State = transport.SendDrained
	a.fire()
	expect(t, "drained", a.sent, transport.Success)
}
