//go:build linux

package infinihost3

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Services of a queue pair.
const reliable, datagram = 0, 3

// A card says what it is: to the bus, to tools and to the driver.
func TestCard_identity(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		d := newDriver(t, &wire.World{}, device, 0)
		word := func(off uint64, n int) []byte {
			b := make([]byte, n)
			d.ReadRegion(vfiouser.Config, off, b)
			return b
		}
		if id := le.Uint32(word(0, 4)); id != uint32(device)<<16|0x15b3 {
			t.Errorf("id %#x", id)
		}
		d.WriteRegion(vfiouser.Config, registers.WindowAddr, []byte{0x14, 0, 0xf, 0})
		if id := le.Uint32(word(registers.WindowData, 4)); id&0xffff != uint32(kinds[device].hwid) {
			t.Errorf("hardware id %#x", id)
		}
		o := d.must(queryFW, 0, nil)
		if v := [3]uint16{be.Uint16(o[2:]), be.Uint16(o[6:]), be.Uint16(o[4:])}; v != [3]uint16{5, 3, 1} {
			t.Errorf("version %v", v)
		}
		if n := int(d.must(queryLimits, 0, nil)[0x37] & 0xf); n != d.Ports() {
			t.Errorf("%d ports, and %d", n, d.Ports())
		}
		var board []byte
		o = d.must(queryAdapter, 0, nil)
		for i := range 16 {
			board = append(board, o[0xf0+i&^3+3-i&3])
		}
		if got := string(bytes.TrimRight(board, "\x00")); got != psid {
			t.Errorf("PSID %q", got)
		}
		if s := d.command(enableMemory, 0, 0, nil); s != noMemory {
			t.Errorf("memory of its own: status %#x", s)
		}
	})
}

// A device that is none of these chips is refused.
func TestNew_of_another_chip(t *testing.T) {
	model, err := card.New(card.Config{Chip: card.Chip{PCIDevice: 0x1007}, Fixed: &card.Firmware{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(&wire.World{}, Config{Model: model}); err == nil {
		t.Error("a ConnectX-3 Pro is taken for an InfiniHost")
	}
}

// The firmware answers management: the port is one of the chip.
func TestCard_management(t *testing.T) {
	d := newDriver(t, &wire.World{}, arbel, 0)
	get := func(attribute uint16) []byte {
		m := make([]byte, fabric.MADSize)
		m[0], m[1], m[2], m[3] = 1, 1, 1, 1
		be.PutUint16(m[16:], attribute)
		be.PutUint32(m[20:], 1)
		return d.must(madIFC, 1, m)[64:]
	}
	if node := get(0x11); be.Uint64(node[12:]) != nodeGUID || be.Uint16(node[28:]) != 64 {
		t.Errorf("node info: % x", node[:40])
	}
	port := get(0x15)
	if speeds, mtu := port[32]>>4, port[41]&0xf; speeds != 3 || mtu != 4 {
		t.Errorf("port info: speeds %d, MTU %d", speeds, mtu)
	}
}

// connect makes two cards with a link and a queue pair each, and active ports of the LIDs
// 1 and 2.
func connect(t testing.TB, device uint16, service byte) (a, b *driver) {
	w := &wire.World{}
	a, b = newDriver(t, w, device, 0), newDriver(t, w, device, 1)
	a.peer, b.peer = 2, 1
	wire.Connect(a.Port(1), b.Port(1))
	a.open(service)
	b.open(service)
	activate(a, 1)
	activate(b, 2)
	return a, b
}

// A message of several packets goes over a connection, and both sides are told.
func TestConnection_send(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		a, b := connect(t, device, reliable)
		text := bytes.Repeat([]byte("over the wire "), 60) // four packets of 256 bytes
		a.put(pageData, text)
		b.offer(0, 2048)
		a.post(0, uint32(len(text)))
		if e := b.completion(0); e[28]&0x1f != wire.SendLast || be.Uint32(e[20:]) != uint32(len(text)) {
			t.Errorf("received: % x", e)
		}
		if e := a.completion(0); e[28] != opSend || e[29] != 0x80 || be.Uint32(e) != qpNumber ||
			be.Uint32(e[24:]) != sendStart {
			t.Errorf("sent: % x", e)
		}
		if got := b.get(pageData, len(text)); !bytes.Equal(got, text) {
			t.Errorf("got %q", got)
		}
		b.offer(1, 16) // too small
		a.post(1, 100)
		if e := a.completion(1); e[28] != opcodeSendError || e[16] != byte(transport.RemoteInvalid) {
			t.Errorf("a message that is too long: % x", e)
		}
		if e := b.completion(1); e[28] != opcodeReceiveError {
			t.Errorf("at its receiver: % x", e)
		}
		a.post(2, 8)
		if e := a.completion(2); e[28] != opcodeSendError || e[16] != byte(transport.Flushed) {
			t.Errorf("after the error: % x", e)
		}
	})
}

// One side writes into the memory of the other, and reads from it, if the key allows it.
func TestConnection_remote_memory(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		a, b := connect(t, device, reliable)
		a.put(pageData, []byte("written"))
		a.ring(0, opWrite, a.write(0, 7, 0, pageOther, b.key(indexAll), 0), 1)
		if got := b.get(pageOther, 7); string(got) != "written" || a.completion(0)[28] != opWrite {
			t.Errorf("wrote %q: % x", got, a.completion(0))
		}
		b.put(pageOther, []byte("fetched"))
		a.ring(1, opRead, a.write(1, 7, 0, pageOther, b.key(indexAll), 0), 1)
		if got := a.get(pageData, 7); string(got) != "fetched" || a.completion(1)[28] != opRead {
			t.Errorf("read %q: % x", got, a.completion(1))
		}
		a.ring(2, opWrite, a.write(2, 7, 0, pageOther, b.key(99), 0), 1)
		if e := a.completion(2); e[28] != opcodeSendError || e[16] != byte(transport.RemoteAccess) {
			t.Errorf("a key that is not there: % x", e)
		}
	})
}

