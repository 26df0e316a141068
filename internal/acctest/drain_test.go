package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// drainCase is a resource with a configuration that interrupts nobody where nothing is, one that interrupts after it,
// and one that does not.
type drainCase struct {
	kind                  string
	quiet, loud, harmless Config
	probe                 string // shows whether the change was made
	changes               string // a program of the change, by its arguments; empty: it is not killed there
}

var drainKinds = []string{"link_type", "opensm", "ipoib_interface"} // of drainCases, in this order

func drainCases(w *Lab) []drainCase {
	host := labs.Intel9
	ibIf := func(attrs map[string]any) Config { return ipoib(host, attrs) }
	return []drainCase{
		{"link_type", w.types(host, "ib", "ib"), w.types(host, "eth", "eth"), nil,
			"cat /sys/bus/pci/devices/" + w.PCI(host) + "/mlx4_port1", "mlx4_port"},
		{"opensm", smOptions(nil), smOptions(map[string]any{"routing_engine": []any{"ftree"}}),
			smOptions(map[string]any{"routing_engine": []any{"ftree"}, "priority": 9}),
			"systemctl show -p MainPID --value " + smUnit, "restart -- " + smUnit},
		{"ipoib_interface", ibIf(nil), ibIf(map[string]any{"mode": "datagram", "mtu": 2044}), nil,
			"cat /sys/class/net/ibp1s0/mode", ""}, // the host undoes by itself what is not confirmed
	}
}

// drained gives a host drain and resume commands around other changes, and a workspace that has them.
func (w *Lab) drained(host, kind, drain, resume string) *Workspace {
	ws := w.Workspace()
	ws.Provider["hosts"].(map[string]any)[host].(map[string]any)["reboot"] = map[string]any{"allowed": false,
		"drain_commands": []any{drain}, "resume_commands": []any{resume}, "drain_around": []any{kind}}
	return ws
}

// lines of what the commands have written, and none any more.
func (w *Lab) lines(host string) []string {
	out, _ := w.Try(host, "cat /root/log && rm /root/log")
	if !strings.Contains(out, "drain") && !strings.Contains(out, "resume") {
		return nil
	}
	return strings.Split(strings.TrimSpace(out), "\n")
}

// The commands run around a change that interrupts, and around no other. The plan shows them.
func TestDrain_around_other_changes(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for n, kind := range drainKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			drivers(w)
			c := drainCases(w)[n]
			if c.kind == "ipoib_interface" {
				w.Run(host, "ip link set dev ibp1s0 down")
			}
			drain := "echo drain $(" + c.probe + ") >>/root/log"
			ws := w.drained(host, c.kind, drain, "echo resume $("+c.probe+") >>/root/log")
			address := c.quiet[0].Address()
			mustApply(t, ws, c.quiet)
			if got := w.lines(host); got != nil || ws.Get(address, "drains") != nil {
				t.Errorf("drained where nothing was interrupted: %v, %v", got, ws.Get(address, "drains"))
			}
			emptyPlan(t, ws, c.quiet)
			for i, cfg := range []Config{c.loud, c.quiet} {
				was := strings.TrimSpace(w.Run(host, c.probe))
				plan := cleanPlan(t, ws, cfg)
				if got := fmt.Sprint(plan.Get(address, "drains")); got != "["+drain+"]" {
					t.Errorf("the plan shows %s", got)
				}
				if told := plan.Diags.Warnings().Find("The apply drains host " + host); len(told) != i {
					t.Errorf("what an engine hides is not told once more:\n%s", plan.Diags)
				}
				applyStep(t, ws, plan, "")
				now := strings.TrimSpace(w.Run(host, c.probe))
				if got, want := fmt.Sprint(w.lines(host)), fmt.Sprintf("[drain %s resume %s]", was, now); got != want || was == now {
					t.Errorf("the commands saw %s, expected %s", got, want)
				}
				if w.Machine(host).FS.Exists(inventory.OwedNote) {
					t.Error("a host that was given back still owes that")
				}
				emptyPlan(t, ws, cfg)
			}
			if c.harmless != nil {
				mustApply(t, ws, c.loud)
				w.lines(host)
				if got := cleanPlan(t, ws, c.harmless).Get(address, "drains"); got != nil {
					t.Errorf("the plan of a change that interrupts nobody shows %v", got)
				}
				mustApply(t, ws, c.harmless)
				emptyPlan(t, ws, c.harmless)
			}
			other := w.drained(host, "link_type", drain, "true")
			if c.kind == "link_type" {
				other = w.drained(host, "opensm", drain, "true")
			}
			mustApply(t, other, c.loud)
			mustApply(t, other, c.quiet)
			if got := w.lines(host); got != nil {
				t.Errorf("drained for what drain_around does not name: %v", got)
			}
		})
	}
}

