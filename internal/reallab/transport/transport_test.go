package transport_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// chip is a card with one queue pair, whose rings are lists and whose memory is a slice.
// Any key but badKey is good.
type chip struct {
	transport.Held
	world     *wire.World
	ports     []*fabric.HCAPort
	qp        *transport.QueuePair
	memory    [1 << 16]byte
	sends     []*transport.Send
	receives  []*transport.Receive
	sent      []transport.Status
	arrivals  []transport.Arrival
	last      int
	timers    []func()
	forbidden transport.Access
	delivered int // packets
	kept      int // the most bytes that the payload of one keeps in memory
}

const badKey = 99

func (c *chip) Deliver(port int, k *wire.Packet) {
	c.delivered++
	c.kept = max(c.kept, cap(k.Payload))
	transport.Deliver(c, port, k)
}

func (c *chip) StateChanged(int, bool)                         {}
func (c *chip) After(_ time.Duration, f func())                { c.timers = append(c.timers, f) }
func (c *chip) Logf(string, ...any)                            {}
func (c *chip) Sent(_ *transport.Send, s transport.Status)     { c.sent = append(c.sent, s) }
func (c *chip) LastWQEReached()                                { c.last++ }
func (c *chip) Members(_ []byte, f func(*transport.QueuePair)) { f(c.qp) }

func (c *chip) Received(_ *transport.Receive, a transport.Arrival) {
	c.arrivals = append(c.arrivals, a)
}

func (c *chip) Port(n int) *fabric.HCAPort {
	if n < 1 || n > len(c.ports) {
		return nil
	}
	return c.ports[n-1]
}

func (c *chip) Find(int, uint32) *transport.QueuePair { return c.qp }

func (c *chip) Copy(key uint32, addr uint64, p []byte, a transport.Access) bool {
	if key == badKey || a == c.forbidden && a != transport.LocalRead || addr+uint64(len(p)) > uint64(len(c.memory)) {
		return false
	}
	if a.Writes() {
		copy(c.memory[addr:], p)
	} else {
		copy(p, c.memory[addr:])
	}
	return true
}

func (c *chip) NextSend() (w *transport.Send) {
	if len(c.sends) > 0 {
		w, c.sends = c.sends[0], c.sends[1:]
	}
	return w
}

func (c *chip) NextReceive() (r *transport.Receive) {
	if len(c.receives) > 0 {
		r, c.receives = c.receives[0], c.receives[1:]
	}
	return r
}

// send posts a request.
func (c *chip) send(w transport.Send) {
	w.Signalled = true
	c.sends = append(c.sends, &w)
	c.world.Do(c.qp.Ring)
}

// offer posts receive requests of a size, one behind the other in memory.
func (c *chip) offer(sizes ...uint32) {
	at := uint64(0)
	for _, n := range sizes {
		c.receives = append(c.receives, &transport.Receive{Pieces: []transport.Piece{{Addr: at, Size: n}}})
		at += uint64(n)
	}
}

// fire runs the timers that are set.
func (c *chip) fire() {
	all := c.timers
	c.timers = nil
	for _, f := range all {
		c.world.Do(f)
	}
}

func newChip(w *wire.World, guid uint64) *chip {
	c := &chip{world: w}
	c.ports = fabric.NewHCAPorts(w, 1, c)
	w.Do(func() {
		c.ports[0].Reset(fabric.Node{Ports: 1}, guid)
		c.ports[0].Enable(true)
	})
	c.qp = transport.Create(c, c, 7)
	c.qp.State, c.qp.Port = transport.ReadyToSend, 1
	return c
}

// connected are two cards with a connection between them, with packets of 256 bytes, and
// active ports of the LIDs 1 and 2.
func connected(t *testing.T) (a, b *chip, cable *wire.Cable) {
	t.Helper()
	a, b, cable = cabled(t)
	a.manage(1, fabric.Armed, fabric.Active)
	b.manage(2, fabric.Armed, fabric.Active)
	return a, b, cable
}

