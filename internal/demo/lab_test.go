package main

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
)

// TestCommands holds that the simulated hosts know every command of the demo with all its
// options, and print what the demo looks for. A host that is asked for an option that its
// program does not have fails the lab at its end.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	ws := w.Workspace()
	plan, err := ws.Plan(t.Context(), w.BothHosts())
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("plan: %v\n%s", err, plan.Diags.Errors())
	}
	if said, applyErr := ws.Apply(t.Context(), plan); applyErr != nil || said.HasError() {
		t.Fatalf("apply: %v\n%s", applyErr, said.Errors())
	}
	l := watch(w.Lab, t.Logf)
	if err = l.evidence(t.Context()); err != nil {
		t.Error(err)
	}
	if err = l.drift(t.Context()); err != nil {
		t.Error(err)
	}
}

// What the demo prints can be typed into a shell.
func TestTyped(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		"ibstat":                     {"ibstat"},
		`sh -c 'echo eth > /x'`:      {"sh", "-c", "echo eth > /x"},
		`plan '-var=a={b="c"}' -d x`: {"plan", `-var=a={b="c"}`, "-d", "x"},
	} {
		if got := typed(argv...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
