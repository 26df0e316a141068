package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// planSize is what a reader of a plan has to get through.
type planSize struct{ lines, unknown, writeOnly, warnings int }

// largest is the bound of the first plan of each example. Lower it whenever a plan becomes
// shorter, and never raise it. The aim for crossflash is 250 lines, 25 unknown values and 3 warnings.
var largest = map[string]planSize{
	"crossflash":     {lines: 302, unknown: 46, writeOnly: 13, warnings: 0},
	"oem":            {lines: 188, unknown: 22, writeOnly: 8, warnings: 0},
	"gpu":            {lines: 198, unknown: 7, writeOnly: 5, warnings: 1},
	"qlogic":         {lines: 126, unknown: 6, writeOnly: 4, warnings: 0},
	"point-to-point": {lines: 201, unknown: 41, writeOnly: 4, warnings: 2},
}

// sizeOf counts what an engine printed of a plan.
func sizeOf(text string) planSize {
	return planSize{
		lines:     strings.Count(strings.TrimSpace(text), "\n") + 1,
		unknown:   strings.Count(text, "(known after apply)"),
		writeOnly: strings.Count(text, "(write-only attribute)"),
		warnings:  strings.Count(text, "Warning: "),
	}
}

// The first plan of an example is what a person reads before hardware is written. It stays
// short, says what is known, and warns of little. No check waits for the apply.
func TestPlanSize_first_plans_of_the_examples(t *testing.T) {
	t.Parallel()
	built := buildProvider(t)
	for name, bound := range largest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: labs.Named[name]()})
			o := newFolder(t, built)
			o.mirror()
			o.example(name, w)
			o.says(0, "init")
			cmd, out := o.command("plan")
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := sizeOf(out.String())
			t.Logf("%s: %+v, at most %+v", name, got, bound)
			if got.lines > bound.lines || got.unknown > bound.unknown || got.writeOnly > bound.writeOnly ||
				got.warnings > bound.warnings || got.lines < 50 || strings.Contains(out.String(), "Checked at apply") {
				t.Errorf("the plan has %+v, expected at most %+v:\n%s", got, bound, out)
			}
		})
	}
}
