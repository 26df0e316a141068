package acctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// leastConfig burns newer firmware of the same board, and activates it most gently.
func (w *Lab) leastConfig() Config {
	host := w.Names()[0]
	cfg := w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), map[string]any{"activation": "host"})
	return append(cfg, leastActivation(host, "infiniband_firmware.it"))
}

func leastActivation(host string, after ...string) Resource {
	r := activation(host, after...)
	r.Attrs["activation"] = "least"
	return r
}

const resetWay = "reset by mstfwreset (level 3): 0000:01:00.0"

// A card that offers it is reset, on a host that may not be restarted.
func TestLeast_resets_a_card(t *testing.T) {
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, nil)
	w.Run(host.Name, "modprobe mlx5_ib")
	ws, cfg := w.Workspace(), w.leastConfig()
	delete(ws.Provider["hosts"].(map[string]any)[host.Name].(map[string]any), "reboot")
	plan := cleanPlan(t, ws, cfg)
	for _, c := range plan.Changes {
		if c.Resource.Type != "infiniband_activation" {
			continue
		}
		value := Decode(c.Planned)
		got := []any{field(t, value, "way"), field(t, value, "restarts"), field(t, value, "change")}
		if diff := cmp.Diff([]any{resetWay, nil, "activates firmware of 0000:01:00.0"}, got); diff != "" {
			t.Errorf("planned (-want +got):\n%s", diff)
		}
	}
	applyStep(t, ws, plan, "")
	if n := w.Boots(host.Name); n != 1 || w.Card(host.Name).Running().Version != [3]uint16{12, 28, 4706} {
		t.Errorf("%d boots, running %v", n, w.Card(host.Name).Running().Version)
	}
	emptyPlan(t, ws, cfg)
	runs := map[string]any{"0000:01:00.0": map[string]any{"psid": card.PSIDCX4, "version": "12.28.4706"}}
	if diff := cmp.Diff(runs, ws.Get("infiniband_activation.it", "running")); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
}

func startOpensm(w *Lab, host string) {
	w.Run(host, "DEBIAN_FRONTEND=noninteractive apt-get install -y -q opensm && modprobe ib_umad && "+
		"systemctl start opensm@0xec0d9a030076eaf0")
}

// Where a card cannot be reset, the plan says why, and the host restarts.
func TestLeast_restarts_and_says_why(t *testing.T) {
	t.Parallel()
	plain := func(*labs.Host) {}
	for _, c := range []struct {
		name    string
		host    func(*labs.Host)
		machine func(*Lab, *labsim.Machine)
		why     string
	}{
		{"the card offers none", func(h *labs.Host) { h.Cards[0].NoReset = true }, nil,
			"the card offers no reset of the whole chip while the host runs (level 3)"},
		{"virtual machine", plain, func(_ *Lab, m *labsim.Machine) { m.Config.Virtual = true },
			"mstfwreset refuses on a virtual machine"},
		{"no tool", plain, func(_ *Lab, m *labsim.Machine) { m.FS.Drop("/usr/bin/mstfwreset") }, "the host lacks mstfwreset"},
		{"no register access", func(h *labs.Host) { h.Cards[0].Image = cx4().Cards[0].Image }, nil,
			"how the card can be reset is not known: -E- FW burnt on device does not support generic access register"},
		{"another subnet manager", plain, func(w *Lab, m *labsim.Machine) { startOpensm(w, m.Name) },
			"A subnet manager runs on this card: Ports with a subnet manager: 1"},
		{"default route over the card", plain, func(w *Lab, m *labsim.Machine) {
			w.Run(m.Name, "modprobe ib_ipoib && ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up && "+
				"ip route replace default via 198.51.100.1 dev ibp1s0")
		}, "Default route runs over this card: The default route of cx4 uses ibp1s0, an interface of 0000:01:00.0"},
		{"virtual functions", plain, func(_ *Lab, m *labsim.Machine) {
			m.FS.Put("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/sriov_numvfs", "2\n", 0o644)
		}, "0000:01:00.0 has virtual functions (2), which a reset takes away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host := controlled(cx4(), card.FlagControlled)
			w := startLaterChip(t, host, c.host)
			w.Run(host.Name, "modprobe mlx5_ib")
			if c.machine != nil {
				c.machine(w, w.Machine(host.Name))
			}
			ws, over := w.Workspace(), Allow("management_path", []any{"ibp1s0"})
			cfg := w.leastConfig().With("infiniband_firmware.it", over).With("infiniband_activation.it", over)
			plan := cleanPlan(t, ws, cfg)
			if got := plan.Get("infiniband_activation.it", "way"); !strings.HasPrefix(fmt.Sprint(got),
				"restart of the host: 0000:01:00.0: "+c.why) {
				t.Errorf("way: %v\n%s", got, plan.Diags)
			}
			if got := plan.Get("infiniband_activation.it", "restarts"); got != host.Name {
				t.Errorf("restarts: %v", got)
			}
		})
	}
}

