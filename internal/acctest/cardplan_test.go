package acctest

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// unknownIn names the attributes of a planned resource that are known after the apply only.
func unknownIn(p *Plan, address string) (names []string) {
	attrs, _ := p.Get(address).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if hasUnknown(attrs[name]) {
			names = append(names, name)
		}
	}
	return names
}

func hasUnknown(v any) bool {
	switch v := v.(type) {
	case unknown:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasUnknown)
	case []any:
		return slices.ContainsFunc(v, hasUnknown)
	}
	return false
}

// The plan of a new card has all that was read of it, so that what needs a port of it is judged
// while planning, and the apply that burns the card leaves nothing in its state that is no longer
// so: only what is new is added.
func TestCard_plan_has_all_that_was_read(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: labs.TwoHosts()[:1]})
	ws := w.Workspace()
	card := "infiniband_card." + host
	cfg := w.CrossFlash(host)
	plan := cleanPlan(t, ws, cfg)
	if names := unknownIn(plan, card); len(names) > 0 {
		t.Errorf("the plan of the card does not know %q", names)
	}
	applyStep(t, ws, plan, "")
	before, _ := ws.Get(card).(map[string]any)
	emptyPlan(t, ws, cfg)
	now, _ := ws.Get(card).(map[string]any)
	for name, is := range now {
		was := before[name]
		if name == "card_identity" || name == "port_guids" { // the GUIDs that were written
			if cmp.Equal(was, is) {
				t.Errorf("the refresh adds nothing to %s: %v", name, is)
			}
		} else if !cmp.Equal(was, is) {
			t.Errorf("after the apply the state has %v in %s, and the host %v", was, name, is)
		}
	}
}

// stopped applies the plan of a new resource whose card has changed since: the engine compares the
// change of that plan with the one of now, and stops before anything is written.
func stopped(t *testing.T, ws *Workspace, plan *Plan) {
	t.Helper()
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	checkUntainted(t, ws)
	if len(diags.Errors().Find("inconsistent final plan", "change: planned")) != 1 {
		t.Errorf("the apply goes on, though the card has changed since %v:\n%s", Decode(plan.Changes[0].Planned), diags)
	}
}
