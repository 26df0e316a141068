package planned_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

// Core plans in no order what stays and what goes: the second of the two finds the first.
func TestWalk_oneOfTwoObjectsStays(t *testing.T) {
	t.Parallel()
	it, other := planned.Object{Kind: "k", Key: "a"}, planned.Object{Kind: "k", Key: "b"}
	for name, order := range map[string][]func(*planned.Walk) bool{
		"stays first": {func(w *planned.Walk) bool { return w.Stays(it) }, func(w *planned.Walk) bool { return w.Goes(it) }},
		"goes first":  {func(w *planned.Walk) bool { return w.Goes(it) }, func(w *planned.Walk) bool { return w.Stays(it) }},
	} {
		w := planned.NewWalk()
		if w.Stays(other) || order[0](w) || !order[1](w) {
			t.Errorf("%s: it is not the second that finds the first", name)
		}
	}
	w := planned.NewWalk()
	if first, second := w.Goes(it), w.Goes(it); first || second || w.Made(it) {
		t.Error("two that go find one that stays")
	}
	w.Remove(it, []string{"10.0.0.1/24"})
	if len(w.Removed(it)) != 1 || len(w.Removed(other)) != 0 {
		t.Errorf("removed: %v, %v", w.Removed(it), w.Removed(other))
	}
	w.Make(it)
	if !w.Made(it) || w.Made(other) {
		t.Error("not the one that was made is made")
	}
}
