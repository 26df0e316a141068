package managed

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
)

// A change that the host may still undo, and resume commands that are left to a person: they wait for the undo.
func TestDrain_failure_of_a_lost_host(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	lost := errors.New("the host restores the former configuration by itself at about 14:03:20")
	err := Drain{What: "configure IPoIB interface nas/1", Diags: &diags}.failure(&reboot.Error{Host: "nas",
		Step: reboot.StepReady, Err: lost, Unresumed: []string{"mount -a"}, UnresumedBy: errors.New("no route")})
	if !errors.Is(err, lost) || len(diags) != 1 {
		t.Fatalf("%v, %v", err, diags)
	}
	told := diags[0].Summary() + "\n" + diags[0].Detail()
	wait, commands := strings.Index(told, "Wait for that first."), strings.Index(told, "    mount -a")
	if wait < 0 || commands < wait || !strings.HasPrefix(told, "Unable to run the resume commands of host nas\n") {
		t.Error(told)
	}
}

// A resume command that fails after a change: whether that was made, and whether the state has it.
func TestDrain_failure_of_a_resume_command(t *testing.T) {
	t.Parallel()
	step := &reboot.Error{Host: "nas", Step: reboot.StepResume, Err: errors.New("status 1"), Unresumed: []string{"false"}}
	refused := diag.Diagnostics{diag.NewErrorDiagnostic("Refusing", "")}
	for says, d := range map[string]Drain{
		"The change was not made.":            {Diags: &refused, Late: &diag.Diagnostics{}},
		"the next apply takes it in.":         {Diags: &diag.Diagnostics{}},
		"A resume command failed after it.\n": {Diags: &diag.Diagnostics{}, Late: &diag.Diagnostics{}},
	} {
		var told *explain.Failure
		if !errors.As(d.failure(step), &told) || !strings.Contains(told.Explain(), says) {
			t.Errorf("%q: %v", says, told)
		}
	}
}

// Why a drain command stopped the change, and why a resume command failed after it.
func TestDrain_failure_of_a_drain_command(t *testing.T) {
	t.Parallel()
	broken := errors.New("status 1")
	for _, x := range []struct {
		err          error
		title, says  string
		resumeFailed error
	}{
		{broken, "a drain command failed", "On host nas a drain command failed, so the change was not begun.",
			errors.New("mount: no route")},
		{&host.UnreachableError{Op: host.OpRun, Limit: "15m (reboot.timeout)"}, "a drain command did not end",
			"On host nas a drain command did not end within 15m (reboot.timeout), so", nil},
		{&host.UnreachableError{Op: host.OpRun, Err: context.Canceled}, "the apply was interrupted while a drain command ran",
			"On host nas the apply was interrupted while a drain command ran, so", nil},
	} {
		step := &reboot.Error{Host: "nas", Step: reboot.StepDrain, Err: x.err, UnresumedBy: x.resumeFailed}
		if x.resumeFailed != nil {
			step.Unresumed = []string{"mount -a"}
		}
		var told *explain.Failure
		if !errors.As(Drain{Name: "nas", What: "configure IPoIB interface nas/1"}.failure(step), &told) {
			t.Fatalf("%v: another error", x.err)
		}
		if told.Title() != "Unable to configure IPoIB interface nas/1: "+x.title || !strings.Contains(told.Explain(), x.says) ||
			strings.Contains(told.Explain(), "Error of the resume command: mount: no route") != (x.resumeFailed != nil) {
			t.Errorf("%s\n%s", told.Title(), told.Explain())
		}
	}
}
