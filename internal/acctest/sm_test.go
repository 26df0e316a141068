package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const (
	smConf  = "/etc/opensm/terraform-0xe41d2d0300e44ed1.conf"
	smParts = "/etc/opensm/terraform-0xe41d2d0300e44ed1.partitions.conf"
	smUnit  = "opensm@0xe41d2d0300e44ed1.service"
)

// smOptions is a subnet manager with every option.
func smOptions(extra map[string]any) Config {
	all := map[string]any{
		"routing_engine": []any{"updn"}, "log_level": "verbose", "log_max_size": 8, "sminfo_polling_timeout": "1000ms",
		"polling_retry_number": 2,
		"partitions": map[string]any{
			"Default": map[string]any{"ipoib": true, "full": []any{"ALL"}},
			"storage": map[string]any{"pkey": "0x8001", "ipoib": true, "full": []any{portGUID(labs.Intel9, 1)},
				"limited": []any{"ALL_CAS"}},
		},
	}
	for k, v := range extra {
		all[k] = v
	}
	return sm(labs.Intel9, all)
}

func (w *Lab) mainPID(host, unit string) string {
	w.t.Helper()
	return strings.TrimSpace(w.Run(host, "systemctl show -p MainPID --value "+unit))
}

// A subnet manager with options and partitions: in force on the fabric, stable,
// changed without a restart where that is enough, mended, imported, removed.
func TestSM_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	cfg := smOptions(nil)
	mustApply(t, ws, cfg)
	state, ok := Decode(ws.State["infiniband_opensm.it"].Value).(map[string]any)
	for attribute, want := range map[string]any{"role": "master", "handover_time": "4s", "port_state": "Active"} {
		if !ok || state[attribute] != want {
			t.Errorf("%s = %v, expected %v", attribute, state[attribute], want)
		}
	}
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x0001 ")
	emptyPlan(t, ws, cfg)

	// Members and priority are re-read; the process stays.
	pid := w.mainPID(labs.Intel9, smUnit)
	cfg = smOptions(map[string]any{"priority": 9, "partitions": map[string]any{
		"Default": map[string]any{"ipoib": true, "full": []any{"ALL"}},
		"storage": map[string]any{"pkey": "0x0001", "ipoib": true, "full": []any{"ALL"}},
	}})
	mustApply(t, ws, cfg)
	w.inForce(" 0xffff 0x8001 ", " 0xffff 0x8001 ")
	if now := w.mainPID(labs.Intel9, smUnit); now != pid {
		t.Errorf("restarted for what opensm reads again: PID %s, then %s", pid, now)
	}
	// A group that exists does not change without a restart.
	cfg = smOptions(map[string]any{"priority": 9,
		"partitions": map[string]any{"Default": map[string]any{"ipoib": true, "mtu": 4096, "full": []any{"ALL"}}}})
	mustApply(t, ws, cfg)
	if now := w.mainPID(labs.Intel9, smUnit); now == pid {
		t.Error("not restarted for the MTU of a group")
	}
	if out := w.Run(labs.Intel9, "saquery -g"); !strings.Contains(out, "Mtu.....................0x85") {
		t.Errorf("groups:\n%s", out)
	}

	for name, spoil := range map[string]func(){
		"an option": func() {
			w.Put(labs.Intel9, smConf, strings.Replace(w.Run(labs.Intel9, "cat "+smConf), "updn", "ftree", 1))
		},
		"a partition": func() {
			w.Put(labs.Intel9, smParts, strings.Replace(w.Run(labs.Intel9, "cat "+smParts), "ALL=full", "ALL=limited", 1))
		},
		"no more unit":   func() { w.Run(labs.Intel9, "systemctl stop "+smUnit) },
		"not at boot":    func() { w.Run(labs.Intel9, "systemctl disable opensm.service") },
		"a file is gone": func() { w.Run(labs.Intel9, "rm "+smConf) },
	} {
		spoil()
		if got := cleanPlan(t, ws, cfg).Actions()["infiniband_opensm.it"]; got != Update {
			t.Errorf("%s: the plan says %q", name, got)
		}
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
	}

	fresh := w.Workspace()
	if diags, err := fresh.Import(context.Background(), cfg[0], labs.Intel9+"/"+portGUID(labs.Intel9, 1)); err != nil ||
		diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	emptyPlan(t, fresh, cfg)
	mustApply(t, fresh, nil)
	for _, path := range []string{smConf, smParts, "/etc/systemd/system/" + smUnit + ".d/terraform-infiniband.conf"} {
		if _, status := w.Try(labs.Intel9, "test -e "+path); status == 0 {
			t.Errorf("%s stays after the destroy", path)
		}
	}
}

