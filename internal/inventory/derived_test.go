package inventory

import "testing"

// What is made of a snapshot is made once for each key; a snapshot that somebody puts together, and
// may change, keeps nothing.
func TestDerive(t *testing.T) {
	t.Parallel()
	type key struct{ of string }
	made := 0
	at := func(s *Snapshot, of string) int {
		return Derive(s, key{of}, func() int { made++; return made })
	}
	kept, other, bare := &Snapshot{Derived: new(Derived)}, &Snapshot{Derived: new(Derived)}, &Snapshot{}
	for i, got := range []int{at(kept, "a"), at(kept, "a"), at(kept, "b"), at(other, "a"), at(kept, "b"), at(bare, "a"),
		at(bare, "a")} {
		if want := []int{1, 1, 2, 3, 2, 4, 5}[i]; got != want {
			t.Errorf("call %d: made as number %d, want %d", i, got, want)
		}
	}
}