// manage does what a subnet manager does with the port.
func (c *chip) manage(lid byte, states ...byte) {
	for _, state := range states {
		m := make([]byte, fabric.MADSize)
		m[0], m[1], m[2], m[3] = 1, 1, 1, 2 // Set of PortInfo
		m[17], m[23] = 0x15, 1
		m[64+17], m[64+32], m[64+35] = lid, state, 5<<4
		c.world.Do(func() { c.ports[0].MAD(m, 0, true) })
	}
}

// cabled are they before a subnet manager came.
func cabled(t *testing.T) (a, b *chip, cable *wire.Cable) {
	t.Helper()
	w := &wire.World{}
	a, b = newChip(w, 1), newChip(w, 2)
	cable = wire.Connect(a.ports[0].Wire(), b.ports[0].Wire())
	peer := map[*chip]uint16{a: 2, b: 1}
	for _, c := range []*chip{a, b} {
		c.qp.Remote = transport.Remote{QueuePair: 7, MTU: 256, Retries: 2, RNRRetries: 2,
			Path: transport.Path{DLID: peer[c]}}
		c.qp.ExpectFrom(0xfffffe) // the numbers wrap
		c.qp.SendFrom(0xfffffe)
	}
	return a, b, cable
}

// message is a send of what is in memory.
func message(size uint32) transport.Send {
	return transport.Send{Operation: transport.OpSend, Pieces: []transport.Piece{{Size: size}}}
}

func expect(t *testing.T, what string, got []transport.Status, want ...transport.Status) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d completions %v, want %v", what, len(got), got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: completion %d is %#x, want %#x", what, i, got[i], want[i])
		}
	}
}

// Every fifth packet is lost, and all that is sent arrives once and in order.
func TestConnection_with_losses(t *testing.T) {
	a, b, cable := connected(t)
	cable.LoseEvery(5)
	var want []byte
	for i := range byte(8) {
		text := bytes.Repeat([]byte{'a' + i}, 700)
		want = append(want, text...)
		copy(a.memory[:], text)
		b.receives = append(b.receives, &transport.Receive{Pieces: []transport.Piece{{Addr: uint64(i) * 700, Size: 700}}})
		a.send(message(700))
		for try := 0; len(a.sent) == int(i) && try < 20; try++ {
			a.fire()
		}
	}
	expect(t, "sends", a.sent, make([]transport.Status, 8)...)
	if !bytes.Equal(b.memory[:len(want)], want) {
		t.Error("what has arrived is not what was sent")
	}
	if len(b.arrivals) != 8 || cable.Lost() == 0 {
		t.Errorf("%d messages, %d packets lost", len(b.arrivals), cable.Lost())
	}
}

// Without a receive request the sender waits and tries again, so often as it was told.
func TestConnection_not_ready(t *testing.T) {
	a, b, _ := connected(t)
	a.send(message(10))
	expect(t, "before", a.sent)
	b.offer(64)
	a.fire()
	expect(t, "after", a.sent, transport.Success)
	a.send(message(10))
	a.fire()
	a.fire()
	expect(t, "for ever", a.sent, transport.Success, transport.NotReady)
	if a.qp.State != transport.Error {
		t.Errorf("state %d", a.qp.State)
	}
}

// Messages that follow one for which there was no receive request wait with it: they are
// sent again once, when it is. Told of a gap as well, the sender sent all of them again at
// once, without end.
func TestConnection_not_ready_for_several(t *testing.T) {
	a, b, _ := connected(t)
	for range 3 {
		a.send(message(10))
	}
	if b.delivered != 3 {
		t.Fatalf("%d packets for three messages", b.delivered)
	}
	b.offer(64, 64, 64)
	a.fire()
	expect(t, "after", a.sent, make([]transport.Status, 3)...)
	if b.delivered != 6 {
		t.Errorf("%d packets", b.delivered)
	}
}

