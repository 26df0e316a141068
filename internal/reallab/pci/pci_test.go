package pci_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
)

func newSpace() *pci.Space {
	s := pci.NewSpace(pci.Header{Vendor: 0x15b3, Device: 0x6282, Class: 0x0c0600, Revision: 0xa0,
		BARs: map[int]uint32{0: pci.Memory64}})
	s.AddPower(0x40)
	s.AddVPD(0x48, []byte("a card's data"))
	s.AddMSIX(0x9c, 32, 0x1000, 0x2000)
	s.AddExpress(0x60, pci.Link{Lanes: 8, Speeds: 3})
	s.AddSerial(0x0002c90200298e00)
	return s
}

// The list of capabilities ends, and has them in the order in which they were added.
func TestSpace_capabilities(t *testing.T) {
	s := newSpace()
	byteAt := func(at int) byte {
		b := make([]byte, 1)
		s.Read(at, b)
		return b[0]
	}
	if byteAt(6)&0x10 == 0 {
		t.Error("the status does not say that there are capabilities")
	}
	var ids []byte
	for at := byteAt(0x34); at != 0 && len(ids) < 9; at = byteAt(int(at) + 1) {
		ids = append(ids, byteAt(int(at)))
	}
	if !bytes.Equal(ids, []byte{1, 3, 0x11, 0x10}) {
		t.Errorf("capabilities % x", ids)
	}
	if w := s.Word(0x08); w != 0x0c0600a0 {
		t.Errorf("class and revision %#x", w)
	}
}

// The first version of PCI Express leaves the bytes behind it to others.
func TestSpace_Express(t *testing.T) {
	s := pci.NewSpace(pci.Header{})
	s.AddMSIX(0x84, 32, 0x1000, 0x2000)
	s.AddExpress(0x60, pci.Link{Lanes: 8, Speeds: 1})
	if version, bits := s.Word(0x60)>>16&0xf, s.Word(0x8c); version != 1 || bits != 0x2000 {
		t.Errorf("version %d, pending bits of MSI-X at %#x", version, bits)
	}
}

// Software changes what it may, and nothing else.
func TestSpace_writes(t *testing.T) {
	s := newSpace()
	before := make([]byte, pci.SpaceSize)
	s.Read(0, before)
	s.Write(0, bytes.Repeat([]byte{0xff}, 0x40))
	after := make([]byte, pci.SpaceSize)
	s.Read(0, after)
	for at := range 0x40 {
		writable := at >= 4 && at < 6 || at >= 0x0c && at < 0x28 || at == 0x3c
		if changed := before[at] != after[at]; changed && !writable || !changed && writable {
			t.Errorf("offset %#x: changed %v", at, changed)
		}
	}
}

// Vital product data comes four bytes at a time; behind its end there is nothing.
func TestSpace_VPD(t *testing.T) {
	s := newSpace()
	var got []byte
	for at := byte(0); at < 20; at += 4 {
		s.Write(0x4a, []byte{at, 0})
		if s.Word(0x48)>>31 == 0 {
			t.Fatal("no data comes")
		}
		word := make([]byte, 4)
		s.Read(0x4c, word)
		got = append(got, word...)
	}
	if string(bytes.TrimRight(got, "\x00")) != "a card's data" {
		t.Errorf("got %q", got)
	}
	s.Write(0x4a, []byte{0, 0x80})
	if s.Word(0x48)>>31 != 0 {
		t.Error("a write of data is not done")
	}
}

// Registers are read whole, at whatever byte a machine begins.
func TestWords(t *testing.T) {
	reads := 0
	b := make([]byte, 6)
	pci.ReadWords(2, b, func(addr uint32) uint32 { reads++; return 0x01020300 + addr })
	if want := []byte{3, 0, 1, 2, 3, 4}; !bytes.Equal(b, want) || reads != 2 {
		t.Errorf("% x in %d reads, want % x", b, reads, want)
	}
	written := map[uint32]uint32{}
	pci.WriteWords(8, []byte{0, 0, 0, 1, 0, 0, 0, 2, 9}, func(addr, v uint32) { written[addr] = v })
	if len(written) != 2 || written[8] != 1 || written[12] != 2 {
		t.Errorf("written: %v", written)
	}
}

// A reset ends the timers that were set before it.
func TestTimers(t *testing.T) {
	var mu sync.Mutex
	do := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	timers := pci.NewTimers(do)
	old, done := false, make(chan struct{})
	do(func() {
		timers.After(time.Millisecond, func() { old = true })
		timers.Forget()
		timers.After(20*time.Millisecond, func() { close(done) })
	})
	<-done
	do(func() {
		if old {
			t.Error("a timer outlived the reset")
		}
	})
}
