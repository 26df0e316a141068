package managed

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

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