// inForce holds the P_Key tables of both hosts' first ports.
func (w *Lab) inForce(intel9, xeon2zfs string) {
	w.t.Helper()
	for host, want := range map[string]string{labs.Intel9: intel9, labs.Xeon2zfs: xeon2zfs} {
		if table := w.pkeys(host); table != want {
			w.t.Errorf("%s has the P_Keys%s, expected%s", host, table, want)
		}
	}
}

// pkeys is the P_Key table of a host's first port, with blanks around each.
func (w *Lab) pkeys(host string) string {
	w.t.Helper()
	table := " "
	if w.testbed != nil {
		for _, key := range strings.Fields(w.Run(host,
			"cd /sys/class/infiniband/*/ports/1/pkeys; cat $(ls | sort -n)")) {
			if key != "0x0000" {
				table += key + " "
			}
		}
		return table
	}
	for _, k := range w.Card(host).Ports[0].View().PKeys {
		table += fmt.Sprintf("0x%04x ", k)
	}
	return table
}

// A systemd that does not answer says neither that a subnet manager runs nor that it
// does not: the state keeps what was read last, and a change is refused.
func TestSM_silentSystemd(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	mustApply(t, ws, cfg)
	w.Machine(labs.Intel9).Faults.Trap("systemctl show --property=Id", 0, labsim.ProgramFault{Exit: true, Status: 1})
	emptyPlan(t, ws, cfg)
	if warned := cleanPlan(t, ws, cfg).Diags.Warnings().Find("whether it runs could not be read",
		"systemctl show ended with status 1"); len(warned) == 0 {
		t.Error("nothing is said of a systemd that does not answer")
	}
	if ws.Get("infiniband_opensm.it", "active") != true || ws.Get("infiniband_opensm.it", "enabled") != true {
		t.Errorf("the state does not keep what was read: %v", Decode(ws.State["infiniband_opensm.it"].Value))
	}
	if plan := mustPlan(t, ws, smOptions(map[string]any{"priority": 9})); len(plan.Diags.Errors().Find("SM020",
		"systemctl show ended with status 1")) != 1 {
		t.Errorf("a change on such a host: %s", plan.Diags)
	}
	w.Machine(labs.Intel9).Faults.Clear()
	emptyPlan(t, ws, cfg)
}

// A key that somebody has added to our file is not lost by a destroy: it is refused while
// planning, and also if the key came after the plan.
func TestSM_destroy_keeps_keys(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	mustApply(t, ws, cfg)
	announced := mustPlan(t, ws, nil)
	if announced.Diags.HasError() {
		t.Fatal(announced.Diags)
	}
	ours := w.Run(host, "cat "+smConf)
	w.Put(host, smConf, ours+"m_key 0x1234\n")
	if plan := mustPlan(t, ws, nil); len(plan.Diags.Errors().Find("Finding: SM022", "sets m_key",
		"would stop this subnet manager and remove the file")) != 1 {
		t.Errorf("the plan of a destroy does not say it:\n%s", plan.Diags)
	}
	if diags, err := ws.Apply(t.Context(), announced); err != nil || len(diags.Errors().Find("Finding: SM022")) != 1 {
		t.Errorf("the destroy does not say it: %v\n%s", err, diags)
	}
	if got := w.Run(host, "cat "+smConf); !strings.Contains(got, "m_key 0x1234") {
		t.Errorf("the key is lost: %s", got)
	}
	w.Put(host, smConf, ours)
	mustApply(t, ws, nil)
}

