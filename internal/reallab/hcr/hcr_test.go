package hcr_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
)

var be = binary.BigEndian

// machine is memory from address 0 on.
type machine []byte

var errOutside = errors.New("outside")

func (m machine) Read(addr uint64, p []byte) error {
	if addr+uint64(len(p)) > uint64(len(m)) {
		return errOutside
	}
	copy(p, m[addr:])
	return nil
}

func (m machine) Write(addr uint64, p []byte) error {
	if addr+uint64(len(p)) > uint64(len(m)) {
		return errOutside
	}
	copy(m[addr:], p)
	return nil
}

// A command begins with its last word, and ends with its status, an answer and an event.
func TestRegister(t *testing.T) {
	var r hcr.Register
	var c hcr.Command
	for i, v := range []uint32{1, 2, 3, 4, 5, 0xabcd << 16, 1<<23 | 1<<22 | 2<<12 | 0xffa} {
		var started bool
		if c, started = r.Write(hcr.Base+uint32(i)*4, v); started != (i == 6) {
			t.Fatalf("word %d: started %v", i, started)
		}
	}
	if c != (hcr.Command{Op: 0xffa, Modifier: 2, Index: 3, In: 1<<32 | 2, Out: 4<<32 | 5}) {
		t.Errorf("command %+v", c)
	}
	answer := uint64(7<<32 | 8)
	e, wanted := r.Finish(hcr.BadParam, &answer)
	if !wanted || e[1] != hcr.EventCommand || be.Uint16(e[6:]) != 0xabcd || e[15] != hcr.BadParam || be.Uint64(e[16:]) != answer {
		t.Errorf("event % x", e)
	}
	if v := r.Read(hcr.Base + 24); v>>24 != hcr.BadParam || v&(1<<23) != 0 {
		t.Errorf("status word %#x", v)
	}
	if r.Read(hcr.Base+12) != 7 || r.Read(hcr.Base+16) != 8 {
		t.Error("the answer is not in the register")
	}
}

// Pages that a driver has lent are found by their place in the tables until it takes them
// back.
func TestPages(t *testing.T) {
	m := make(machine, 64)
	be.PutUint64(m, 0x40000)
	be.PutUint64(m[8:], 0x7000|1) // two pages
	var p hcr.Pages
	if s := p.Map(m, hcr.Command{Index: 1}); s != hcr.OK {
		t.Fatalf("status %#x", s)
	}
	if bus, there := p.At(0x41234); !there || bus != 0x8234 {
		t.Errorf("%#x, %v", bus, there)
	}
	if _, there := p.At(0x42000); there {
		t.Error("there is a page that was not lent")
	}
	p.Unmap(hcr.Command{In: 0x40000, Index: 2})
	if _, there := p.At(0x41234); there {
		t.Error("a page is there after it was taken back")
	}
	for name, c := range map[string]hcr.Command{"no memory": {In: 1 << 40, Index: 1}, "too many": {Index: 1 << 20}} {
		if s := p.Map(m, c); s != hcr.BadParam {
			t.Errorf("%s: status %#x", name, s)
		}
	}
	be.PutUint64(m[8:], 0x3f) // 2^63 pages
	if s := p.Map(m, hcr.Command{Index: 1}); s != hcr.BadResource {
		t.Errorf("too large a piece: status %#x", s)
	}
}

// Translations are stored one after the other, until one cannot be.
func TestWriteMTT(t *testing.T) {
	m := make(machine, 64)
	be.PutUint64(m, 0x100)
	be.PutUint64(m[16:], 0x1001)
	be.PutUint64(m[24:], 0x2001)
	got := map[uint64]uint64{}
	store := func(addr uint64, entry []byte) bool {
		got[addr] = be.Uint64(entry)
		return addr < 0x108
	}
	if s := hcr.WriteMTT(m, hcr.Command{Index: 3}, store); s != hcr.BadParam {
		t.Errorf("status %#x", s)
	}
	if len(got) != 2 || got[0x100] != 0x1001 || got[0x108] != 0x2001 {
		t.Errorf("stored %v", got)
	}
	if s := hcr.WriteMTT(m, hcr.Command{Index: 511}, store); s != hcr.BadParam {
		t.Errorf("too many: status %#x", s)
	}
}
