package transport_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Subnet management is sent before the port is active, and before it has a LID. What is
// general waits for both.
func TestSend_management(t *testing.T) {
	a, b, _ := cabled(t)
	send := func(s transport.Service) {
		a.qp.Service, b.qp.Service = s, s
		a.send(transport.Send{Path: transport.Path{DLID: wire.Permissive}, Pieces: []transport.Piece{{Inline: []byte("mad")}}})
	}
	b.offer(512, 512)
	send(transport.General)
	if len(b.arrivals) != 0 {
		t.Fatalf("a port that is not active sends %v", b.arrivals)
	}
	send(transport.Subnet)
	if len(b.arrivals) != 1 {
		t.Fatalf("arrivals %v", b.arrivals)
	}
	if k := b.arrivals[0].Packet; k.SrcQP != 0 || k.SLID != wire.Permissive {
		t.Errorf("from queue pair %d at %#x", k.SrcQP, k.SLID)
	}
}

// A chip may take the datagrams itself; the checks of keys come before.
func TestDeliver_steered(t *testing.T) {
	a, _, _ := connected(t)
	var got []uint32
	a.qp.Service, a.qp.QKey, a.qp.Steer = transport.Datagram, 5, func(k *wire.Packet) { got = append(got, k.SrcQP) }
	a.offer(128)
	for _, k := range []wire.Packet{{SrcQP: 1, QKey: 6, PKey: 0xffff}, {SrcQP: 2, QKey: 5, PKey: 0x8001},
		{SrcQP: 3, QKey: 5, PKey: 0xffff}} {
		k.Opcode, k.DestQP = wire.UDSend, 7
		a.world.Do(func() { a.Deliver(1, &k) })
	}
	if len(got) != 1 || got[0] != 3 || len(a.arrivals) != 0 {
		t.Errorf("steered those of %v; arrivals %v", got, a.arrivals)
	}
	a.qp.State = transport.Init
	a.world.Do(func() { a.Deliver(1, &wire.Packet{Opcode: wire.UDSend, DestQP: 7, QKey: 5, PKey: 0xffff}) })
	if len(got) != 1 {
		t.Error("a queue pair that does not receive gets a packet")
	}
}

// What a subnet manager has not set up does not work, as on a real fabric: a port that is not
// active has no connections, and what comes for another LID is lost.
func TestConnection_needs_a_subnet_manager(t *testing.T) {
	a, b, _ := cabled(t)
	b.offer(128, 128, 128)
	arrived := func() int {
		a.send(message(8))
		return len(b.arrivals)
	}
	if n := arrived(); n != 0 {
		t.Errorf("before a subnet manager came, %d messages arrive", n)
	}
	a.manage(1, fabric.Armed, fabric.Active)
	if n := arrived(); n != 0 {
		t.Errorf("at a port in Init %d messages arrive", n)
	}
	b.manage(4, fabric.Armed, fabric.Active)
	if n := arrived(); n != 0 {
		t.Errorf("at another LID %d messages arrive", n)
	}
	b.manage(2, fabric.Active)
	a.fire()
	a.fire() // what is lost is sent again after one to two times the time
	if n := len(b.arrivals); n != 3 {
		t.Errorf("then %d messages arrive", n)
	}
}

// A queue pair is in one partition, that of its index in the table of the port.
func TestDeliver_partition(t *testing.T) {
	a, b, _ := connected(t)
	table := make([]byte, 64)
	table[0], table[1], table[2], table[3] = 0xff, 0xff, 0x80, 0x01
	for _, c := range []*chip{a, b} {
		m := append([]byte{1, 1, 1, 2}, make([]byte, fabric.MADSize-4)...) // Set of P_KeyTable
		m[17] = 0x16
		copy(m[64:], table)
		c.world.Do(func() { c.ports[0].MAD(m, 0, true) })
	}
	b.offer(128, 128)
	a.qp.PKeyIndex = 1
	a.send(message(8))
	if len(b.arrivals) != 0 || b.ports[0].Info()[47] != 1 {
		t.Errorf("from another partition %d messages arrive; violations % x", len(b.arrivals), b.ports[0].Info()[46:48])
	}
	b.qp.PKeyIndex = 1
	a.fire()
	if len(b.arrivals) != 1 {
		t.Errorf("in its partition %d messages arrive", len(b.arrivals))
	}
	// Management comes from every partition of the port.
	a.qp.Service, b.qp.Service, b.qp.PKeyIndex = transport.General, transport.General, 0
	a.send(transport.Send{Path: transport.Path{DLID: 2}, Pieces: []transport.Piece{{Inline: []byte("mad")}}})
	if len(b.arrivals) != 2 {
		t.Errorf("%d arrivals", len(b.arrivals))
	}
}
