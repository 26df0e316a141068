package acctest

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The middleware shows a change that waits for its check-in as if it held, and undoes it if
// nobody checks in. An apply that was killed before does not come back to do it.
func TestIPoIB_TrueNAS_unconfirmed_change(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("needs the middleware of TrueNAS")
	drivers(w)
	const nas = labs.Xeon2zfs
	ws, eye := w.Workspace(), w.Workspace()
	eye.Provider["mode"] = "observe"
	before := ipoib(nas, nil)
	after := ipoib(nas, map[string]any{"addresses": []any{"172.16.1.20/24"}})
	store := func(commit string) {
		w.Run(nas, `midclt call interface.update ibs4 '{"aliases": [{"type": "INET", "address": "172.16.1.20", `+
			`"netmask": 24}]}' && midclt call interface.commit '`+commit+`'`)
	}
	mustApply(t, ws, before)
	eye.State = ws.State

	store(`{"checkin_timeout": 36000}`)
	plan := cleanPlan(t, ws, after)
	if plan.Changes[0].Action != Update || len(plan.Diags.Warnings().Find("IP016", "seconds left for a check-in",
		"goes back")) != 1 {
		t.Errorf("%s of what the middleware will undo:\n%s", plan.Changes[0].Action, plan.Diags)
	}
	if said := applyStep(t, ws, plan, "IP016"); !strings.Contains(said, "plan again") {
		t.Error(said)
	}
	// A host that is only read gets nothing to do.
	if said := emptyPlan(t, eye, after).Diags.Warnings(); len(said.Find("IP016")) != 1 {
		t.Errorf("observe: %s", said)
	}
	// A new object is not taken for there either.
	if said := mustPlan(t, w.Workspace(), after).Diags.Errors(); len(said.Find("IP016")) != 1 {
		t.Errorf("create: %s", said)
	}

	w.Run(nas, `midclt call interface.rollback`)
	mustApply(t, ws, after)
	emptyPlan(t, ws, after)

	// Somebody checks in what was announced to be undone: the apply has nothing to do.
	mustApply(t, ws, before)
	store(`{"checkin_timeout": 36000}`)
	plan = cleanPlan(t, ws, after)
	w.Run(nas, `midclt call interface.checkin`)
	if diags, err := ws.Apply(context.Background(), plan); err != nil || diags.HasError() {
		t.Fatalf("checked in: %v\n%s", err, diags)
	}
	emptyPlan(t, ws, after)

	// An edit of another interface that nobody has committed takes nothing back by itself.
	w.Run(nas, `midclt call interface.update eno1 '{"description": "uplink"}'`)
	if said := emptyPlan(t, ws, after).Diags.Warnings(); len(said.Find("IP016", "pending changes: true")) != 1 {
		t.Errorf("pending: %s", said)
	}
}
