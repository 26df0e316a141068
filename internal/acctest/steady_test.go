package acctest

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A host changes between plan and apply. The apply ends as planned or says what has
// changed; it never ends in core's complaint about the provider.
func TestSteady_GUIDs(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	ws := w.Workspace()
	wants := func(attrs map[string]any) Config {
		attrs["card_id"] = host + "/" + w.PCI(host)
		return Config{{Type: "infiniband_guids", Name: "it", Attrs: attrs}}
	}
	byHand := func(base, mac string) { w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid "+base+" -mac "+mac+" sg") }

	// Somebody sets the same values: before the resource is made, and before a change.
	plan := cleanPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:10:00"}))
	byHand("0xe41d2d0300001000", "0xe41d2d001000")
	stepped(t, ws, plan, "")
	plan = cleanPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00"}))
	byHand("0xe41d2d0300002000", "0xe41d2d002000")
	stepped(t, ws, plan, "")
	emptyPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00"}))

	// A restart that is planned is made by somebody else.
	waits := wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00", "activation": "reboot", "timeout": "30m"})
	plan = cleanPlan(t, ws, waits)
	if len(plan.Changes) != 1 || plan.Changes[0].Action != Update {
		t.Errorf("the restart is not planned: %v", plan.Changes)
	}
	w.Reboot(host)
	stepped(t, ws, plan, "")
	emptyPlan(t, ws, waits)

	// The half that is not asked for becomes another one.
	plan = cleanPlan(t, ws, wants(map[string]any{"macs": []any{"e4:1d:2d:00:30:00", "e4:1d:2d:00:30:01"}}))
	byHand("0xe41d2d0300004000", "0xe41d2d002000")
	stepped(t, ws, plan, "HO019")

	// The driver goes away: what is in effect stays unknown, before and after.
	other := wants(map[string]any{"base_mac": "e4:1d:2d:00:50:00"})
	plan = cleanPlan(t, ws, other)
	w.Run(host, "modprobe -r mlx4_ib; modprobe -r mlx4_en; modprobe -r mlx4_core")
	stepped(t, ws, plan, "")
	if state := Decode(ws.State["infiniband_guids.it"].Value); field(t, state, "reboot_required") != nil || field(t, state, "effective", "node_guid") != nil {
		t.Errorf("the state says what nothing shows: %v", state)
	}
	emptyPlan(t, ws, other)
}

func TestSteady_link_types(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	ws, second := w.Workspace(), w.Workspace()

	// Two applies at once: the second finds done what it planned.
	first := cleanPlan(t, ws, w.types(host, "ib", "ib"))
	again := cleanPlan(t, second, w.types(host, "ib", "ib"))
	stepped(t, ws, first, "")
	stepped(t, second, again, "")
	emptyPlan(t, second, w.types(host, "ib", "ib"))

	// Somebody flips the ports, to what was planned and away from it.
	plan := cleanPlan(t, ws, w.types(host, "eth", "eth"))
	stepped(t, second, cleanPlan(t, second, w.types(host, "eth", "eth")), "")
	stepped(t, ws, plan, "")
	emptyPlan(t, ws, w.types(host, "eth", "eth"))

	// The driver goes away: the refusal says so.
	plan = cleanPlan(t, ws, w.types(host, "ib", "ib"))
	w.Run(host, "modprobe -r mlx4_ib; modprobe -r mlx4_en; modprobe -r mlx4_core")
	stepped(t, ws, plan, "LT008")
}

// stepped applies a plan; it succeeds, or fails with a code of the provider's.
func stepped(t *testing.T, ws *Workspace, plan *Plan, code string) {
	t.Helper()
	diags, err := ws.Apply(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	untainted(t, ws)
	errs := diags.Errors()
	switch {
	case len(errs.Find("inconsistent")) > 0:
		t.Errorf("core blames the provider:\n%s", errs)
	case code == "" && len(errs) > 0:
		t.Errorf("apply:\n%s", errs)
	case code != "" && len(errs.Find("Finding: "+code)) == 0:
		t.Errorf("the apply does not say %s:\n%s", code, errs)
	}
}
