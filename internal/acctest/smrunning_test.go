package acctest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// later lets the clock of the lab go on: times of files and units are compared by the second.
func (w *Lab) later() { w.Clock.Skip(3 * time.Second) }

// A file that was edited, read by a restart, and put back says what we write, and opensm runs with
// something else. Neither a signal of ours nor a boot looks like that.
func TestSM_runs_with_something_else(t *testing.T) {
	t.Parallel()
	const host, one = labs.Intel9, "infiniband_opensm.it"
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("moves the clock")
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	mustApply(t, ws, cfg)
	w.later()
	priority, member := [2]string{"sm_priority 5", "sm_priority 3"}, [2]string{"ALL_CAS=limited", "ALL_CAS=full"}
	for _, edit := range []struct {
		file, back string
		spoil      [2]string
	}{
		{smConf, "cat /root/kept >", priority}, {smParts, "cat /root/kept >", member},
		// The file has the old time of its content again.
		{smConf, "cp -p /root/kept ", priority}, {smParts, "mv /root/kept ", member},
	} {
		file := edit.file
		w.Run(host, "cp -p "+file+" /root/kept")
		w.Put(host, file, strings.Replace(w.Run(host, "cat "+file), edit.spoil[0], edit.spoil[1], 1))
		w.Run(host, "systemctl restart "+smUnit)
		w.later()
		w.Run(host, edit.back+file)
		w.later()
		plan := cleanPlan(t, ws, cfg)
		if plan.Actions()[one] != Update || len(plan.Diags.Warnings().Find("Finding: SM034", smUnit+" runs since ",
			file+" was changed at ")) != 1 {
			t.Errorf("%s was put back: %v\n%s", file, plan.Actions(), plan.Diags)
		}
		pid := w.mainPID(host, smUnit)
		mustApply(t, ws, cfg)
		if w.mainPID(host, smUnit) == pid {
			t.Errorf("not restarted after %s was put back", file)
		}
		w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")
		emptyPlan(t, ws, cfg)
	}

	// What opensm reads again by our signal, it has.
	w.later()
	cfg = smOptions(map[string]any{"priority": 9})
	pid := w.mainPID(host, smUnit)
	mustApply(t, ws, cfg)
	w.later()
	if emptyPlan(t, ws, cfg); w.mainPID(host, smUnit) != pid {
		t.Error("restarted for what opensm reads again")
	}
	w.Run(host, "systemctl restart "+smUnit)
	emptyPlan(t, ws, cfg)
}

// A file that is gone changes no value of the plan, so the plan names it.
func TestSM_file_is_gone(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	mustApply(t, ws, cfg)
	for _, file := range []string{smConf, smParts} {
		w.Run(labs.Intel9, "rm "+file)
		plan := cleanPlan(t, ws, cfg)
		if plan.Actions()["infiniband_opensm.it"] != Update ||
			len(plan.Diags.Warnings().Find("Finding: HO034", file+" of intel9 is gone")) != 1 {
			t.Errorf("%s: %v\n%s", file, plan.Actions(), plan.Diags)
		}
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
	}
}

// A destroy starts nothing, so that a mask does not stop it. It removes what is ours and leaves the mask.
func TestSM_destroy_of_a_masked_one(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	o := newOperator(t, w, smOptions(nil), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	w.Run(labs.Intel9, "systemctl mask "+smUnit)
	for _, args := range [][]string{{"plan", "-destroy"}, {"destroy", "-auto-approve", "-target=infiniband_opensm.it"}} {
		out := o.says(0, args...)
		if args[0] == "destroy" && !strings.Contains(out, smUnit+" stays masked") {
			t.Errorf("the destroy does not tell of the mask:\n%s", out)
		}
	}
	if _, status := w.Try(labs.Intel9, "test -e "+smConf); status == 0 {
		t.Errorf("%s stays after the destroy", smConf)
	}
	if out, _ := w.Try(labs.Intel9, "systemctl show -p LoadState --value "+smUnit); strings.TrimSpace(out) != "masked" {
		t.Errorf("the mask is gone: %s", out)
	}
}

// What Terraform cannot hold is an edited line, and not a value of the state: no plan would ever
// mend the file. A negative time is none, and a set has no value twice.
func TestSM_lines_without_sense(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	mustApply(t, ws, cfg)
	member := portGUID(labs.Intel9, 1) + "=full"
	for _, edit := range []struct{ file, old, now, says string }{
		{smConf, "sminfo_polling_timeout 1000", "sminfo_polling_timeout -5", " also has: sminfo_polling_timeout -5"},
		{smConf, "polling_retry_number 2", "polling_retry_number 9223372036854",
			" also has: polling_retry_number 9223372036854"},
		{smParts, member, member + ", " + member, ""},
	} {
		ours := w.Run(labs.Intel9, "cat "+edit.file)
		if !strings.Contains(ours, edit.old) {
			t.Fatalf("%s is not in\n%s", edit.old, ours)
		}
		w.Put(labs.Intel9, edit.file, strings.Replace(ours, edit.old, edit.now, 1))
		plan := cleanPlan(t, ws, cfg)
		if plan.Actions()["infiniband_opensm.it"] != Update ||
			len(plan.Diags.Warnings().Find("HO034", edit.file+edit.says)) != 1 {
			t.Errorf("%s: %v\n%s", edit.now, plan.Actions(), plan.Diags)
		}
		mustApply(t, ws, cfg)
		if now := w.Run(labs.Intel9, "cat "+edit.file); now != ours {
			t.Errorf("after the apply:\n%s", now)
		}
		emptyPlan(t, ws, cfg)
	}
}

// A master that does not read its options again keeps its old priority in the fabric. The apply
// says so, and again until it is restarted.
func TestSM_that_does_not_take_its_priority(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	soon := map[string]any{"timeouts": map[string]any{"update": "20s"}}
	mustApply(t, ws, sm(host, soon))
	w.tool(host, "/usr/bin/systemctl", func(ctx context.Context, p *labsim.Proc, former labsim.Program) int {
		if slices.Contains(p.Args, "kill") {
			return 0
		}
		return former(ctx, p)
	})
	soon["priority"] = 7
	for range 2 {
		diags, err := ws.Apply(context.Background(), mustPlan(t, ws, sm(host, soon)))
		if err != nil || len(diags.Errors().Find("its priority in the fabric is 5, not 7")) != 1 {
			t.Fatalf("%v\n%s", err, diags)
		}
	}
	w.Run(host, "systemctl restart "+w.unit(host))
	mustApply(t, ws, sm(host, soon))
}
