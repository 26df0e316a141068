package transport_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Subnet management is sent before the port is active, and before it has a LID. What is
// general waits for both.
func TestSend_management(t *testing.T) {
	a, b, _ := connected(t)
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
		k.DestQP = 7
		a.world.Do(func() { a.Deliver(1, &k) })
	}
	if len(got) != 1 || got[0] != 3 || len(a.arrivals) != 0 {
		t.Errorf("steered those of %v; arrivals %v", got, a.arrivals)
	}
	a.qp.State = transport.Init
	a.world.Do(func() { a.Deliver(1, &wire.Packet{DestQP: 7, QKey: 5, PKey: 0xffff}) })
	if len(got) != 1 {
		t.Error("a queue pair that does not receive gets a packet")
	}
}
