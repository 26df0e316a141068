//go:build linux

package iba7322

import (
	"bytes"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// bus drives the two wires as qib_twsi.c does: by the enabling of pins that are low.
type bus struct{ *driver }

func (b bus) pins(change func(uint64) uint64) {
	b.set(regExtControl, change(b.get(regExtControl)>>48)<<48|b.get(regExtControl)&(1<<48-1))
}

func (b bus) drive(pin uint64, high bool) {
	b.pins(func(v uint64) uint64 {
		if high {
			return v &^ pin
		}
		return v | pin
	})
}

func (b bus) clock(high bool)  { b.drive(pinClock, high) }
func (b bus) data(high bool)   { b.drive(pinData, high) }
func (b bus) level() (bit int) { return int(b.get(regExtStatus) >> 49 & 1) }

func (b bus) begin() { b.data(true); b.clock(true); b.data(false); b.clock(false) }
func (b bus) end()   { b.clock(false); b.data(false); b.clock(true); b.data(true) }

// write sends a byte, and reports whether it was acknowledged.
func (b bus) write(v byte) bool {
	for n := 7; n >= 0; n-- {
		b.data(v>>n&1 != 0)
		b.clock(true)
		b.clock(false)
	}
	b.data(true)
	b.clock(true)
	taken := b.level() == 0
	b.clock(false)
	return taken
}

func (b bus) read(last bool) (v byte) {
	for range 8 {
		b.clock(true)
		v = v<<1 | byte(b.level())
		b.clock(false)
	}
	if last {
		b.clock(true)
		b.end()
		return v
	}
	b.data(false)
	b.clock(true)
	b.clock(false)
	b.data(true)
	return v
}

// block reads from a device; nil if none answers.
func (b bus) block(device, at byte, n int) (all []byte) {
	b.begin()
	if !b.write(device) {
		b.end()
		return nil
	}
	b.write(at)
	b.begin()
	b.write(device | 1)
	for i := range n {
		all = append(all, b.read(i == n-1))
	}
	return all
}

// The driver reads the board's memory by two pins: it has the GUID, and its sum is right.
func TestEEPROM(t *testing.T) {
	b := bus{newDriver(t, &wire.World{}, 1)}
	for range 2 { // a transfer leaves the bus free
		got := b.block(addressEEPROM, 0, 128)
		if len(got) != 128 || be.Uint64(got[3:]) != nodeGUID || string(got[12:24]) != "AIB1109A0001" {
			t.Fatalf("got %x", got)
		}
		if s := sum(got[:got[2]]); s != 0xff {
			t.Errorf("the sum is %#x", s)
		}
	}
	if got := b.block(addressEEPROM, 46, 19); !bytes.Equal(got, []byte("Tested successfully")) {
		t.Errorf("got %q", got)
	}
	b.begin()
	for _, v := range []byte{addressEEPROM, 40, 1, 2} {
		if !b.write(v) {
			t.Errorf("%#x is not taken", v)
		}
	}
	b.end()
	b.Reset()
	if got := b.block(addressEEPROM, 40, 3); !bytes.Equal(got, []byte{1, 2, 0}) {
		t.Errorf("after a write: % x", got)
	}
	if b.block(0x98, 0, 1) != nil {
		t.Error("a device that is not there answers")
	}
}

// The memory of a cable answers while its port is selected, with right sums.
func TestCable(t *testing.T) {
	w := &wire.World{}
	d, other := newDriver(t, w, 2), newDriver(t, w, 1)
	cable := wire.Connect(d.Port(2), other.Port(1))
	b := bus{d}
	if b.block(addressCable, 128, 1) != nil {
		t.Error("a cable that is not selected answers")
	}
	b.drive(pinSelected<<pinsOfPort, false)
	got := b.block(addressCable, 0, 256)
	if len(got) != 256 || got[128] != 0x0d || sum(got[128:191]) != got[191] || sum(got[192:223]) != got[223] {
		t.Errorf("got % x", got)
	}
	cable.Pull()
	if b.block(addressCable, 128, 1) != nil {
		t.Error("a cable that was pulled answers")
	}
}

// A cable pulls its pin low, and one that is plugged in interrupts.
func TestPins(t *testing.T) {
	w := &wire.World{}
	d, other := newDriver(t, w, 1), newDriver(t, w, 1)
	present := func() bool { return d.get(regExtStatus)>>48&pinPresent == 0 }
	d.set(regExtControl, pinPresent<<32) // upside down
	d.set(regGPIOMask, pinPresent)
	d.set(regIntMask, ^uint64(0))
	if present() || d.get(regGPIOStatus) != 0 {
		t.Error("there is a cable")
	}
	cable := wire.Connect(d.Port(1), other.Port(1))
	interrupted := func(want bool) {
		t.Helper()
		if got := d.get(regGPIOStatus) == pinPresent && d.get(regIntStatus)&intGPIO != 0; got != want {
			t.Errorf("interrupted: %v", got)
		}
		d.set(regGPIOClear, pinPresent)
		d.set(regIntClear, ^uint64(0))
	}
	if !present() {
		t.Error("there is no cable")
	}
	interrupted(true)
	cable.Pull()
	if present() {
		t.Error("a cable that was pulled is there")
	}
	interrupted(false)
	cable.Plug()
	interrupted(true)
	if d.get(regExtStatus)&(1<<14) == 0 {
		t.Error("the self-test does not end")
	}
}

// The registers of the SerDes are ready, and calibrated.
func TestSerDes(t *testing.T) {
	d := newDriver(t, &wire.World{}, 1)
	d.set(regSerDes, 25<<17)
	if v := d.get(regSerDes); v>>31&1 == 0 || v>>32 != 1<<9 {
		t.Errorf("got %#x", v)
	}
}