// Requests of one doorbell are a list. In Tavor mode one error stands for all of them.
func TestQueuePair_requests_at_once(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		a, b := connect(t, device, reliable)
		b.offer(0, 64)
		b.offer(1, 64)
		size := a.write(0, 8)
		a.write(1, 8)
		a.link(0, 1, opSend, size, false)
		a.ring(0, opSend, size, 2)
		if n := a.completions(); n != 2 || b.completions() != 2 {
			t.Fatalf("%d sent, %d received", n, b.completions())
		}
		a.must(toError, qpNumber, nil)
		a.write(2, 8)
		a.write(3, 8)
		a.link(2, 3, opSend, size, false)
		a.ring(2, opSend, size, 2)
		want := 4
		if a.ownMemory {
			want = 3
		}
		if n := a.completions(); n != want {
			t.Errorf("%d completions, want %d", n, want)
		}
	})
}

// vector is an address vector of a datagram to a LID.
func vector(lid uint32) []uint32 { return []uint32{1 << 24, lid, 0, 0, 0, 0, 0, 2} }

// Datagrams pass with their Q_Key, and not with another.
func TestDatagram(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		a, b := connect(t, device, datagram)
		av := vector(2)
		if a.ownMemory {
			a.words(pageOther, av...)
			av = []uint32{0, a.key(indexAll), 0, pageOther, 0, 0, 0, 0}
		}
		a.put(pageData, []byte("a datagram"))
		b.offer(0, 128)
		for i, key := range []uint32{0x4321, 0x1234} {
			segment := append(append([]uint32(nil), av...), qpNumber, key, 0, 0)
			a.ring(uint32(i), opSend, a.write(uint64(i), 10, segment...), 1)
		}
		if n := b.completions(); n != 1 {
			t.Fatalf("%d datagrams", n)
		}
		e := b.completion(0)
		if be.Uint32(e[8:]) != qpNumber || be.Uint16(e[14:]) != 1 || be.Uint32(e[20:]) != 50 {
			t.Errorf("received: % x", e)
		}
		if got := b.get(pageData+40, 10); string(got) != "a datagram" {
			t.Errorf("got %q", got)
		}
	})
}

