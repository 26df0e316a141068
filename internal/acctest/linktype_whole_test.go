package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// onePort asks for the type of one port; the other keeps what it has.
func (w *Lab) onePort(host, port, link string) Config {
	it := w.types(host, link, link)
	it[0].Attrs["ports"] = map[string]any{port: link}
	return it
}

// The driver and its setting have types for the whole card. So a port that is not named
// counts: as it is now, and as another setting makes it at the next boot.
func TestLinkType_portsThatAreNotNamed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws := w.Workspace()
	refused := func(when, code string, cfg Config, says ...string) {
		t.Helper()
		plan := mustPlan(t, ws, cfg)
		if said := plan.Diags.Errors(); len(said) != 1 || len(said.Find(append(says, code)...)) != 1 {
			t.Errorf("%s:\n%s", when, plan.Diags)
		}
	}
	shows := func(want string) {
		t.Helper()
		if got := w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port[12]"); got != want {
			t.Errorf("the ports are %q, expected %q", got, want)
		}
	}
	refused("both are ib", "LT002", w.onePort(labs.Intel9, "1", "eth"),
		"port 1 is to be eth", "port 2, which ports does not name, is ib now")
	cleanPlan(t, ws, w.onePort(labs.Intel9, "2", "eth")) // ib before eth is supported
	// What counts at the apply is what the port is then.
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
	plan := cleanPlan(t, ws, w.onePort(labs.Intel9, "1", "eth"))
	w.Run(labs.Intel9, "echo ib > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
	if diags, err := ws.Apply(t.Context(), plan); err != nil || len(diags.Errors().Find("LT002",
		"port 2, which ports does not name, is ib now")) != 1 {
		t.Errorf("the other port was set back to ib after the plan: %v\n%s", err, diags)
	}
	shows("ib\nib\n")
	// At the next boot another setting decides on the other port.
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
	w.Put(labs.Intel9, "/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=2,1\n")
	refused("ib at the next boot", "LT002", w.onePort(labs.Intel9, "1", "eth"),
		"port 2, which ports does not name, is ib after the next restart, by /etc/modprobe.d/zz.conf")
	w.Run(labs.Intel9, "rm /etc/modprobe.d/zz.conf")
	mustApply(t, ws, w.onePort(labs.Intel9, "1", "eth"))
	emptyPlan(t, ws, w.onePort(labs.Intel9, "1", "eth"))
	shows("eth\neth\n")
	refused("both are eth", "LT002", w.onePort(labs.Intel9, "2", "ib"),
		"port 1, which ports does not name, is eth now", "port 2 is to be ib")
}

// A setting in the place of ours that somebody else has written is refused by the plan, and
// by the apply if it came after the plan.
func TestLinkType_settingOfOthersInOurPlace(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	const file = "/etc/modprobe.d/terraform-infiniband.conf"
	ws, eth := w.Workspace(), w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, w.types(labs.Intel9, "ib", "ib"))
	plan := cleanPlan(t, ws, eth)
	const theirs = "options mlx4_core port_type_array=2,2\n"
	w.Put(labs.Intel9, file, theirs)
	if diags, err := ws.Apply(t.Context(), plan); err != nil || len(diags.Errors().Find("HO035", file)) != 1 ||
		len(diags.Errors()) != 1 {
		t.Errorf("the file was replaced after the plan: %v\n%s", err, diags)
	}
	if plan := mustPlan(t, ws, eth); len(plan.Diags.Errors().Find("HO035", file)) != 1 {
		t.Errorf("a plan with a file of somebody else's in the place:\n%s", plan.Diags)
	}
	if got := w.Run(labs.Intel9, "cat "+file+" /sys/bus/pci/devices/0000:01:00.0/mlx4_port1"); got != theirs+"ib\n" {
		t.Errorf("after the refusals: %q", got)
	}
	w.Run(labs.Intel9, "rm "+file)
	mustApply(t, ws, eth)
	emptyPlan(t, ws, eth)
}