// What only a start of the host proves or makes safe is left to it, and so is a ConnectX-3.
func TestLeast_leaves_to_a_restart(t *testing.T) {
	t.Parallel()
	t.Run("ConnectX-3", func(t *testing.T) {
		t.Parallel()
		w := Start(t, Options{Hosts: boughtHost()})
		burn := w.burn(labs.Intel9, w.Image(ImageVPI), map[string]any{"activation": "host"})
		cfg := slices.Concat(burn, Config{leastActivation(labs.Intel9, "infiniband_firmware.it")})
		ws := w.Workspace()
		plan := cleanPlan(t, ws, cfg)
		if got := plan.Get("infiniband_activation.it", "way"); got !=
			"restart of the host: 0000:01:00.0: firmware of another PSID may need other PCI resources, which only a start of "+
				"the host gives out" {
			t.Errorf("way: %v", got)
		}
		applyStep(t, ws, plan, "")
		if n := w.Boots(labs.Intel9); n != 2 {
			t.Errorf("%d boots", n)
		}
		emptyPlan(t, ws, cfg)
	})
	t.Run("MACs", func(t *testing.T) {
		t.Parallel()
		host := controlled(cx4(), card.FlagControlled)
		w := startLaterChip(t, host, nil)
		w.Run(host.Name, "modprobe mlx5_ib")
		guids := w.guids(host.Name, map[string]any{"base_mac": "ec:0d:9a:76:eb:f0", "activation": "host",
			"allow": map[string]any{"guid_change": map[string]any{"from": []any{"0xec0d9a030076eaf0", "ec:0d:9a:76:ea:f0"},
				"to": []any{"0xec0d9a030076ebf0", "ec:0d:9a:76:eb:f0"}}}})[0]
		cfg := Config{guids, leastActivation(host.Name, guids.Address())}
		plan := mustPlan(t, w.Workspace(), cfg)
		if got := plan.Get("infiniband_activation.it", "way"); got !=
			"restart of the host: 0000:01:00.0: an InfiniBand port shows no MAC, so that only a restart proves the new ones" {
			t.Errorf("way: %v\n%s", got, plan.Diags)
		}
	})
}

// disturbedReset applies a reset of a ConnectX-4 whose host has a fault then.
func disturbedReset(t *testing.T, fault labsim.FaultSpec) (*Lab, *Workspace, Config, Diags, error) {
	t.Helper()
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, nil)
	w.Run(host.Name, "modprobe mlx5_ib")
	ws, cfg := w.Workspace(), w.leastConfig()
	plan := cleanPlan(t, ws, cfg)
	w.Machine(host.Name).Faults.Set(fault)
	diags, err := ws.Apply(t.Context(), plan)
	return w, ws, cfg, diags, err
}

