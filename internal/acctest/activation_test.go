package acctest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// activation is the resource that restarts a host for all that waits, after others.
func activation(host string, after ...string) Resource {
	return Resource{Type: "infiniband_activation", Name: "it", After: after, Attrs: map[string]any{"host": host}}
}

// twoBought is the configuration that brings both cards of a host to new firmware and GUIDs, with
// one restart, and their ports to InfiniBand after it.
func (w *Lab) twoBought(host string) (cfg Config, written []string) {
	cfg = w.burn(host, w.Image(ImageVPI), nil)[:1]
	var links Config
	for i, c := range w.hostSpec(host).Cards {
		name, id := fmt.Sprint("card", i), host+"/"+c.BDF
		burn := w.burn(host, w.Image(ImageVPI), map[string]any{"card_id": id, "activation": "host"})[1]
		guids := w.guids(host, map[string]any{"card_id": id, "activation": "host"})[0]
		other := w.hostSpec(host).Cards[1-i].BDF
		link := w.types(host, "ib", "ib")[0].With(map[string]any{"card_id": id}).With(Allow("other_cards", []any{other}))
		burn.Name, guids.Name, link.Name = name, name, name
		guids.After, link.After = []string{burn.Address()}, []string{"infiniband_activation.it"}
		cfg, links, written = append(cfg, burn, guids), append(links, link), append(written, burn.Address(), guids.Address())
	}
	return append(append(cfg, activation(host, written...)), links...), written
}

