//go:build linux

package iba7322

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// describe writes a descriptor of the ring.
func (d *driver) describe(n int, addr uint64, size int, flags uint64) {
	b := le.AppendUint64(nil, addr<<32|uint64(size/4)<<16|flags)
	d.put(atRing+uint64(n)*16, le.AppendUint64(b, addr>>32))
}

// startDMA does what the driver does before it sends.
func (d *driver) startDMA() {
	d.set(reg(0, portDMABase), atRing)
	d.set(reg(0, portDMALength), 4)
	d.set(reg(0, portDMAHeadAddress), atHead)
	d.set(reg(0, portSendControl), dmaHalt)
	d.set(reg(0, portSendControl), dmaHalt|dmaCleanUp)
	d.set(reg(0, portSendControl), dmaEnabled)
}

// The engine tells that it halts, and that it has been cleaned up.
func TestDMA_start(t *testing.T) {
	a, _ := linked(t, 1)
	a.startDMA()
	if a.get(reg(0, portErrors))&errDMAHalted == 0 || a.get(regIntStatus)>>intCleanedUp&1 == 0 {
		t.Errorf("errors %#x, interrupts %#x", a.get(reg(0, portErrors)), a.get(regIntStatus))
	}
	if s := a.get(reg(0, portDMAStatus)); s>>61&1 != 0 {
		t.Errorf("it runs, and its status is %#x", s)
	}
}

// Packets of several pieces leave in order, around the end of the ring, and the driver is
// told how far.
func TestDMA_send(t *testing.T) {
	a, b := linked(t, 1)
	a.startDMA()
	a.set(regIntClear, ^uint64(0))
	immediate := uint32(0x1234)
	want := wire.Packet{SLID: 1, DLID: 2, Opcode: wire.SendOnlyImm, PKey: 0xffff, DestQP: 0x42, PSN: 7, AckRequest: true,
		Immediate: &immediate, Payload: []byte("a piece")}
	for i := range 3 {
		header, payload := encode(&want)
		control := uint64(len(header)+len(payload))/4 + 1
		a.put(atPacket, append(le.AppendUint64(nil, control), header...))
		a.put(atPacket+0x800, payload)
		first, second := 2*i%4, (2*i+1)%4
		a.describe(first, atPacket, controlSize+len(header), descFirst)
		a.describe(second, atPacket+0x800, len(payload), descLast|descStoreHead)
		tail := uint64(second+1) % 4
		a.set(reg(0, portDMATail), tail)
		if diff := cmp.Diff(&want, b.received(0, i)); diff != "" {
			t.Error(diff)
		}
		if got := le.Uint64(a.take(atHead, 8)); got != tail || a.get(reg(0, portDMAHead)) != tail {
			t.Errorf("head %d, want %d", got, tail)
		}
	}
	if a.get(regIntStatus)>>intIdle&1 == 0 || a.get(regIntStatus)>>intDMA&1 != 0 {
		t.Errorf("interrupts %#x", a.get(regIntStatus))
	}
}

// A descriptor that names no memory halts the engine.
func TestDMA_no_memory(t *testing.T) {
	a, _ := linked(t, 1)
	a.startDMA()
	a.set(reg(0, portErrorClear), ^uint64(0))
	a.describe(0, guestSize, 64, descFirst|descLast|descInterrupt)
	a.set(reg(0, portDMATail), 1)
	if e := a.get(reg(0, portErrors)); e != errDMAHalted|errDMABase || a.get(reg(0, portDMAHead)) != 0 {
		t.Errorf("errors %#x, head %d", e, a.get(reg(0, portDMAHead)))
	}
}

// A context that the driver does not empty loses packets; once it is emptied, the next
// ones come, numbered on.
func TestReceive_full(t *testing.T) {
	a, b := linked(t, 1)
	send := func() {
		a.sendBy(smallBuffers, 0, datagram(wire.Packet{DLID: 2, Opcode: wire.UDSend, DestQP: 1, Payload: []byte("data")}))
	}
	for range entryCount + 2 {
		send()
	}
	if n := b.get(portCounts + countOverflow); n != 3 {
		t.Errorf("%d packets lost", n)
	}
	b.set(regIntClear, ^uint64(0))
	b.set(contextRegs+ctxHead, b.get(contextRegs+ctxTail)|16<<32)
	b.set(contextRegs+ctxEagerHead, b.get(contextRegs+ctxEagerTail)-1)
	if b.get(regIntStatus)&1 != 0 {
		t.Error("an empty queue interrupts")
	}
	for range 7 {
		send()
		b.set(contextRegs+ctxHead, b.get(contextRegs+ctxTail)|16<<32)
	}
	if _, high := b.flags(0, 13%entryCount); high != 1 {
		t.Errorf("after %d comes %d", lastSequence, high)
	}
}

