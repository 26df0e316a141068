package acctest

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestWalk_… are walks whose steps are counted one by one: archtest runs each up to its steps and compares how
// often a host was interpreted on the way.
func TestWalk_SM(t *testing.T) {
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	mustApply(t, ws, smOptions(nil))
	changed := smOptions(map[string]any{"priority": 9})
	t.Run("empty_plan", func(t *testing.T) { emptyPlan(t, ws, smOptions(nil)) })
	t.Run("plan", func(t *testing.T) { mustPlan(t, ws, changed) })
	t.Run("plan_and_apply", func(t *testing.T) { mustApply(t, ws, changed) })
	if file := w.Run(labs.Intel9, "cat "+smConf); file == "" {
		t.Error("the subnet manager has no file of options")
	}
}

func TestWalk_LinkTypes(t *testing.T) {
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, cfg, changed := w.Workspace(), w.types(labs.Intel9, "ib", "ib"), w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, cfg)
	t.Run("empty_plan", func(t *testing.T) { emptyPlan(t, ws, cfg) })
	t.Run("plan", func(t *testing.T) { mustPlan(t, ws, changed) })
	t.Run("plan_and_apply", func(t *testing.T) { mustApply(t, ws, changed) })
	if got := ws.Get("infiniband_link_type.it", "stored_in"); got != "modprobe.d" {
		t.Errorf("stored_in is %v", got)
	}
}

// A card, an image and the firmware of the card.
func TestWalk_firmware(t *testing.T) {
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws := w.Workspace()
	newer, older := firmwareOf(w, labs.Intel9, nil)
	mustApply(t, ws, older)
	t.Run("empty_plan", func(t *testing.T) { emptyPlan(t, ws, older) })
	t.Run("plan", func(t *testing.T) { mustPlan(t, ws, newer) })
	t.Run("plan_and_apply", func(t *testing.T) { mustApply(t, ws, newer) })
	if flash := w.Flash(labs.Intel9); flash.PSID == "" {
		t.Error("the card has no firmware")
	}
}
