package acctest

import (
	"strings"
	"testing"
)

// planSize is what a reader of a plan has to get through.
type planSize struct{ lines, unknown, writeOnly, warnings int }

// largest is the bound of the first plan of the main example. Lower it whenever the plan becomes
// shorter, and never raise it: the aim is 250 lines, 25 unknown values and 3 warnings.
var largest = planSize{lines: 539, unknown: 112, writeOnly: 28, warnings: 9}

// sizeOf counts what an engine printed of a plan.
func sizeOf(text string) planSize {
	const override = "Warning: Provider development overrides are in effect" // of the tests alone
	return planSize{
		lines:     strings.Count(strings.TrimSpace(text), "\n") + 1,
		unknown:   strings.Count(text, "(known after apply)"),
		writeOnly: strings.Count(text, "(write-only attribute)"),
		warnings:  strings.Count(text, "Warning: ") - strings.Count(text, override),
	}
}

// The first plan of the main example is what a person reads before hardware is written. It stays
// short, says what is known, and warns of little.
func TestPlanSize_first_plan_of_the_crossflash(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	o := newFolder(t, buildProvider(t))
	o.mirror()
	o.example("crossflash", w)
	o.says(0, "init")
	cmd, out := o.command("plan")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := sizeOf(out.String())
	t.Logf("%+v, at most %+v", got, largest)
	if got.lines > largest.lines || got.unknown > largest.unknown || got.writeOnly > largest.writeOnly ||
		got.warnings > largest.warnings || got.lines < 50 {
		t.Errorf("the plan has %+v, expected at most %+v:\n%s", got, largest, out)
	}
}
