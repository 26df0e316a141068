package acctest

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The GUIDs of one card go to another one. Two cards never use the same ones at a time: the
// card that had them restarts before the other one gets them.
func TestGUIDs_handed_over(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	ws := w.Workspace()
	giver, taker := labs.Xeon2zfs, labs.Intel9
	handed := fmt.Sprintf("0x%016x", NodeGUID(giver))
	config := func(activation string, order ...string) Config {
		gives := w.guids(giver, map[string]any{"base_guid": "0xe41d2d0300bbbb00", "activation": activation,
			"allow": map[string]any{"guid_change": replacingGUIDs(NodeGUID(giver), 0xe41d2d0300bbbb00)}})[0]
		takes := w.guids(taker, map[string]any{"base_guid": handed,
			"allow": map[string]any{"guid_change": replacingGUIDs(NodeGUID(taker), NodeGUID(giver))}})[0]
		gives.Name, takes.Name, takes.After = "gives", "takes", order
		return Config{gives, takes}
	}
	// Without a restart of the giver the plan says what is in the way, and of which card.
	ordered := "infiniband_guids.gives"
	mustApply(t, ws, config("none", ordered)[:1])
	if said := emptyPlan(t, ws, config("none", ordered)[:1]).Diags.Warnings(); len(said.Find("HO011")) != 1 {
		t.Errorf("the restart that is missing is not named:\n%s", said)
	}
	early := mustPlan(t, ws, config("none", ordered)).Diags.Errors()
	if len(early.Find("GU016", "Restart the host of the other card first", giver+"/"+w.PCI(giver))) == 0 {
		t.Errorf("before the restart of the giver:\n%s", early)
	}
	plan := cleanPlan(t, ws, config("reboot", ordered))
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, config("reboot", ordered))
	if got := ws.Get("infiniband_guids.takes", "node_guid"); got != handed {
		t.Errorf("the card has %v", got)
	}
}

// A card that still uses the GUIDs of another one is named in each plan, and stops none.
func TestGUIDs_used_until_a_restart(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	ws := w.Workspace()
	holds := w.guids(labs.Intel9, map[string]any{"base_guid": "0xe41d2d0300bbbb00",
		"allow": map[string]any{"guid_change": replacingGUIDs(NodeGUID(labs.Intel9), 0xe41d2d0300bbbb00)}})
	mustApply(t, ws, holds)
	other := w.PCI(labs.Xeon2zfs)
	for _, base := range []string{"0xe41d2d0300bbbb00", "0xe41d2d0300cccc00"} {
		w.Run(labs.Xeon2zfs, "mstflint -y -d "+other+" -guid "+base+" sg")
		if base == "0xe41d2d0300bbbb00" {
			w.Restart(labs.Xeon2zfs)
		}
	}
	plan := emptyPlan(t, ws, holds)
	if len(plan.Diags.Warnings().Find("GU016")) == 0 {
		t.Errorf("nobody says who uses the GUIDs:\n%s", plan.Diags)
	}
}