// activate does what a subnet manager does with the first port.
func activate(d *driver, lid uint16) {
	d.Helper()
	for _, state := range []byte{fabric.Armed, fabric.Active} {
		m := make([]byte, fabric.MADSize)
		m[0], m[1], m[2], m[3] = 1, 1, 1, 2
		be.PutUint16(m[16:], 0x15)
		be.PutUint32(m[20:], 1)
		be.PutUint16(m[64+16:], lid)
		m[64+32] = state
		d.must(madIFC, 1, m)
	}
}

// Multicast goes to the queue pairs of a group.
func TestMulticast(t *testing.T) {
	d := newDriver(t, &wire.World{}, arbel, 0)
	d.open(datagram)
	gid := append([]byte{0xff, 0x12}, make([]byte, 14)...)
	group := make([]byte, groupSize)
	copy(group[16:], gid)
	be.PutUint32(group[32:], 1<<31|qpNumber)
	be.PutUint32(group[36:], 0x99) // not taken
	d.must(writeMGM, 3, group)
	if got := d.must(readMGM, 3, nil); !bytes.Equal(got[:groupSize], group) {
		t.Error("the group is not what was written")
	}
	if s := d.command(hashMGID, 0, 0, gid); s != hcr.OK {
		t.Errorf("hash: status %#x", s)
	}
	d.offer(0, 128)
	header := append(make([]byte, 24), gid...)
	d.world.Do(func() {
		d.Deliver(1, &wire.Packet{Opcode: wire.UDSend, DLID: wire.FirstMulticast, GRH: header, PKey: 0xffff, QKey: 0x1234,
			Payload: []byte("all")})
	})
	if e := d.completion(0); e[13]&0x80 == 0 || be.Uint32(e[20:]) != 43 {
		t.Errorf("received: % x", e)
	}
}

// What is in the queues comes back flushed when the queue pair goes into the error state.
func TestQueuePair_flush(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		d := newDriver(t, &wire.World{}, device, 0)
		d.open(reliable)
		d.offer(0, 64)
		if s := d.command(initToRTR, 0, qpNumber, d.context(reliable)); s != hcr.BadState {
			t.Errorf("a command of another state: status %#x", s)
		}
		d.must(toError, qpNumber, nil)
		if e := d.completion(0); e[28] != opcodeReceiveError || e[16] != byte(transport.Flushed) {
			t.Errorf("receive request: % x", e)
		}
		if n := d.completions(); n != 1 {
			t.Errorf("%d completions", n)
		}
	})
}