// A drain command that fails stops the change; the resume commands run. A resume command that fails is owed, and so are
// those of an apply that was killed: the next plan names them.
func TestDrain_that_fails(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for n, kind := range drainKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			drivers(w)
			c := drainCases(w)[n]
			start := w.Workspace()
			mustApply(t, start, c.quiet)
			with := func(drain, resume string) *Workspace {
				ws := w.drained(host, c.kind, drain, resume)
				ws.State = start.State
				return ws
			}
			was := w.Run(host, c.probe)
			diags, err := with("echo drain; false", "echo resume >>/root/log").applyOnce(t, c.loud)
			if err != nil || len(diags.Errors().Find(": a drain command failed", "so the change was not begun",
				"The resume commands have run.", "Host: "+host, "false")) != 1 || len(diags.Errors()) != 1 {
				t.Errorf("%v\n%s", err, diags)
			}
			if got := w.lines(host); len(got) != 1 || w.Run(host, c.probe) != was || w.Machine(host).FS.Exists(inventory.OwedNote) {
				t.Errorf("after a failed drain: resumed %v, was %q and is %q", got, was, w.Run(host, c.probe))
			}
			// The provider ends while the host is drained, before the change or in it.
			for _, at := range slices.DeleteFunc([]string{"at-drain", c.changes}, func(s string) bool { return s == "" }) {
				ctx, cancel := context.WithCancel(t.Context())
				w.Machine(host).Faults.Trap(at, 1, labsim.ProgramFault{Do: func() {
					w.Machine(host).Faults.Update(func(s *labsim.FaultSpec) { s.Refuse = true })
					cancel()
					w.DropAll()
				}})
				ws := with("true at-drain", "echo resume >>/root/log")
				if diags, err = ws.Apply(ctx, cleanPlan(t, ws, c.loud)); err == nil && !diags.HasError() {
					t.Errorf("%s: the apply of a provider that ended in it reports success", at)
				}
				cancel()
				w.Machine(host).Faults.Clear()
				for range 2 {
					plan := mustPlan(t, w.drained(host, c.kind, "true", "true"), c.quiet)
					if len(plan.Diags.Warnings().Find("Host "+host+": HO050", "Drained since 2", "echo resume >>/root/log")) != 1 {
						t.Errorf("%s: the next plan says:\n%s", at, plan.Diags)
					}
				}
				w.Run(host, "rm "+inventory.OwedNote)
				mustApply(t, w.Workspace(), c.quiet)
			}
			diags, err = with("true", "false").applyOnce(t, c.loud)
			if err != nil || len(diags.Errors().Find("Unable to run the resume commands of host "+host, "The change was made",
				"Then run on the host, as root", "    false")) != 1 || w.Run(host, c.probe) == was {
				t.Errorf("%v\n%s", err, diags)
			}
			for _, cfg := range []Config{c.loud, nil} { // nil destroys
				if said := mustPlan(t, start, cfg).Diags; len(said.Warnings().Find("Host "+host+": HO050", "false")) != 1 {
					t.Errorf("the next plan of %d resources says:\n%s", len(cfg), said)
				}
			}
			w.Run(host, "rm "+inventory.OwedNote)
			if got := fmt.Sprint(start.Get(c.loud[0].Address(), "drains")); got != "[true]" {
				t.Errorf("the state has the drain commands %s", got)
			}
			checkUntainted(t, start)
			emptyPlan(t, start, c.loud)
			// A failed create stores nothing; what it has made is taken without another drain.
			anew := w.drained(host, c.kind, "true", "false")
			if diags, err = anew.applyOnce(t, c.quiet); err != nil || len(diags.Errors()) != 1 ||
				len(diags.Errors().Find("Unable to run the resume commands", "the next apply takes it in.")) != 1 {
				t.Errorf("%v\n%s", err, diags)
			}
			w.Run(host, "rm "+inventory.OwedNote)
			anew = w.drained(host, c.kind, "echo drain >>/root/log", "true")
			mustApply(t, anew, c.quiet)
			if got := w.lines(host); got != nil {
				t.Errorf("drained for what was made: %v", got)
			}
			emptyPlan(t, anew, c.quiet)
		})
	}
}

