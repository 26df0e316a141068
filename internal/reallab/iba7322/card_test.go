//go:build linux

package iba7322

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// A card says what it is to the bus, and to the driver by its revision.
func TestCard_identity(t *testing.T) {
	for ports, board := range map[int]uint64{1: boardQLE7340, 2: boardQLE7342} {
		d := newDriver(t, &wire.World{}, ports)
		id := make([]byte, 4)
		d.ReadRegion(vfiouser.Config, 0, id)
		if got := le.Uint32(id); got != 0x73221077 {
			t.Errorf("id %#x", got)
		}
		r := d.get(regRevision)
		if r>>32&0xff != board || r>>24&0xff != 2 || r&0xff != 2 || d.Ports() != ports {
			t.Errorf("%d ports: revision %#x", ports, r)
		}
		small := make([]byte, 4)
		d.ReadRegion(vfiouser.BAR0, regBufferCount, small)
		if le.Uint32(small) != smallCount || d.get(regBufferCount)>>32 != largeCount {
			t.Errorf("buffers %#x", d.get(regBufferCount))
		}
	}
}

// A reset by the driver takes the link, and what was written.
func TestCard_reset(t *testing.T) {
	a, _ := linked(t, 1)
	a.set(regControl, 1)
	if a.state(0) != down || a.get(regIntMask) != 0 || a.get(regRevision) == 0 {
		t.Errorf("state %d, mask %#x", a.state(0), a.get(regIntMask))
	}
}

// linked is two cards with a link on their first ports, which a subnet manager has made
// active.
func linked(t *testing.T, ports int) (a, b *driver) {
	w := &wire.World{}
	a, b = newDriver(t, w, ports), newDriver(t, w, ports)
	wire.Connect(a.Port(1), b.Port(1))
	for _, d := range []*driver{a, b} {
		d.start()
	}
	for _, d := range []*driver{a, b} {
		d.await(0, initialize)
		d.command(0, linkArm)
		d.command(0, linkAct)
		d.await(0, active)
	}
	return a, b
}

// A link comes up when both ends look for it, and tells of each change. The driver
// takes it further, and a cable that is pulled takes it down.
func TestPort_link(t *testing.T) {
	w := &wire.World{}
	a, b := newDriver(t, w, 2), newDriver(t, w, 1)
	cable := wire.Connect(a.Port(2), b.Port(1))
	a.start()
	if s := a.get(reg(1, portLinkStatus)); s&0x1f != 3 {
		t.Errorf("alone: status %#x", s)
	}
	b.start()
	b.await(0, initialize)
	a.await(1, initialize)
	if s := a.get(reg(1, portLinkStatus)); s&(1<<29|1<<9|0x1f) != 1<<29|1<<9|1 {
		t.Errorf("not QDR and 4X: %#x", s)
	}
	told := func(what string) {
		t.Helper()
		if a.get(reg(1, portErrors))&errStatusChanged == 0 || a.get(regIntStatus)>>(intError+1)&1 == 0 {
			t.Errorf("%s: errors %#x, interrupts %#x", what, a.get(reg(1, portErrors)), a.get(regIntStatus))
		}
		a.set(reg(1, portErrorClear), ^uint64(0))
		a.set(regIntClear, ^uint64(0))
		if a.get(regIntStatus)>>(intError+1)&1 != 0 {
			t.Errorf("%s: the interrupt does not end", what)
		}
	}
	told("init")
	a.command(1, linkAct)
	if a.state(1) != initialize {
		t.Error("a link that is not armed became active")
	}
	a.command(1, linkArm)
	a.await(1, armed)
	told("armed")
	a.command(1, linkAct)
	a.await(1, active)
	told("active")
	cable.Pull()
	told("pulled")
	if a.state(1) != down || a.get(portCounts+portStride+countDowned) != 1 {
		t.Error("a link without a cable")
	}
	cable.Degrade(1, wire.Speeds{Basic: 3})
	a.await(1, initialize)
	if s := a.get(reg(1, portLinkStatus)); s&(1<<29|1<<9|1<<8) != 1<<8 {
		t.Errorf("not DDR and 1X: %#x", s)
	}
	a.set(reg(1, portLinkControl), linkEnabled|initDisable<<16)
	if s := a.get(reg(1, portLinkStatus)); s != 0 || b.state(0) != down {
		t.Errorf("disabled: %#x", s)
	}
}

// An error that nobody has cleared at its source interrupts again.
func TestPort_error_stays(t *testing.T) {
	a, _ := linked(t, 1)
	a.set(regIntClear, ^uint64(0))
	if a.get(regIntStatus)>>intError&1 == 0 {
		t.Error("the interrupt is gone")
	}
	a.set(reg(0, portErrorMask), 0)
	a.set(regIntClear, ^uint64(0))
	if a.get(regIntStatus)>>intError&1 != 0 {
		t.Error("an error that is masked interrupts")
	}
}