// Messages to a queue pair that shares its receive queue go into that; the last one is
// told once.
func TestSharedQueue(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		a, b := connect(t, device, reliable)
		const number, stride = 5, 64
		s := make([]byte, 64)
		be.PutUint32(s, 2<<24)
		be.PutUint32(s[4:], b.key(indexOther))
		be.PutUint32(s[8:], recordIndex+1)
		be.PutUint32(s[12:], 2<<29)
		if b.ownMemory {
			s = make([]byte, 64)
			s[7] = stride / 16
			be.PutUint32(s[12:], b.key(indexOther))
		}
		b.must(setSRQ, number, s)
		for i := range uint32(2) {
			b.words(pageOther+uint64(i)*stride, (i+1)*stride|1, 0, 0, 0, 64, b.key(indexAll), 0, pageData, 0, endKey, 0, 0)
		}
		if b.ownMemory {
			b.bell(bellReceive, 0, number<<8|2)
		} else {
			b.words(pageRecords+(recordIndex+1)*8, 2)
		}
		c := b.context(reliable)
		be.PutUint32(c[8+ctxSRQ:], 1<<24|number)
		for _, op := range []uint32{toReset, resetToInit, initToRTR, rtrToRTS} {
			b.must(op, qpNumber, c)
		}
		a.post(0, 8)
		a.post(1, 8)
		for i := range uint64(2) {
			if e := b.completion(i); be.Uint32(e[24:]) != uint32(i)*stride || be.Uint32(e[20:]) != 8 {
				t.Errorf("message %d: % x", i, e)
			}
		}
		if s := b.command(mapEQ, 0, eqNumber, nil); s != hcr.OK {
			t.Fatalf("status %#x", s)
		}
		b.world.Do(func() { b.hca.routes[eventLastRequest] = route{eq: eqNumber, set: true} })
		b.must(toError, qpNumber, nil)
		b.must(toError, qpNumber, nil)
		if n := b.events(eventLastRequest); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// A completion queue tells once that it has something, if it is armed; what the driver
// has not read yet makes that at once. It can move to another buffer.
func TestCompletionQueue(t *testing.T) {
	forms(t, func(t *testing.T, device uint16) {
		d := newDriver(t, &wire.World{}, device, 0)
		d.open(reliable)
		arm := func(seen uint32) {
			if d.ownMemory {
				d.bell(bellCompletion, 4<<24|cqNumber, seen)
			}
			d.bell(bellCompletion, 2<<24|cqNumber, seen)
		}
		arm(0)
		d.offer(0, 64)
		d.offer(1, 64)
		d.must(toError, qpNumber, nil)
		if n := d.events(eventCompletion); n != 1 {
			t.Errorf("%d events of two completions", n)
		}
		arm(1)
		if n := d.events(eventCompletion); n != 2 {
			t.Errorf("%d events after another look", n)
		}
		arm(2)
		if n := d.events(eventCompletion); n != 2 {
			t.Errorf("%d events of nothing new", n)
		}
		resize := make([]byte, 64)
		resize[12] = 6
		be.PutUint32(resize[28:], d.key(indexOther))
		if s := d.command(resizeCQ, 1, cqNumber, resize); s != hcr.OK {
			t.Fatalf("resize: status %#x", s)
		}
		d.post(0, 8) // flushed
		if e := d.get(pageOther+2*entrySize, entrySize); e[28] != opcodeSendError {
			t.Errorf("in the new buffer: % x", e)
		}
	})
}

// FuzzHostile holds that a hostile machine does the card no harm: with a command, with
// work requests of any content, and with doorbells.
func FuzzHostile(f *testing.F) {
	for op := range handlers {
		f.Add(uint8(0), op, uint32(0), uint32(1), []byte{1, 2, 3})
	}
	f.Add(uint8(1), uint32(setCQ), uint32(0), uint32(1), bytes.Repeat([]byte{0xff}, 64))
	f.Add(uint8(2), uint32(mapICM), uint32(0), uint32(1), append(make([]byte, 15), 0x3f))
	f.Add(uint8(1), uint32(rtsToRTS), uint32(0), uint32(qpNumber), bytes.Repeat([]byte{0x80, 0xff, 3, 2}, 64))
	f.Fuzz(func(t *testing.T, form uint8, op, modifier, index uint32, in []byte) {
		in = in[:min(len(in), 4096)]
		device := []uint16{arbel, tavor, sinai}[form%3]
		service := []byte{reliable, datagram, 7}[form/3%3]
		a, b := connect(t, device, service)
		b.offer(0, 64)
		a.command(op&0xfff, modifier&0xf, index, in)
		a.put(pageQP, in)
		a.put(pageRecords, in)
		words := slices.Concat(in, make([]byte, 16))
		for _, at := range []uint64{bellSend, bellReceive, bellCompletion, bellEvent} {
			a.bell(at, be.Uint32(words), be.Uint32(words[4:]))
			a.bell(at, be.Uint32(words[8:]), qpNumber<<8|be.Uint32(words[12:])&0xff)
		}
		a.WriteRegion(vfiouser.BAR0, regArm, words[:8])
		a.world.Do(func() { a.bus.Unmap() })
		a.bell(bellSend, 1<<24|opSend, qpNumber<<8|2)
	})
}
