package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
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
	// byHandTo is the consent to replace all that is set by hand below.
	byHandTo := func(mac string) map[string]any {
		return both(both(replacing("e4:1d:2d:00:20:00", mac), replacing("e4:1d:2d:00:40:00", mac)),
			both(replacing("e4:1d:2d:00:60:00", mac), replacing("e4:1d:2d:00:70:00", mac)))
	}
	byHand := func(base, mac string) { w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid "+base+" -mac "+mac+" sg") }

	// Somebody sets the same values: before the resource is made, and before a change.
	plan := cleanPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:10:00",
		"allow": map[string]any{"guid_change": replacing("e4:1d:2d:e4:4e:d0", "e4:1d:2d:00:10:00")}}))
	byHand("0xe41d2d0300001000", "0xe41d2d001000")
	stopped(t, ws, plan)
	mustApply(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:10:00"}))
	plan = cleanPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00",
		"allow": map[string]any{"guid_change": replacing("e4:1d:2d:00:10:00", "e4:1d:2d:00:20:00")}}))
	byHand("0xe41d2d0300002000", "0xe41d2d002000")
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00"}))

	// A restart that is planned is made by somebody else.
	waits := wants(map[string]any{"base_mac": "e4:1d:2d:00:20:00", "activation": "reboot",
		"timeouts": map[string]any{"update": "30m"}})
	plan = cleanPlan(t, ws, waits)
	if len(plan.Changes) != 1 || plan.Changes[0].Action != Update {
		t.Errorf("the restart is not planned: %v", plan.Changes)
	}
	if len(plan.Diags.Warnings().Find("The apply restarts host "+host, "Nothing is written")) != 1 {
		t.Errorf("the restart is not announced: %s", plan.Diags)
	}
	w.Reboot(host)
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, waits)

	// The half that is not asked for becomes another one.
	plan = cleanPlan(t, ws, wants(map[string]any{"macs": map[string]any{"1": "e4:1d:2d:00:30:00",
		"2": "e4:1d:2d:00:30:01"}, "allow": map[string]any{"guid_change": byHandTo("e4:1d:2d:00:30:00")}}))
	byHand("0xe41d2d0300004000", "0xe41d2d002000")
	applyStep(t, ws, plan, "HO019")

	// Those that are asked for become others than the plan has shown, GUIDs or MACs alone: they
	// are not overwritten, whatever the consent allows. The next plan shows them.
	for _, x := range []struct{ base, mac string }{{"0xe41d2d0300006000", "0xe41d2d002000"},
		{"0xe41d2d0300006000", "0xe41d2d007000"}} {
		both := wants(map[string]any{"base_mac": "e4:1d:2d:00:30:00",
			"allow": map[string]any{"guid_change": byHandTo("e4:1d:2d:00:30:00")}})
		plan = cleanPlan(t, ws, both)
		byHand(x.base, x.mac)
		operations := w.Card(host).Flash.Operations()
		if said := applyStep(t, ws, plan, "HO019"); !strings.Contains(said, "now the flash has") ||
			w.Card(host).Flash.Operations() != operations {
			t.Errorf("by hand %s %s: %s", x.base, x.mac, said)
		}
	}

	// The driver goes away: what is in effect stays unknown, before and after. GUIDs go into
	// firmware that nothing shows to run only with the consent that names it.
	other := wants(map[string]any{"base_mac": "e4:1d:2d:00:50:00", "allow": map[string]any{"unproven_flash": "2.42.5000", "guid_change": byHandTo("e4:1d:2d:00:50:00")}})
	plan = cleanPlan(t, ws, other)
	w.Run(host, "modprobe -r mlx4_ib; modprobe -r mlx4_en; modprobe -r mlx4_core")
	applyStep(t, ws, plan, "")
	if state := Decode(ws.State["infiniband_guids.it"].Value); field(t, state, "reboot_required") != nil ||
		field(t, state, "effective", "node_guid") != nil {
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
	applyStep(t, ws, first, "")
	applyStep(t, second, again, "")
	emptyPlan(t, second, w.types(host, "ib", "ib"))

	// Somebody flips the ports, to what was planned and away from it.
	// A new resource is bound to what its plan has shown.
	third := w.Workspace()
	shown := cleanPlan(t, third, w.types(host, "eth", "eth"))
	plan := cleanPlan(t, ws, w.types(host, "eth", "eth"))
	applyStep(t, second, cleanPlan(t, second, w.types(host, "eth", "eth")), "")
	stopped(t, third, shown)
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, w.types(host, "eth", "eth"))

	// The driver goes away: the refusal says so.
	plan = cleanPlan(t, ws, w.types(host, "ib", "ib"))
	w.Run(host, "modprobe -r mlx4_ib; modprobe -r mlx4_en; modprobe -r mlx4_core")
	applyStep(t, ws, plan, "LT008")
}