// What somebody has written into our files is in every plan by name, is kept when it goes, and
// is not removed by a destroy whose plan did not have it.
func TestSM_destroy_keeps_lines(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	const local = "/etc/systemd/system/opensm@0xe41d2d0300e44ed1.service.d/local.conf"
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, cfg := w.Workspace(), smOptions(nil)
	adds := func(line string) { w.Put(host, smConf, w.Run(host, "cat "+smConf)+line+"\n") }
	kept := func() string { return w.Run(host, "cat /etc/opensm/.terraform-*.changed-*") }
	refused := func(plan *Plan, line string) {
		t.Helper()
		diags, err := ws.Apply(t.Context(), plan)
		if err != nil || len(diags.Errors().Find("HO019", "new line in "+smConf+": "+line)) != 1 {
			t.Errorf("not refused for %s: %v\n%s", line, err, diags)
		}
		if got := w.Run(host, "cat "+smConf); !strings.Contains(got, line) {
			t.Errorf("%s is lost:\n%s", line, got)
		}
	}
	mustApply(t, ws, cfg)
	w.Put(host, local, "[Service]\nRestartSec=7\n")

	// An update.
	adds("qos TRUE")
	plan := cleanPlan(t, ws, smOptions(map[string]any{"priority": 9}))
	if len(plan.Diags.Warnings().Find("HO034", smConf+" also has: qos TRUE", "systemctl edit")) != 1 {
		t.Errorf("the plan of an update does not name the line:\n%s", plan.Diags)
	}
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || diags.HasError() || len(diags.Warnings().Find("The file is kept as /etc/opensm/.terraform-")) != 1 {
		t.Errorf("the update: %v\n%s", err, diags)
	}
	if got := kept(); !strings.Contains(got, "qos TRUE") || strings.Contains(w.Run(host, "cat "+smConf), "qos") {
		t.Errorf("the file is not kept, or not written anew:\n%s", got)
	}
	mustApply(t, ws, cfg)

	// A destroy.
	plan = mustPlan(t, ws, nil)
	adds("lmc 2")
	refused(plan, "lmc 2")
	plan = mustPlan(t, ws, nil)
	if len(plan.Diags.Warnings().Find("HO034", smConf+" also has: lmc 2", "a destroy removes it")) != 1 {
		t.Errorf("the plan of a destroy does not name the line:\n%s", plan.Diags)
	}
	if diags, err = ws.Apply(t.Context(), plan); err != nil || diags.HasError() || len(ws.State) > 0 {
		t.Errorf("the second destroy: %v\n%s", err, diags)
	}
	if got := kept(); !strings.Contains(got, "lmc 2") {
		t.Errorf("the file is not kept:\n%s", got)
	}
	if got := w.Run(host, "cat "+local); !strings.Contains(got, "RestartSec=7") {
		t.Errorf("the drop-in of somebody else is lost: %s", got)
	}
}

// An engine destroys and creates where it replaces. Its saved plan has what was seen for both:
// what came after it is not lost, and the plan after that names it and is applied.
func TestSM_replaced_keeps_lines(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	o := newOperator(t, w, smOptions(nil), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-replace=infiniband_opensm.it", "-out=p")
	w.Put(host, smConf, w.Run(host, "cat "+smConf)+"qos TRUE\n")
	if out := o.says(1, "apply", "p"); !strings.Contains(out, "HO019") || !strings.Contains(out, "qos TRUE") ||
		!strings.Contains(w.Run(host, "cat "+smConf), "qos TRUE") {
		t.Errorf("the saved plan:\n%s", out)
	}
	if out := o.says(0, "plan", "-replace=infiniband_opensm.it", "-out=p"); !strings.Contains(out, "HO034") {
		t.Errorf("the new plan does not name the line:\n%s", out)
	}
	o.says(0, "apply", "p")
	if got := w.Run(host, "cat /etc/opensm/.terraform-*.changed-*"); !strings.Contains(got, "qos TRUE") {
		t.Errorf("the file is not kept:\n%s", got)
	}
	o.says(0, "plan", "-detailed-exitcode")
}