// A reset that is killed at any of its steps is named, is not tried again, and ends by a restart.
func TestLeast_killed_in_the_middle(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 6; step++ {
		t.Run(fmt.Sprint("before step ", step), func(t *testing.T) {
			w, ws, cfg, diags, err := disturbedReset(t, labsim.FaultSpec{KillAtReset: step})
			if err != nil || len(diags.Errors().Find("its reset failed", "mstfwreset was started, and something has killed it",
				"The host was not restarted")) != 1 {
				t.Fatalf("apply: %v\n%s", err, diags)
			}
			next, outcome := mustPlan(t, ws, cfg), nextApply
			switch {
			case step <= 2: // the driver still has the card
				if got := next.Get("infiniband_activation.it", "way"); got != "restart of the host: 0000:01:00.0: a reset of the "+
					"card was cut off since the host started" {
					t.Errorf("way: %v\n%s", got, next.Diags)
				}
				applyStep(t, ws, next, "")
			case step == 4: // without a link nobody can read the flash
				alone := mustPlan(t, w.Workspace(), Config{leastActivation(cx4().Name)})
				if len(next.Diags.Errors().Find("FW044", "If that was mstfwreset, the PCI link of the card "+
					"may be down: restart the host")) != 1 || len(alone.Diags.Errors().Find("mstfwreset was started "+
					"on the card, and was killed or has failed before the driver was back", "Restart host cx4 by hand")) != 1 {
					t.Errorf("the plan:\n%s\n%s", next.Diags, alone.Diags)
				}
				w.Restart(cx4().Name)
				mustApply(t, ws, cfg)
				outcome = mended
			case step == 6: // it had ended
				applyStep(t, ws, next, "")
			default: // no driver
				if got := next.Get("infiniband_activation.it", "way"); got != "restart of the host: 0000:01:00.0: the driver "+
					"of the card is none, not mlx5_core" {
					t.Errorf("way: %v\n%s", got, next.Diags)
				}
				applyStep(t, ws, next, "")
			}
			if got := w.Card(cx4().Name).Running().Version; got != [3]uint16{12, 28, 4706} {
				t.Errorf("running %v", got)
			}
			emptyPlan(t, ws, cfg)
			resetKilled.check(t, step, outcome)
		})
	}
}

// A host that loses power at any step of a reset starts the card with what is in flash.
func TestLeast_power_lost_in_the_middle(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 6; step++ {
		t.Run(fmt.Sprint("before step ", step), func(t *testing.T) {
			w, ws, cfg, diags, err := disturbedReset(t, labsim.FaultSpec{PowerCutAtReset: step})
			if err != nil || !diags.HasError() || w.Machine(cx4().Name).Faults.Struck() != 1 {
				t.Fatalf("apply: %v\n%s", err, diags)
			}
			if said := diags.Errors(); len(said.Find("The host has started anew since the reset began",
				"The card loads its flash at such a start")) != 1 || len(said.Find("was not restarted")) != 0 {
				t.Errorf("a power cut is not named:\n%s", said)
			}
			mustApply(t, ws, cfg)
			if got, n := w.Card(cx4().Name).Running().Version, w.Boots(cx4().Name); got != [3]uint16{12, 28, 4706} || n != 2 {
				t.Errorf("running %v after %d boots", got, n)
			}
			emptyPlan(t, ws, cfg)
			resetPowerCut.check(t, step, nextApply)
		})
	}
}

// A connection that breaks around the request or during the watch ends no reset and repeats none.
func TestLeast_connection_lost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		holds string
		when  labsim.CutWhen
		fails bool
	}{
		{"Notes a reset of a card", labsim.CutBefore, true},
		{"Notes a reset of a card", labsim.CutDuring, false},
		{"Notes a reset of a card", labsim.CutAfter, false},
		{"Says how far the last reset", labsim.CutBefore, false},
		{"Says how far the last reset", labsim.CutAfter, false},
	} {
		t.Run(c.holds+", "+string(c.when), func(t *testing.T) {
			nth := 1
			if !c.fails && strings.HasPrefix(c.holds, "Says") {
				nth = 5 // the plan and the looks before the reset ask, too
			}
			w, ws, cfg, diags, err := disturbedReset(t, labsim.FaultSpec{ExecHolds: c.holds, CutAtExec: nth, CutWhen: c.when})
			m := w.Machine(cx4().Name)
			mayFail := c.fails || c.when == labsim.CutDuring // the script may be slower than the looks that give it up
			if err != nil || m.Faults.Struck() != 1 || diags.HasError() && !mayFail || c.fails && !diags.HasError() {
				t.Fatalf("apply: %v, struck %d\n%s", err, m.Faults.Struck(), diags.Errors())
			}
			if diags.HasError() {
				if len(diags.Errors().Find("The connection broke while the reset was asked for", "The card was not reset")) != 1 {
					t.Errorf("apply:\n%s", diags.Errors())
				}
				mustApply(t, ws, cfg)
			}
			n := 0
			for _, e := range m.Journal() {
				if e.Args[0] == "mstfwreset" {
					n++
				}
			}
			if n != 1 || w.Boots(cx4().Name) != 1 {
				t.Errorf("%d resets, %d boots", n, w.Boots(cx4().Name))
			}
			emptyPlan(t, ws, cfg)
		})
	}
}