// Two cards of a host get firmware of another PSID and GUIDs, and the host restarts once.
func TestActivation_two_cards_and_one_restart(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost(configurable, anotherCard)})
	ws := w.Workspace()
	cfg, written := w.twoBought(host)
	plan := cleanPlan(t, ws, cfg)
	if said := plan.Diags.Warnings(); len(said.Find("HO011"))+len(said.Find("The apply restarts host")) != 0 {
		t.Errorf("the plan warns of what its attributes say:\n%s", said)
	}
	for _, c := range plan.Changes {
		value := Decode(c.Planned)
		switch c.Resource.Type {
		case "infiniband_firmware", "infiniband_guids":
			if got := field(t, value, "restarts"); got != nil {
				t.Errorf("%s restarts %v", c.Resource.Address(), got)
			}
		case "infiniband_activation":
			want := "activates firmware, GUIDs of 0000:01:00.0; activates firmware, GUIDs of 0000:02:00.0"
			if diff := cmp.Diff([]any{host, want}, []any{field(t, value, "restarts"), field(t, value, "change")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	applyStep(t, ws, plan, "")
	if n := w.Boots(host); n != 2 {
		t.Errorf("%d boots; expected the first and one more", n)
	}
	for _, address := range written { // what the restart has changed since is not said
		for _, name := range []string{"reboot_required", "running_version", "effective"} {
			if got := At(Decode(ws.State[address].Value), name); got != nil {
				t.Errorf("%s of %s is %v after the apply", name, address, got)
			}
		}
	}
	emptyPlan(t, ws, cfg)
	runs := map[string]any{"psid": card.PSIDVPI, "version": "2.42.5000"}
	if diff := cmp.Diff(map[string]any{"0000:01:00.0": runs, "0000:02:00.0": runs},
		ws.Get("infiniband_activation.it", "running")); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	for _, address := range written {
		if got := ws.Get(address, "reboot_required"); got != false {
			t.Errorf("reboot_required of %s is %v after a refresh", address, got)
		}
	}
	for i := range w.Machine(host).Cards() {
		link := ws.Get(fmt.Sprint("infiniband_link_type.card", i), "effective")
		if diff := cmp.Diff(map[string]any{"1": "ib", "2": "ib"}, link); diff != "" {
			t.Errorf("card %d (-want +got):\n%s", i, diff)
		}
	}
	mustApply(t, ws, nil) // forgets
	if n := w.Boots(host); n != 2 {
		t.Errorf("%d boots after the destroy", n)
	}
}

// On ConnectX-4 the stored types come with the same restart as firmware and GUIDs.
func TestActivation_of_later_chips(t *testing.T) {
	t.Parallel()
	host := controlled(cx4(), card.FlagControlled)
	w := startLaterChip(t, host, nil)
	w.Run(host.Name, "modprobe mlx5_ib")
	ws, before := w.Workspace(), w.Flash(host.Name)
	leave := map[string]any{"activation": "host"}
	const guid = "0xec0d9a030076ebf0"
	cfg := w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), leave)
	guids := w.guids(host.Name, map[string]any{"base_guid": guid, "activation": "host", "allow": map[string]any{
		"guid_change": replacingGUIDs(before.GUIDs[0], 0xec0d9a030076ebf0)}})[0]
	guids.After = []string{"infiniband_firmware.it"}
	link := w.onePort(host.Name, "1", "eth").With("infiniband_link_type.it", leave)[0]
	link.After = []string{guids.Address()}
	nv := w.nv(host.Name, map[string]any{"NUM_OF_VFS": "16"}, leave)[0]
	nv.After = []string{link.Address()}
	cfg = append(cfg, guids, link, nv, activation(host.Name, nv.Address()))
	plan := cleanPlan(t, ws, cfg)
	if said := plan.Diags.Warnings(); len(said.Find("HO011"))+len(said.Find("LT014")) != 0 {
		t.Errorf("the plan warns of a restart that it announces:\n%s", said)
	}
	applyStep(t, ws, plan, "")
	if n := w.Boots(host.Name); n != 2 {
		t.Errorf("%d boots; expected the first and one more", n)
	}
	const want = "activates firmware, GUIDs, link types, settings of 0000:01:00.0"
	if got := ws.Get("infiniband_activation.it", "change"); got != want {
		t.Errorf("change: %v", got)
	}
	flash, running := w.Flash(host.Name), w.Card(host.Name).Running()
	if running.Version != [3]uint16{12, 28, 4706} || running.GUIDs != flash.GUIDs || flash.GUIDs == before.GUIDs {
		t.Errorf("in flash %+v\nrunning %+v", flash, running)
	}
	places, _ := ws.Get("infiniband_link_type.it", "by_place").(map[string]any)
	if ws.Get(nvAddress, "current") != nil || ws.Get(nvAddress, "reboot_required") != nil || places["driver"] != nil ||
		fmt.Sprint(places["mstconfig"]) != "map[1:eth]" {
		t.Errorf("the state has what ran before the restart: %v, %v", ws.Get(nvAddress, "current"), places)
	}
	emptyPlan(t, ws, cfg)
	if ws.Get(nvAddress, "current", "NUM_OF_VFS") != "16" || ws.Get(nvAddress, "reboot_required") != false {
		t.Errorf("settings: %v", ws.Get(nvAddress, "current"))
	}
	if got := ws.Get("infiniband_link_type.it", "effective"); fmt.Sprint(got, ws.Get("infiniband_link_type.it", "by_place", "driver")) !=
		"map[1:eth] map[1:eth]" {
		t.Errorf("types: %v", got)
	}
}

// An apply ended before the restart. The next plan finds what waits; a restart by somebody else is
// enough for its apply.
func TestActivation_after_an_apply_that_ended(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"nobody restarts": false, "somebody restarts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := labs.Intel9
			w := Start(t, Options{Hosts: boughtHost()})
			ws, fresh, all := w.Workspace(), w.Workspace(), Config{activation(host)}
			mustApply(t, ws, all)
			if got := ws.Get("infiniband_activation.it", "restarts"); got != nil || w.Boots(host) != 1 {
				t.Errorf("nothing waits, and restarts is %v", got)
			}
			burn := w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"})
			writer := w.Workspace()
			mustApply(t, writer, burn)
			if said := emptyPlan(t, writer, burn).Diags.Warnings(); len(said.Find("HO011",
				`activation = "host" leaves the restart to an infiniband_activation of the host`,
				"If the configuration has none")) != 1 || len(said.Find(`write activation = "host"`)) != 0 {
				t.Errorf("a restart that nobody plans is not named:\n%s", said)
			}
			first := cleanPlan(t, fresh, all)
			if got := field(t, Decode(first.Changes[0].Planned), "change"); got != "activates firmware of 0000:01:00.0" {
				t.Errorf("a new resource plans %v", got)
			}
			plan := cleanPlan(t, ws, all)
			if plan.Actions()["infiniband_activation.it"] != Update || len(plan.Diags.Warnings().Find(
				"The apply restarts host "+host, "The restart activates firmware of 0000:01:00.0.")) != 1 {
				t.Errorf("the plan: %v\n%s", plan.Actions(), plan.Diags)
			}
			if restarted {
				w.Restart(host)
			}
			applyStep(t, ws, plan, "")
			if n := w.Boots(host); n != 2 || w.Card(host).Running().PSID != card.PSIDVPI {
				t.Errorf("%d boots, running %s", n, w.Card(host).Running().PSID)
			}
			emptyPlan(t, ws, all)
		})
	}
}