// The moment of the change decides: what changes while the host is drained is seen before it.
func TestDrain_looks_again(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	host, c := labs.Intel9, drainCases(w)[2]
	ws := w.drained(host, c.kind, "ip addr add 10.9.9.9/24 dev ibp1s0", "touch /root/resumed")
	start := w.Workspace()
	mustApply(t, start, c.quiet)
	ws.State = start.State
	diags, err := ws.applyOnce(t, c.loud)
	if err != nil || len(diags.Errors().Find("HO019", "has address 10.9.9.9/24")) != 1 ||
		len(diags.Warnings().Find("Host "+host+": the resume commands have run")) != 1 {
		t.Errorf("%v\n%s", err, diags)
	}
	w.Run(host, "ls /root/resumed")
	if got := w.Run(host, c.probe); got != "connected\n" {
		t.Errorf("the mode is %q", got)
	}
}

// What a plan shows runs, whatever the host has by then: the state keeps it. Of an interface that is down a plan leaves it
// open, so that one which somebody has put up is drained.
func TestDrain_as_the_plan_shows(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	c := drainCases(w)[2]
	address, drain := c.quiet[0].Address(), "echo drain >>/root/log"
	ws := w.drained(host, c.kind, drain, "echo resume >>/root/log")
	link := func(state string) { w.Run(host, "ip link set dev ibp1s0 "+state) }
	mustApply(t, ws, c.quiet)
	for _, step := range []struct {
		before, since, shows, runs string
	}{
		{"up", "up", "[" + drain + "]", "[drain resume]"},
		{"up", "down", "[" + drain + "]", "[drain resume]"},
		{"down", "up", fmt.Sprint(Unknown), "[drain resume]"},
		{"down", "down", fmt.Sprint(Unknown), "[]"},
	} {
		c.quiet, c.loud = c.loud, c.quiet
		link(step.before)
		plan := cleanPlan(t, ws, c.quiet)
		if got := fmt.Sprint(plan.Get(address, "drains")); got != step.shows {
			t.Errorf("%+v: the plan shows %s", step, got)
		}
		link(step.since)
		applyStep(t, ws, plan, "")
		ran := fmt.Sprint(w.lines(host))
		if kept := ws.Get(address, "drains") != nil; ran != step.runs || kept != (ran != "[]") {
			t.Errorf("%+v: ran %s, and the state keeps %v", step, ran, ws.Get(address, "drains"))
		}
		emptyPlan(t, ws, c.quiet)
	}
}

// A new block for an instance of ours that runs: whether it is restarted is open, as in a replacement, which has stopped it.
func TestDrain_of_an_instance_without_state(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	c := drainCases(w)[1]
	address := c.quiet[0].Address()
	mustApply(t, w.Workspace(), c.quiet)
	ws := w.drained(labs.Intel9, c.kind, "echo drain >>/root/log", "echo resume >>/root/log")
	plan := cleanPlan(t, ws, c.loud)
	applyStep(t, ws, plan, "")
	if ran := fmt.Sprint(w.lines(labs.Intel9)); plan.Get(address, "drains") != Unknown || ran != "[drain resume]" ||
		ws.Get(address, "drains") == nil {
		t.Errorf("the plan shows %v, ran %s, the state has %v", plan.Get(address, "drains"), ran, ws.Get(address, "drains"))
	}
}