// A reset that the tool reports as failed leads to a restart, which the next plan announces.
func TestLeast_after_a_reset_that_failed(t *testing.T) {
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, nil)
	w.Run(host.Name, "modprobe mlx5_ib")
	ws, cfg := w.Workspace(), w.leastConfig()
	plan := cleanPlan(t, ws, cfg)
	w.Machine(host.Name).Faults.Set(labsim.FaultSpec{ResetFails: true})
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || len(diags.Errors().Find("its reset failed", "mstfwreset failed: Firmware reset failed, retry",
		"The next plan announces a restart of the host instead, or says why it may not restart", "Exit status: 1")) != 1 {
		t.Fatalf("apply: %v\n%s", err, diags)
	}
	next := cleanPlan(t, ws, cfg)
	if got := next.Get("infiniband_activation.it", "way"); got != "restart of the host: 0000:01:00.0: mstfwreset was run "+
		"for that since the host started, and ended with status 1: -E- Firmware reset failed, retry operation or reboot "+
		"machine." {
		t.Errorf("way: %v", got)
	}
	applyStep(t, ws, next, "")
	if n := w.Boots(host.Name); n != 2 || w.Card(host.Name).Running().Version != [3]uint16{12, 28, 4706} {
		t.Errorf("%d boots", n)
	}
	emptyPlan(t, ws, cfg)
}

// The apply takes no harsher way than its plan: it refuses where the reset is not possible any more.
func TestLeast_is_not_replaced_by_a_restart(t *testing.T) {
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, nil)
	w.Run(host.Name, "modprobe mlx5_ib")
	ws := w.Workspace()
	mustApply(t, ws, w.leastConfig()[:2]) // burned, and nothing activates it
	it := Config{leastActivation(host.Name)}
	const hides = "mv /usr/bin/mstfwreset /root"
	drain := map[string]any{"allowed": true, "drain_commands": []any{hides},
		"resume_commands": []any{"touch /root/resumed"}}
	fresh := w.Workspace()
	fresh.Provider["hosts"].(map[string]any)[host.Name].(map[string]any)["reboot"] = drain
	plan := cleanPlan(t, fresh, it)
	if got := plan.Get("infiniband_activation.it", "drains"); fmt.Sprint(got) != "["+hides+"]" {
		t.Errorf("drains: %v", got)
	}
	diags, err := fresh.Apply(t.Context(), plan)
	if err != nil || len(diags.Errors().Find("it cannot be reset any more", "the host lacks mstfwreset",
		"The card was not reset, and the host was not restarted", "The resume commands have run", "Plan again")) != 1 {
		t.Errorf("apply: %v\n%s", err, diags)
	}
	if n := w.Boots(host.Name); n != 1 || w.Count(host.Name, "mstfwreset", "-l") != 0 {
		t.Errorf("%d boots", n)
	}
	w.Run(host.Name, "ls /root/resumed")
}

// Where neither is possible, the refusal says why for both.
func TestLeast_refused(t *testing.T) {
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, func(h *labs.Host) { h.Cards[0].NoReset = true })
	w.Run(host.Name, "modprobe mlx5_ib")
	ws := w.Workspace()
	delete(ws.Provider["hosts"].(map[string]any)[host.Name].(map[string]any), "reboot")
	said := mustPlan(t, ws, w.leastConfig()).Diags.Errors()
	if len(said) != 1 || len(said.Find("Refusing to restart host cx4", "HO007", "The provider does not allow a "+
		"restart of cx4. A reset does not do: 0000:01:00.0: the card offers no reset of the whole chip while "+
		"the host runs (level 3)", "reboot = { allowed = true }")) != 1 {
		t.Errorf("the plan:\n%s", said)
	}
}
