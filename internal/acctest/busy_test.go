package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A plan beside somebody's burn shows what was read last where it is asked for nothing
// new: nothing is to be written, so that there is nothing to refuse.
func TestBusy_plan_without_changes_beside_a_burn_by_hand(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws, cfg := w.Workspace(), w.CrossFlash(labs.Intel9)
	mustApply(t, ws, cfg)
	w.byHand(labs.Intel9)
	emptyPlan(t, ws, cfg)
	if text := fmt.Sprint(cleanPlan(t, ws, cfg).Diags); !strings.Contains(text, "its flash could not be read") ||
		!strings.Contains(text, "busy: mstflint -d 0000:01:00.0") {
		t.Errorf("nothing is said of who is at the card: %s", text)
	}
}