func TestSteady_opensm(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, second := w.Workspace(), w.Workspace()
	wants := func(priority int) Config { return sm(host, map[string]any{"priority": priority, "log_level": "info"}) }
	unit := func(verb string) { w.Run(host, "systemctl "+verb+" "+smUnit) }
	conf := func(edit func(string) string) { w.Put(host, smConf, edit(w.Run(host, "cat "+smConf))) }
	priority := func(from, to int) {
		conf(func(text string) string {
			return strings.Replace(text, fmt.Sprintf("sm_priority %d\n", from), fmt.Sprintf("sm_priority %d\n", to), 1)
		})
	}

	// The package stays: that it is installed meanwhile is another case.
	mustApply(t, ws, wants(5))
	mustApply(t, ws, nil)
	// Two applies at once: a first one, and one that changes a value.
	for _, cfg := range []Config{wants(5), wants(9)} {
		first, again := cleanPlan(t, ws, cfg), cleanPlan(t, second, cfg)
		applyStep(t, ws, first, "")
		applyStep(t, second, again, "")
		emptyPlan(t, second, cfg)
		emptyPlan(t, ws, cfg)
	}

	for _, c := range []struct {
		name          string
		wants         Config
		before, after func() // before the plan, and between plan and apply
		refused       string // what has changed; empty: the apply ends as planned
	}{
		{"stopped, and started again", wants(9), func() { unit("stop") }, func() { unit("start") }, ""},
		{"stopped", wants(4), func() {}, func() { unit("stop") }, "it ran and was stopped"},
		{"stopped, and started before a restart", sm(host, map[string]any{"priority": 4, "routing_engine": []any{"updn"}}),
			func() { unit("stop") }, func() { unit("start") }, "it was stopped and was started"},
		{"the priority in the file, as planned", wants(6), func() {}, func() { priority(4, 6) }, ""},
		{"the priority in the file, another one", wants(7), func() {}, func() { priority(6, 3) },
			"sm_priority was 6 and is 3"},
		{"a line that no argument sets", wants(5), func() {}, func() {
			conf(func(text string) string { return text + "lmc 2\n" })
		}, "lmc 2"},
		{"the file, and back", wants(7), func() {
			conf(func(text string) string { return text + "# mine\n" })
		}, func() {
			conf(func(text string) string { return strings.TrimSuffix(text, "# mine\n") })
		}, ""},
		{"another subnet manager takes over", wants(8), func() {}, func() {
			w.AddSM(&labsim.SM{Port: w.Machine(labs.Xeon2zfs).Cards()[0].Ports[0], Priority: 15})
		}, ""},
	} {
		c.before()
		plan := cleanPlan(t, ws, c.wants)
		if len(plan.Changes) != 1 || plan.Changes[0].Action != Update {
			t.Errorf("%s: planned %v", c.name, plan.Changes)
		}
		c.after()
		t.Log(c.name)
		if c.refused != "" {
			file := w.Run(host, "cat "+smConf)
			said := applyStep(t, ws, plan, "HO019")
			if !strings.Contains(said, c.refused) || w.Run(host, "cat "+smConf) != file {
				t.Errorf("%s: %s", c.name, said)
			}
			plan = cleanPlan(t, ws, c.wants) // the way out
		}
		applyStep(t, ws, plan, "")
		emptyPlan(t, ws, c.wants)
	}

	// The port goes away: the refusal says so.
	plan := cleanPlan(t, ws, wants(2))
	w.unbind(host)
	applyStep(t, ws, plan, "PF006")
}