// Without any answer the sender gives up, and all that waits comes back flushed.
func TestConnection_no_answer(t *testing.T) {
	a, _, cable := connected(t)
	cable.Pull()
	a.send(message(10))
	a.send(message(10))
	a.offer(64)
	for range 4 {
		a.fire()
	}
	expect(t, "sends", a.sent, transport.NoAnswer, transport.Flushed)
	if len(a.arrivals) != 1 || a.arrivals[0].Status != transport.Flushed {
		t.Errorf("receive requests: %v", a.arrivals)
	}
}

// RDMA reaches memory that the key of the other end opens, and no other.
func TestConnection_remote_memory(t *testing.T) {
	a, b, _ := connected(t)
	immediate := uint32(0x42)
	b.offer(0)
	copy(a.memory[:], bytes.Repeat([]byte("write "), 100))
	a.send(transport.Send{Operation: transport.OpWriteImmediate, Pieces: []transport.Piece{{Size: 600}}, Address: 0x1000,
		Immediate: immediate})
	if !bytes.Equal(b.memory[0x1000:0x1000+600], a.memory[:600]) {
		t.Error("nothing was written")
	}
	if len(b.arrivals) != 1 || !b.arrivals[0].Write || *b.arrivals[0].Packet.Immediate != immediate {
		t.Errorf("arrivals %v", b.arrivals)
	}
	copy(b.memory[0x2000:], bytes.Repeat([]byte("read "), 200))
	a.send(transport.Send{Operation: transport.OpRead, Pieces: []transport.Piece{{Addr: 0x3000, Size: 900}, {Addr: 0x4000, Size: 100}},
		Address: 0x2000})
	if !bytes.Equal(a.memory[0x3000:0x3000+900], b.memory[0x2000:0x2000+900]) ||
		!bytes.Equal(a.memory[0x4000:0x4000+100], b.memory[0x2000+900:0x2000+1000]) {
		t.Error("nothing was read")
	}
	b.forbidden = transport.RemoteRead
	a.send(transport.Send{Operation: transport.OpRead, Pieces: []transport.Piece{{Size: 4}}})
	expect(t, "requests", a.sent, transport.Success, transport.Success, transport.RemoteAccess)
	if b.qp.State != transport.Error {
		t.Errorf("the other end is in state %d", b.qp.State)
	}
}

// A request that cannot be read, or whose data cannot, ends in an error of its own.
func TestSend_malformed(t *testing.T) {
	for _, w := range []transport.Send{
		{Malformed: transport.LocalProtection},
		{Pieces: []transport.Piece{{Key: badKey, Size: 4}}},
		{Pieces: []transport.Piece{{Size: transport.MaxMessage}, {Size: 1}}},
	} {
		a, _, _ := connected(t)
		a.send(w)
		expect(t, "request", a.sent, transport.LocalProtection)
		if a.qp.State != transport.Error {
			t.Errorf("state %d", a.qp.State)
		}
	}
}

// A queue pair with a shared receive queue leaves that alone and tells once that it took
// its last request.
func TestQueuePair_shared(t *testing.T) {
	a, _, _ := connected(t)
	a.qp.Shared = true
	a.offer(64)
	a.world.Do(a.qp.Fail)
	a.world.Do(a.qp.Fail)
	if a.last != 1 || len(a.receives) != 1 || len(a.arrivals) != 0 {
		t.Errorf("told %d times, %d requests left, %d given back", a.last, len(a.receives), len(a.arrivals))
	}
}

// Multicast needs the Q_Key and the partition.
func TestDeliver_to_group(t *testing.T) {
	a, _, _ := connected(t)
	a.qp.Service, a.qp.QKey = transport.Datagram, 5
	a.offer(128)
	for _, k := range []wire.Packet{
		{QKey: 6, PKey: 0xffff}, {QKey: 5, PKey: 0x8001}, {QKey: 5, PKey: 0xffff},
	} {
		k.Opcode, k.DLID, k.GRH, k.Payload = wire.UDSend, wire.FirstMulticast, make([]byte, 40), []byte("all")
		a.world.Do(func() { a.Deliver(1, &k) })
	}
	if len(a.arrivals) != 1 || a.arrivals[0].Size != 43 {
		t.Errorf("arrivals %v", a.arrivals)
	}
}