// A host that may not be restarted is refused while planning.
func TestActivation_refused(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws := w.Workspace()
	delete(ws.Provider["hosts"].(map[string]any)[host].(map[string]any), "reboot")
	cfg := w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"})
	said := mustPlan(t, ws, append(cfg, activation(host, "infiniband_firmware.it"))).Diags.Errors()
	if len(said) != 1 || len(said.Find("Refusing to restart host "+host, "HO007", "reboot = { allowed = true }")) != 1 {
		t.Errorf("the plan:\n%s", said)
	}
}

// A later restart of the same host is in the diff again: the state does not keep what the last one was for.
func TestActivation_shows_a_second_restart(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws := w.Workspace()
	cfg := append(w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"}),
		activation(host, "infiniband_firmware.it"))
	mustApply(t, ws, cfg)
	if got := ws.Get("infiniband_activation.it", "restarts"); got != host {
		t.Errorf("after the first restart, restarts is %v", got)
	}
	emptyPlan(t, ws, cfg)
	old := w.Flash(host).GUIDs[0]
	guids := w.guids(host, map[string]any{"activation": "host", "base_guid": "0xe41d2d0300bbbb00",
		"allow": map[string]any{"guid_change": replacingGUIDs(old, 0xe41d2d0300bbbb00)}})[0]
	guids.After = []string{"infiniband_firmware.it"}
	cfg = append(cfg[:len(cfg)-1], guids, activation(host, guids.Address()))
	plan := cleanPlan(t, ws, cfg)
	if got := plan.Actions()["infiniband_activation.it"]; got != Update {
		t.Errorf("the plan has %s", got)
	}
	for _, c := range plan.Changes {
		if c.Resource.Type != "infiniband_activation" {
			continue
		}
		before, after := Decode(c.Prior), Decode(c.Planned)
		got := []any{field(t, before, "restarts"), field(t, before, "change"), field(t, after, "restarts"),
			field(t, after, "change")}
		want := []any{nil, nil, host, "activates GUIDs of 0000:01:00.0"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if said := plan.Diags.Warnings(); len(said.Find("The apply restarts host")) != 0 {
		t.Errorf("the plan warns of what its diff shows:\n%s", said)
	}
	applyStep(t, ws, plan, "")
	if n := w.Boots(host); n != 3 {
		t.Errorf("%d boots; expected the first and two more", n)
	}
	emptyPlan(t, ws, cfg)
}

// killedIn ends an apply while a program writes to the card of a host. Its job goes on there.
func (w *Lab) killedIn(ws *Workspace, plan *Plan, host, program string) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	ended := make(chan error)
	go func() {
		_, err := ws.Apply(ctx, plan)
		ended <- err
	}()
	w.waitForMstflint(host, program)
	kill()
	if err := <-ended; err != nil {
		w.t.Fatal(err)
	}
}

// leftToHost is the part of the main scenario that writes to the card, with one restart by an infiniband_activation
// before the link types are set.
func (w *Lab) leftToHost(host string) Config {
	leave := map[string]any{"activation": "host"}
	cfg := w.cardOnly(host)
	link := cfg[4]
	cfg = cfg[:4].With(cfg[2].Address(), leave).With(cfg[3].Address(), leave)
	link.After = []string{"infiniband_activation.it"}
	return append(cfg, activation(host, cfg[2].Address(), cfg[3].Address()), link)
}

// An apply was killed while a job writes to the card of a host, and the job goes on. The next plan, made at once, leaves
// open what the restart is for, and its apply brings what is written into use.
func TestActivation_while_a_job_of_before_runs(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		program string
		exists  bool
	}{{"b", false}, {"b", true}, {"sg", false}, {"sg", true}} {
		t.Run(fmt.Sprint(x.program, " ", x.exists), func(t *testing.T) {
			t.Parallel()
			host := labs.Intel9
			w := Start(t, Options{Hosts: boughtHost()})
			ws, cfg := w.Workspace(), w.leftToHost(host)
			if x.exists {
				mustApply(t, ws, Config{activation(host)})
			}
			if x.program == "sg" {
				ready := append(Config{}, cfg[:3]...)
				if x.exists {
					ready = append(ready, activation(host))
				}
				mustApply(t, ws, ready)
			}
			boots := w.Boots(host)
			w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 15 * time.Millisecond})
			w.killedIn(ws, cleanPlan(t, ws, cfg), host, x.program)
			again := cleanPlan(t, ws, cfg)
			open := unknownIn(again, "infiniband_activation.it")
			if !slices.Contains(open, "change") || !slices.Contains(open, "restarts") {
				t.Errorf("the plan says %v", again.Get("infiniband_activation.it"))
			}
			w.Machine(host).Faults.Clear()
			applyStep(t, ws, again, "")
			if n := w.Boots(host); n != boots+1 {
				t.Errorf("%d boots; %d before the apply", n, boots)
			}
			if got := ws.Get("infiniband_activation.it", "restarts"); got != host {
				t.Errorf("restarts is %v", got)
			}
			const burned = card.PSIDEN + " 2.40.5032 -> " + card.PSIDVPI + " 2.42.5000"
			if got := ws.Get(cfg[2].Address(), "change"); got != burned {
				t.Errorf("change of the firmware is %v", got)
			}
			once(t, w, host)
			checkConverged(t, w, ws, cfg, host)
		})
	}
}