// Without a buffer that is large enough a packet is lost.
func TestReceive_buffers(t *testing.T) {
	a, b := linked(t, 1)
	for i := range kernelBuffers {
		b.set(eagerTable+8*uint32(i), 1<<37|atEager>>11) // 2 KiB
	}
	a.sendBy(largeBuffers, 0, datagram(wire.Packet{DLID: 2, Opcode: wire.SendOnly, DestQP: 9, Payload: make([]byte, 4096)}))
	if b.get(portCounts+countOverflow) != 1 || b.get(contextRegs+ctxTail) != 0 {
		t.Error("a packet of 4 KiB fits in 2 KiB")
	}
}

// The number of contexts decides how many buffers each has.
func TestContexts(t *testing.T) {
	d := newDriver(t, &wire.World{}, 1)
	for configured, want := range map[uint64]uint64{0: 4096, 1: 2048, 2: 1024} {
		d.set(regReceiveControl, configured<<41)
		if got := d.get(regEagerCount); got != want {
			t.Errorf("configuration %d: %d buffers", configured, got)
		}
	}
}

// Each operation survives the bytes that the driver sees.
func TestPacket(t *testing.T) {
	value := uint32(0xdeadbeef)
	for opcode := range uint8(0x80) {
		x, known := extensionsOf(opcode)
		if !known {
			continue
		}
		for size := range 5 {
			want := &wire.Packet{SLID: 3, DLID: 4, SL: 2, Opcode: opcode, Solicited: true, PKey: 0x8001, DestQP: 5, PSN: 0xfffffe,
				AckRequest: size == 0, Payload: bytes.Repeat([]byte{7}, size)}
			if size == 1 {
				want.GRH = bytes.Repeat([]byte{9}, sizeGRH)
			}
			if x.datagram {
				want.QKey, want.SrcQP = 1, 2
			}
			if x.rdma {
				want.Address, want.RKey, want.Length = 1<<40, 8, 9
			}
			if x.ack {
				want.Syndrome, want.MessageSequence = 0x1f, 77
			}
			if x.immediate {
				want.Immediate = &value
			}
			b := datagram(*want)
			if got, err := decode(b); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%#x: %v %s", opcode, err, cmp.Diff(want, got))
			}
			if len(b)%4 != 0 || int(be.Uint16(b[4:]))*4 != len(b)+checksum {
				t.Errorf("%#x: %d bytes say %d words", opcode, len(b), be.Uint16(b[4:]))
			}
		}
	}
}

// Bytes that are no packet are refused.
func FuzzDecode(f *testing.F) {
	f.Add(datagram(wire.Packet{Opcode: wire.UDSend, Payload: []byte("data")}))
	f.Add([]byte{0, followsGRH, 19: 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		if k, err := decode(b); err == nil {
			encode(k)
		}
	})
}

// Whatever a machine writes, the card stays.
func TestHostile(t *testing.T) {
	a, _ := linked(t, 2)
	r := rand.New(rand.NewPCG(1, 2))
	places := []uint32{0, 0x200, portRegs, portRegs + portStride, portCounts, smallBuffers, buffersEnd - largeStride, contextRegs}
	for range 200_000 {
		at := uint64(places[r.IntN(len(places))]) + uint64(r.IntN(0x800))
		if at == regControl || r.IntN(2) > 0 {
			at &^= 7
		}
		p := le.AppendUint64(nil, r.Uint64()>>r.IntN(64))
		a.WriteRegion(vfiouser.BAR0, at, p[:1+r.IntN(8)])
		a.WriteRegion(vfiouser.BAR0, at, p)
		a.get(uint32(at))
	}
}