// The driver chooses the vector of each interrupt; the rest have the first.
func TestCard_vectors(t *testing.T) {
	d := newDriver(t, &wire.World{}, 1)
	d.set(regRedirect, 6)               // interrupt 0
	d.set(regRedirect+8, 5<<5)          // 13
	d.set(regRedirect+8*5, 3<<10|4<<15) // 62 and 63
	for bits, want := range map[uint64]uint64{1: 1 << 6, 1 << 13: 1 << 5, 1 << 30: 1, 1<<62 | 1<<63: 1<<3 | 1<<4} {
		if got := d.vectorsOf(bits); got != want {
			t.Errorf("interrupts %#x: vectors %#x", bits, got)
		}
	}
}

// datagram is a packet as the driver builds it.
func datagram(k wire.Packet) []byte {
	header, payload := encode(&k)
	return append(header, payload...)
}

// A packet that the driver writes to a buffer arrives, and the buffer comes back with a new
// generation.
func TestSend_buffer(t *testing.T) {
	a, b := linked(t, 1)
	a.set(regIntClear, ^uint64(0))
	b.set(regIntClear, ^uint64(0))
	for i, addr := range []uint32{smallBuffers, smallBuffers + 5*smallStride, largeBuffers + 2*largeStride} {
		want := wire.Packet{SLID: 1, DLID: 2, SL: 3, Opcode: wire.UDSend, PKey: 0xffff, DestQP: 1, PSN: uint32(i),
			QKey: 0x80010000, SrcQP: 1, Payload: bytes.Repeat([]byte("data"), 10+i)}
		a.sendBy(addr, 0, datagram(want))
		if diff := cmp.Diff(&want, b.received(0, i)); diff != "" {
			t.Error(diff)
		}
		if _, high := b.flags(0, i); high != uint32(i)+1 {
			t.Errorf("entry %d has number %d", i, high)
		}
	}
	if b.get(regIntStatus)&1 == 0 {
		t.Error("no interrupt")
	}
	for word, want := range map[uint64]uint64{0: 1 | 1<<10, 4: 1 << 4} {
		if got := le.Uint64(a.take(atAvail+8*word, 8)); got != want || a.get(regAvail+8*uint32(word)) != want {
			t.Errorf("word %d about buffers: %#x", word, got)
		}
	}
	if sent, got := a.get(portCounts+countSent), b.get(portCounts+countReceived); sent != 3 || got != 3 {
		t.Errorf("sent %d, received %d", sent, got)
	}
}

// A buffer that is disarmed sends nothing, and the driver is told when buffers are free.
func TestSend_control(t *testing.T) {
	a, _ := linked(t, 1)
	a.set(smallBuffers, 20)
	a.set(smallBuffers+8, 0)
	a.set(regSendControl, sendUpdate|sendDisarm|sendInterrupt)
	if a.get(regAvail) != 1 || a.get(regIntStatus)&intAvailable == 0 || a.get(portCounts+countSent) != 0 {
		t.Errorf("buffers %#x, interrupts %#x", a.get(regAvail), a.get(regIntStatus))
	}
}

// Before a link is armed, only management of the subnet passes; what the wire does not
// know is dropped, and the log says so.
func TestSend_dropped(t *testing.T) {
	w := &wire.World{}
	a, b := newDriver(t, w, 1), newDriver(t, w, 1)
	wire.Connect(a.Port(1), b.Port(1))
	a.start()
	b.start()
	a.await(0, initialize)
	const vl15 = 1 << 63
	a.sendBy(buffersEnd-2*largeStride, vl15, datagram(wire.Packet{DLID: wire.Permissive, Opcode: wire.UDSend, Payload: make([]byte, 256)}))
	if k := b.received(0, 0); k.DLID != wire.Permissive || len(k.Payload) != 256 {
		t.Errorf("got %v", k)
	}
	if lane := b.take(atHeaders, 1)[0] >> 4; lane != managementLane {
		t.Errorf("lane %d", lane)
	}
	a.sendBy(smallBuffers, 0, datagram(wire.Packet{DLID: 2, Opcode: wire.UDSend, DestQP: 1}))
	atomic := datagram(wire.Packet{DLID: 2, Opcode: wire.UDSend})
	atomic[sizeLRH] = 0x13
	a.sendBy(smallBuffers, 0, atomic)
	if n := a.get(portCounts + countDropped); n != 2 || !strings.Contains(a.log.String(), errUnknown.Error()) {
		t.Errorf("%d dropped; the log says %q", n, a.log.String())
	}
}