// Link types that wait in the card for a restart of the host: it drains, and nothing else does.
func TestDrain_once_with_a_restart(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	mustApply(t, w.ws, w.link("ib", "none"))
	ws := w.drained(labs.Intel9, "link_type", "echo drain >>/root/log", "echo resume >>/root/log")
	ws.State = w.ws.State
	ws.Provider["hosts"].(map[string]any)[labs.Intel9].(map[string]any)["reboot"].(map[string]any)["allowed"] = true
	plan := cleanPlan(t, ws, w.link("eth", "reboot"))
	applyStep(t, ws, plan, "")
	if ran := fmt.Sprint(w.lines(labs.Intel9)); ran != "[drain resume]" || plan.Get("infiniband_link_type.it", "drains") == nil {
		t.Errorf("ran %s; the plan shows %v", ran, plan.Get("infiniband_link_type.it", "drains"))
	}
}

// A replacement removes the interface and does not drain for that; the create drains as its plan shows.
func TestDrain_of_a_replacement(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	c := drainCases(w)[2]
	ws := w.drained(host, c.kind, "echo drain $("+c.probe+") >>/root/log", "echo resume $("+c.probe+") >>/root/log")
	o := newOperator(t, w, nil, buildProvider(t))
	apply := func(cfg Config, args ...string) (shown string) {
		o.write("main.tf", Required+HCL(ws.Provider, cfg))
		shown = o.says(0, append([]string{"plan", "-out=p"}, args...)...)
		o.says(0, "apply", "p")
		return shown
	}
	apply(c.quiet)
	shown, state := apply(c.loud, "-replace="+c.loud[0].Address()), o.says(0, "state", "show", c.loud[0].Address())
	if got := fmt.Sprint(w.lines(host)); got != "[drain connected resume datagram]" ||
		!strings.Contains(shown, "+ drains = [") || !strings.Contains(state, "drains = [") {
		t.Errorf("the commands saw %s; plan and state:\n%s\n%s", got, shown, state)
	}
	o.says(0, "plan", "-detailed-exitcode")
}

// Around a burn the commands run once, with its restart if it has one.
func TestDrain_around_a_burn(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for _, activation := range []string{"none", "reboot"} {
		t.Run(activation, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: boughtHost()})
			const probe = "cat /proc/sys/kernel/random/boot_id"
			drain := "test -e " + inventory.OwedNote + " && echo drain $(" + probe + ") >>/root/log"
			ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI), map[string]any{"activation": activation})
			entry := ws.Provider["hosts"].(map[string]any)[host].(map[string]any)
			entry["reboot"] = map[string]any{"allowed": true, "drain_commands": []any{drain}, "drain_around": []any{"firmware"},
				"resume_commands": []any{"echo resume $(" + probe + ") >>/root/log"}}
			was := strings.TrimSpace(w.Run(host, probe))
			address := "infiniband_firmware.it"
			plan := cleanPlan(t, ws, cfg)
			if got := fmt.Sprint(plan.Get(address, "drains")); got != "["+drain+"]" {
				t.Errorf("the plan shows %s", got)
			}
			applyStep(t, ws, plan, "")
			now := strings.TrimSpace(w.Run(host, probe))
			if got := fmt.Sprint(w.lines(host)); got != fmt.Sprintf("[drain %s resume %s]", was, now) ||
				(was == now) != (activation == "none") || w.Machine(host).FS.Exists(inventory.OwedNote) {
				t.Errorf("the commands saw %s, before %s, after %s", got, was, now)
			}
			emptyPlan(t, ws, cfg)
		})
	}
}

// applyOnce is a plan that must not fail and its apply.
func (ws *Workspace) applyOnce(t *testing.T, cfg Config) (Diags, error) {
	t.Helper()
	return ws.Apply(t.Context(), cleanPlan(t, ws, cfg))
}