// Flash holds new firmware and GUIDs, and nothing has restarted the host. The restart of this apply has the card show
// the GUIDs, and what is made after it records the card as the plan says.
func TestActivation_then_a_new_resource_of_the_card(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws, cfg := w.Workspace(), w.leftToHost(host)
	cfg = append(cfg, Resource{Type: "infiniband_card", Name: "late", After: []string{"infiniband_activation.it"},
		Attrs: map[string]any{"host": host, "pci_address": w.hostSpec(host).Cards[0].BDF}})
	mustApply(t, ws, cfg[:4])
	open := cfg.With(cfg[2].Address(), map[string]any{"image_id": Unknown})
	if got := unknownIn(mustPlan(t, ws, open), "infiniband_activation.it"); !slices.Contains(got, "change") {
		t.Errorf("an image that is not known yet: only %v is open", got)
	}
	applyStep(t, ws, cleanPlan(t, ws, cfg), "")
	if n := w.Boots(host); n != 2 {
		t.Errorf("%d boots; expected the first and one more", n)
	}
	checkConverged(t, w, ws, cfg, host)
}

// What comes into a card between a plan and its apply is not passed over in silence.
func TestActivation_fails_on_what_its_plan_does_not_say(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws, other := w.Workspace(), w.Workspace()
	plan := cleanPlan(t, ws, Config{activation(host)})
	mustApply(t, other, w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"}))
	said, err := ws.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(said.Errors().Find("inconsistent final plan", "change: planned")) != 1 || w.Boots(host) != 1 {
		t.Errorf("%d boots\n%s", w.Boots(host), said)
	}
}
