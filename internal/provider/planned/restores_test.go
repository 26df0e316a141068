package planned

import "testing"

// Core plans in no order that can be relied on: the destroy may come first.
func TestRestores_whoHoldsACard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		card   string
		exists bool
		want   Holder
	}{
		{"new block of the card", "a/0000:01:00", false, HeldByNew},
		{"block of the state", "a/0000:01:00", true, HeldByOther},
		{"another card", "a/0000:02:00", false, HeldByNobody},
	} {
		r := NewRestores()
		if r.Hold(c.card, c.exists) {
			t.Errorf("%s: restored before anything was announced", c.name)
		}
		if got := r.Announce("a/0000:01:00"); got != c.want {
			t.Errorf("%s, then the destroy: %d, want %d", c.name, got, c.want)
		}
		r = NewRestores()
		r.Announce("a/0000:01:00")
		if got := r.Hold(c.card, c.exists); got != (c.want != HeldByNobody) {
			t.Errorf("the destroy, then %s: restored %t", c.name, got)
		}
	}
	r := NewRestores()
	if r.HoldUnknown() || r.Announce("a/0000:01:00") != HeldPerhaps {
		t.Error("a card that is not known yet may be the one that is restored")
	}
	r = NewRestores()
	if r.Announce("a/0000:01:00"); !r.HoldUnknown() {
		t.Error("a card that is restored may be the one that is not known yet")
	}
	if one, other := NewRestores().Walk(), NewRestores().Walk(); one == other {
		t.Error("two walks have one name")
	}
}