func TestSteady_port(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, second := w.Workspace(), w.Workspace()
	speeds := func(names ...any) Config { return w.port(map[string]any{"speeds": names}) }
	set := func(words string) {
		w.Run(host, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 "+words)
	}

	// The package stays: that it is installed meanwhile is another case.
	mustApply(t, ws, w.port(nil))
	mustApply(t, ws, nil)
	// Two applies at once: a first one, and those that change a value.
	for _, cfg := range []Config{w.port(nil), w.port(map[string]any{"enabled": false}), speeds("SDR", "DDR"),
		w.port(map[string]any{"widths": []any{"1X"}})} {
		first, again := cleanPlan(t, ws, cfg), cleanPlan(t, second, cfg)
		applyStep(t, ws, first, "")
		applyStep(t, second, again, "")
		emptyPlan(t, second, cfg)
		emptyPlan(t, ws, cfg)
	}

	cable := labsim.SwitchEnd(w.Switches()[0].Name, 1)
	for _, c := range []struct {
		name          string
		wants         Config
		before, after func() // before the plan, and between plan and apply
		refused       string // what has changed; empty: the apply ends as planned
	}{
		{"disabled, and enabled again", speeds("SDR", "DDR"), func() { mustApply(t, ws, speeds("SDR", "DDR")); set("disable") },
			func() { set("enable") }, ""},
		{"speeds, and back", speeds("SDR", "DDR"), func() { set("speed 7") }, func() { set("speed 3") }, ""},
		{"disabled", speeds("SDR", "DDR", "QDR"), func() {}, func() { set("disable") }, "it was enabled and is disabled"},
		{"other speeds", speeds("SDR"), func() {}, func() { set("speed 5") }, "and can negotiate SDR, QDR"},
		{"the cable comes", speeds("SDR", "QDR"), func() { w.Disconnect(cable) }, func() {
			if err := w.Connect(labsim.CardEnd(host, w.PCI(host), 1), cable); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		c.before()
		plan := cleanPlan(t, ws, c.wants)
		if len(plan.Changes) != 1 || plan.Changes[0].Action != Update {
			t.Errorf("%s: planned %v", c.name, plan.Changes)
		}
		c.after()
		t.Log(c.name)
		if c.refused != "" {
			if said := applyStep(t, ws, plan, "HO019"); !strings.Contains(said, c.refused) {
				t.Errorf("%s: %s", c.name, said)
			}
			plan = cleanPlan(t, ws, c.wants) // the way out
		}
		applyStep(t, ws, plan, "")
		emptyPlan(t, ws, c.wants)
	}

	// The driver goes away: the refusal says so.
	plan := cleanPlan(t, ws, w.port(map[string]any{"enabled": false}))
	w.unbind(host)
	applyStep(t, ws, plan, "PF006")
}

// applyStep applies a plan; it succeeds, or fails with a code of the provider's.
func applyStep(t *testing.T, ws *Workspace, plan *Plan, code string) (said string) {
	t.Helper()
	diags, err := ws.Apply(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	checkUntainted(t, ws)
	errs := diags.Errors()
	switch {
	case len(errs.Find("inconsistent")) > 0:
		t.Errorf("core blames the provider:\n%s", errs)
	case code == "" && len(errs) > 0:
		t.Errorf("apply:\n%s", errs)
	case code != "" && len(errs.Find("Finding: "+code)) == 0:
		t.Errorf("the apply does not say %s:\n%s", code, errs)
	}
	return errs.String()
}
