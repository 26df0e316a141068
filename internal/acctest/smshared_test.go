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
