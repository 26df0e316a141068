package fabric

import "testing"

// The trap of a wrong M_Key names who sent the request; the host itself where that is not
// said. It must not name the subnet manager, which hears of it.
func TestPort_offender(t *testing.T) {
	w, cards, _, _ := lab(t)
	activate(t, w, cards)
	m := newMAD(methodSet, attrPortInfo, 1)
	copy(m.data(), state(2, 0))
	be.PutUint64(m.data(), 0x1234)
	w.Do(func() { cards[1].port.MAD(m, 0, true) })
	m[1] = classLID
	for from, want := range map[uint16]uint16{11: 11, 0: 2} {
		w.Do(cards[1].port.notify.forget)
		cards[0].got = nil
		w.Do(func() { cards[1].port.MAD(m, from, false) })
		trap := cards[0].take(t)
		if trap.method() != methodTrap || be.Uint16(trap.data()[4:]) != trapKey {
			t.Fatalf("no trap: % x", trap[:80])
		}
		if got := be.Uint16(trap.data()[12:]); got != want {
			t.Errorf("from LID %d: the trap names %d", from, got)
		}
	}
}
