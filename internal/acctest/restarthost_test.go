package acctest

import (
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// restarts invokes infiniband_restart_host.
func (w *Lab) restarts(ws *Workspace, host string) (progress string, said Diags) {
	w.t.Helper()
	events, said, err := ws.Invoke(w.t.Context(), "infiniband_restart_host", map[string]any{"host": host})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(events, "\n"), said
}

// drains gives a host drain and resume commands, and a workspace that has them.
func (w *Lab) drains(host string, drain, resume []any) *Workspace {
	ws := w.Workspace()
	ws.Provider["hosts"].(map[string]any)[host].(map[string]any)["reboot"] = map[string]any{"allowed": true,
		"drain_commands": drain, "resume_commands": resume}
	return ws
}

// A host restarts once, with nothing in its cards and with firmware that waits. Its flashes are verified before.
func TestAction_restartHost(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost(anotherCard)})
	const drain, resume = "echo drain >>/root/log", "echo resume >>/root/log"
	ws := w.drains(host, []any{drain}, []any{resume})
	progress, said := w.restarts(ws, host)
	for _, want := range []string{"before the restart: " + drain, "host intel9 restarts, and card 0000:01:00.0 starts anew",
		"host intel9 restarts, and card 0000:02:00.0 starts anew", "Rebooted intel9 (boot id "} {
		if strings.Count(progress, want) != 1 {
			t.Errorf("want %q once in\n%s", want, progress)
		}
	}
	if n := w.Boots(host); len(said) != 0 || n != 2 {
		t.Errorf("%d boots\n%s", n, said)
	}
	var ran []string
	for _, e := range w.Machine(host).Journal() {
		ran = append(ran, strings.Join(e.Args, " "))
	}
	_, after, _ := strings.Cut(strings.Join(ran, "\n"), "echo drain")
	for _, c := range w.hostSpec(host).Cards {
		if between, _, asked := strings.Cut(after, "systemctl reboot"); !asked || !strings.Contains(between, c.BDF+" v\n") {
			t.Errorf("flash of %s is not verified between the drain and the restart:\n%s", c.BDF, between)
		}
	}
	if got := strings.Join(w.lines(host), " "); got != "drain resume" || w.Machine(host).FS.Exists(inventory.OwedNote) {
		t.Errorf("the commands: %q", got)
	}

	mustApply(t, ws, w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"}))
	if _, said = w.restarts(ws, host); said.HasError() || w.Boots(host) != 3 || w.Card(host).Running().PSID != card.PSIDVPI {
		t.Errorf("%d boots, running %s\n%s", w.Boots(host), w.Card(host).Running().PSID, said)
	}
	if left := strings.TrimSpace(w.Run(host, "ls "+inventory.StateDir+"/activation")); left != "" {
		t.Errorf("a note of the restart stays: %s", left)
	}
}

// What forbids an activation forbids the restart.
func TestAction_restartHostRefused(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws := w.Workspace()
	entry := ws.Provider["hosts"].(map[string]any)[host].(map[string]any)
	refused := func(name string, says ...string) {
		t.Helper()
		if _, said := w.restarts(ws, host); len(said.Errors().Find(says...)) != 1 || w.Boots(host) != 1 ||
			len(said.Find("allow = {")) > 0 {
			t.Errorf("%s: %d boots\n%s", name, w.Boots(host), said)
		}
	}
	allowed := entry["reboot"]
	delete(entry, "reboot")
	refused("not allowed", "Refusing to restart host "+host, "HO007", "reboot = { allowed = true }")
	entry["reboot"] = allowed
	entry["mode"] = "observe"
	refused("observed", "Finding: HO008")
	delete(entry, "mode")
	w.Run(host, "ip addr add 198.51.100.2/24 dev enp1s0 && ip link set dev enp1s0 up && "+
		"ip route replace default via 198.51.100.1 dev enp1s0")
	refused("the default route", "Finding: HO002", "This action takes no consent.")
	w.mstflintSays(host, w.PCI(host)+" v",
		"-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.\n", 1)
	refused("a damaged flash", "FW063", "Bad CRC")
}

// Without a card nothing would show that the host has restarted as it should.
func TestAction_restartHostWithoutCards(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost(func(h *labs.Host) { h.Cards = nil })})
	if _, said := w.restarts(w.Workspace(), host); len(said.Errors().Find("Unable to restart host "+host,
		"No card of the host loads its flash at a restart")) != 1 || w.Boots(host) != 1 {
		t.Errorf("%d boots\n%s", w.Boots(host), said)
	}
}

// While a job writes to a card its host is not restarted, and the job ends well.
func TestAction_restartHostWhileAJobWrites(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws := w.Workspace()
	cfg := w.burn(host, w.Image(ImageVPI), map[string]any{"activation": "host"})
	plan := cleanPlan(t, ws, cfg)
	w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 15 * time.Millisecond})
	w.killedIn(ws, plan, host, "b")
	if _, said := w.restarts(ws, host); len(said.Errors().Find("Refusing to restart host "+host, "HO004",
		"A job writes to card "+host)) != 1 || w.Boots(host) != 1 {
		t.Errorf("%d boots\n%s", w.Boots(host), said)
	}
	w.Machine(host).Faults.Clear()
	mustApply(t, ws, cfg)
	if n := w.Count(host, "mstflint", " b"); n != 1 || w.Flash(host).PSID != card.PSIDVPI {
		t.Errorf("%d burns, in flash %s", n, w.Flash(host).PSID)
	}
}

// The errors are those of an activation, and what is owed is named by the next plan.
func TestAction_restartHostGoesWrong(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	_, said := w.restarts(w.drains(host, []any{"false"}, []any{"true"}), host)
	if len(said.Errors().Find("Card "+host+"/"+w.PCI(host)+" waits for a restart; the restart failed",
		"running a drain command", "Nothing was written to the card. The card still runs what it started with.")) != 1 || w.Boots(host) != 1 {
		t.Errorf("a drain command: %d boots\n%s", w.Boots(host), said)
	}
	ws := w.drains(host, []any{"true"}, []any{"false"})
	if _, said = w.restarts(ws, host); len(said.Errors().Find("Host "+host+" is restarted; a resume command failed after that",
		"A resume command failed then.", "    false")) != 1 || w.Boots(host) != 2 {
		t.Errorf("a resume command: %d boots\n%s", w.Boots(host), said)
	}
	plan := mustPlan(t, ws, Config{activation(host)})
	if len(plan.Diags.Warnings().Find("HO050", "false")) != 1 {
		t.Errorf("the next plan:\n%s", plan.Diags)
	}
}
