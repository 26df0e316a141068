package acctest

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The package runs a subnet manager on every port. A resource for one of them ends without
// stopping the other, and its plan names that one.
func TestSM_destroy_leaves_others(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.Install(host, "opensm")
	other := "opensm@" + portGUID(host, 2) + ".service"
	w.Run(host, "systemctl start opensm.service && systemctl is-active "+other)
	ws := w.Workspace()
	mustApply(t, ws, sm(host, nil))
	pid := w.mainPID(host, other)
	plan := mustPlan(t, ws, nil)
	if len(plan.Diags.Warnings().Find("Removing subnet manager", "opensm.service stays, because "+other+" runs")) != 1 {
		t.Errorf("the plan of the destroy does not name %s:\n%s", other, plan.Diags)
	}
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || diags.HasError() || len(diags.Warnings().Find("Removed subnet manager", other+" runs")) != 1 {
		t.Errorf("the destroy: %v\n%s", err, diags)
	}
	if now := w.mainPID(host, other); now != pid || now == "0" {
		t.Errorf("%s was process %s and is %s", other, pid, now)
	}
}

// Somebody has switched off the service that starts every listed port. A resource for one of them
// does not start another, and its plan names what starts at the next boot.
func TestSM_create_starts_no_others(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.Install(host, "opensm")
	one, two := portGUID(host, 1), portGUID(host, 2)
	other := "opensm@" + two + ".service"
	w.Put(host, "/etc/default/opensm", "PORTS=\""+one+" "+two+"\"\n")
	w.Run(host, "systemctl disable opensm.service; systemctl stop opensm.service")
	ws := w.Workspace()
	plan := cleanPlan(t, ws, sm(host, nil))
	if len(plan.Diags.Warnings().Find("SM035", other+" starts at the next boot", "take its port out of PORTS")) != 1 {
		t.Errorf("the plan does not name %s:\n%s", other, plan.Diags)
	}
	if diags, err := ws.Apply(t.Context(), plan); err != nil || diags.HasError() {
		t.Fatalf("the apply: %v\n%s", err, diags)
	}
	if out, _ := w.Try(host, "systemctl is-active "+other); out != "inactive\n" {
		t.Errorf("%s is %s", other, out)
	}
	after := emptyPlan(t, ws, sm(host, nil))
	if len(after.Diags.Find("SM035")) > 0 || len(after.Diags.Warnings().Find("SM036", "On intel9 "+other+" starts")) != 1 {
		t.Errorf("the next plan:\n%s", after.Diags)
	}
	// By hand: all ports at the next boot, and one that runs now.
	w.Put(host, "/etc/default/opensm", "PORTS=ALL\n")
	w.Run(host, "systemctl start "+other)
	if after = emptyPlan(t, ws, sm(host, nil)); len(after.Diags.Warnings().Find("SM036", "says PORTS=ALL",
		"write the ports that are to have one")) != 1 {
		t.Errorf("the plan after PORTS=ALL:\n%s", after.Diags)
	}
	w.Put(host, "/etc/default/opensm", "PORTS=\""+one+"\"\n")
	if after = emptyPlan(t, ws, sm(host, nil)); len(after.Diags.Warnings().Find("SM036", "On intel9 "+other+" runs.")) != 1 {
		t.Errorf("the plan with a second one that runs:\n%s", after.Diags)
	}
}