// A line that somebody adds to the file of the link types is shown by the next plan, and kept
// beside the file by its apply. One that came after the plan is not replaced by that plan.
func TestLinkType_linesOfOthersInOurFile(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	const file, line = "/etc/modprobe.d/terraform-infiniband.conf", "options mlx4_core log_num_mgm_entry_size=-1"
	ws, ib, eth := w.Workspace(), w.types(labs.Intel9, "ib", "ib"), w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, ib)
	emptyPlan(t, ws, ib)
	late := cleanPlan(t, ws, eth)
	w.Run(labs.Intel9, "echo '"+line+"' >>"+file+"; update-initramfs -u")
	if diags, err := ws.Apply(t.Context(), late); err != nil || len(diags.Errors().Find("HO019", "new line in "+file+": "+line)) != 1 {
		t.Errorf("the line came after the plan: %v\n%s", err, diags)
	}
	for i, line := range []string{line, "options mlx4_core port_type_array=2,2"} {
		if i > 0 {
			w.Run(labs.Intel9, "echo '"+line+"' >>"+file+"; update-initramfs -u")
		}
		plan := cleanPlan(t, ws, ib)
		if len(plan.Diags.Warnings().Find("HO034", file+" also has: "+line+".", ".terraform-infiniband.conf.changed-")) != 1 ||
			len(plan.Changes) != 1 {
			t.Errorf("the plan does not show the line: %v\n%s", plan.Changes, plan.Diags)
		}
		applyStep(t, ws, plan, "")
		emptyPlan(t, ws, ib)
		if got := w.Run(labs.Intel9, "cat "+file); strings.Contains(got, line) || !strings.Contains(got, "port_type_array=1,1") {
			t.Errorf("after the apply: %s", got)
		}
		if got := w.Run(labs.Intel9, "cat /etc/modprobe.d/.terraform-infiniband.conf.changed-*"); !strings.Contains(got, line) {
			t.Errorf("what is kept: %s", got)
		}
	}
}

// Types that are stored in the card count where the driver's parameter is 0 or not set. A plan
// names a parameter that overrides them, in every form that the kernel takes, and its apply
// sets it to the same types.
func TestLinkType_parameterOverCard(t *testing.T) {
	t.Parallel()
	const nas = labs.Xeon2zfs
	w := Start(t, Options{Hosts: vpi()})
	ws, wants := w.Workspace(), w.types(nas, "ib", "ib")
	options := func(word string) {
		w.Run(nas, `midclt call system.advanced.update '{"kernel_extra_options": "modules_load=ib_ipoib,mlx4_ib `+word+`"}'`)
	}
	shows := func(when, want string) {
		t.Helper()
		if got := w.Run(nas, "cat /sys/bus/pci/devices/0000:04:00.0/mlx4_port[12]"); strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s: the ports are %q", when, got)
		}
	}
	options("")
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	if got := ws.Get("infiniband_link_type.it", "stored_in"); got != "mstconfig" {
		t.Fatalf("stored_in is %v", got)
	}
	for _, word := range []string{"mlx4_core.port_type_array=2,2", "mlx4-core.port-type-array=2,2"} {
		options(word)
		plan := cleanPlan(t, ws, wants)
		if len(plan.Diags.Warnings().Find("LT015", "port 1 is ib now and eth after a restart, by kernel_extra_options")) != 1 ||
			len(plan.Diags.Warnings().Find("LT020", "kernel_extra_options has eth on port 1",
				"in the card and in kernel_extra_options")) != 1 {
			t.Errorf("%s: the plan does not say what wins and what is written:\n%s", word, plan.Diags)
		}
		w.Reboot(nas)
		shows(word, "eth eth")
		mustApply(t, ws, wants)
		emptyPlan(t, ws, wants)
		if got := w.Run(nas, "midclt call system.advanced.config"); !strings.Contains(got, "mlx4_core.port_type_array=1,1") ||
			strings.Contains(got, "2,2") {
			t.Errorf("%s: after the apply: %s", word, got)
		}
		w.Reboot(nas)
		shows("after the apply and a restart", "ib ib")
		emptyPlan(t, ws, wants)
	}
	options("mlx4_core.port_type_array=0,0")
	emptyPlan(t, ws, wants)
	w.Reboot(nas)
	shows("0,0", "ib ib")
	emptyPlan(t, ws, wants)
}

// A value without sense in our own file is overwritten, as its first lines promise.
func TestLinkType_valueWithoutSenseInOurFile(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, cfg := w.Workspace(), w.types(labs.Intel9, "ib", "ib")
	mustApply(t, ws, cfg)
	text := w.Run(labs.Intel9, "cat "+platform.ModprobePath)
	for _, value := range []string{"9,9", "1,9", "x", ""} {
		w.Put(labs.Intel9, platform.ModprobePath, strings.Replace(text, "=1,1", "="+value, 1))
		plan := cleanPlan(t, ws, cfg)
		if len(plan.Changes) != 1 || plan.Changes[0].Action != Update {
			t.Errorf("%q: %v\n%s", value, plan.Changes, plan.Diags)
		}
		mustApply(t, ws, cfg)
		if now := w.Run(labs.Intel9, "cat "+platform.ModprobePath); now != text {
			t.Errorf("%q: after the apply:\n%s", value, now)
		}
		emptyPlan(t, ws, cfg)
	}
}
