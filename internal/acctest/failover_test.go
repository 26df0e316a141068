package acctest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const failOver = "infiniband_fail_over_subnet_manager"

// The standby takes the fabric over and gives it back, and each port keeps its LID. What does not name a master with a
// standby is refused before anything is stopped.
func TestAction_failOver(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	master, standby := w.hosts[0].Name, w.hosts[1].Name
	for _, host := range w.Names() {
		w.Install(host, "infiniband-diags")
	}
	ws := w.Workspace()
	named := func(host string) map[string]any {
		return map[string]any{"host": host, "port_guid": w.firstPort(host)}
	}
	stops := func() int { return w.Count(master, "systemctl", "stop") + w.Count(standby, "systemctl", "stop") }
	refused := func(name string, attrs map[string]any, says ...string) {
		t.Helper()
		before := stops()
		_, said, err := ws.Invoke(t.Context(), failOver, attrs)
		if err != nil || len(said.Errors().Find(says...)) != 1 || stops() != before {
			t.Errorf("%s: %v, %d stops\n%s", name, err, stops()-before, said)
		}
	}

	sms := w.managers(nil)
	mustApply(t, ws, sms[:1])
	refused("without a standby", named(master), "Unable to fail over subnet manager "+master+"/"+w.firstPort(master),
		"The fabric of port "+w.firstPort(master)+" has no standby: nobody would take over.")
	mustApply(t, ws, sms)
	awaitRoles(t, ws, sms, map[string]string{master: "master", standby: "standby"})
	refused("the standby", named(standby), "Unable to fail over subnet manager "+standby,
		"is not the master of its fabric: that is the one on port "+w.firstPort(master)+". Name that one.")
	refused("another host", map[string]any{"host": "nobody", "port_guid": w.firstPort(master)}, "known hosts: "+master)
	w.Run(master, "systemctl mask "+w.unit(master))
	refused("masked", named(master), "Refusing to start a subnet manager that somebody has masked", "Finding: SM032")
	w.Run(master, "systemctl unmask "+w.unit(master))

	w.failsOver(t, ws, sms, master, standby)
	history, said, err := ws.Data(t.Context(), "infiniband_history", map[string]any{"host": master})
	if note := fmt.Sprint(field(t, history, "changes")); err != nil || said.HasError() || !strings.Contains(note,
		"stopped until port "+w.firstPort(standby)+" rules, and started again") {
		t.Errorf("not noted: %v\n%s\n%s", err, said, note)
	}

	ws.Provider["hosts"].(map[string]any)[master].(map[string]any)["mode"] = "observe"
	refused("a host in mode observe", named(master), "Finding: HO008")
}

// failsOver invokes the action on the master of two subnet managers, whose priorities give the fabric back to it. What
// is told is what the hosts show: who ruled one after the other, and that the LIDs are as before.
func (w *Lab) failsOver(t *testing.T, ws *Workspace, sms Config, master, standby string) {
	t.Helper()
	roles := map[string]string{master: "master", standby: "standby"}
	awaitRoles(t, ws, sms, roles)
	lids := w.Run(standby, "ibnetdiscover -p")
	pids := []string{w.mainPID(master, w.unit(master)), w.mainPID(standby, w.unit(standby))}
	states := [][]string{w.smStates(master), w.smStates(standby)}
	progress, said, err := ws.Invoke(t.Context(), failOver,
		map[string]any{"host": master, "port_guid": w.firstPort(master)})
	if err != nil || said.HasError() {
		t.Fatalf("%v\n%s\n%s", err, said, strings.Join(progress, "\n"))
	}
	text := strings.Join(progress, "\n")
	t.Log(text)
	rules := func(host string) string {
		return fmt.Sprintf("the subnet manager on port %s, priority %v, is the master", w.firstPort(host),
			ws.Get("infiniband_opensm."+host, "priority"))
	}
	for _, want := range []string{"stopping " + w.unit(master) + " of " + master + "; the standby on port " +
		w.firstPort(standby) + ", ", "takes over within 4s", rules(standby), "LIDs of the fabric are as before",
		"started " + w.unit(master), rules(master), "LIDs of the fabric are as before"} {
		_, after, found := strings.Cut(text, want)
		if text = after; !found {
			t.Errorf("progress, %q is missing or earlier:\n%s", want, strings.Join(progress, "\n"))
		}
	}
	awaitRoles(t, ws, sms, roles)
	if now := w.Run(standby, "ibnetdiscover -p"); now != lids {
		t.Errorf("the fabric is not as before:\n%s\n%s", lids, now)
	}
	if now := w.mainPID(master, w.unit(master)); now == pids[0] || now == "0" {
		t.Errorf("the process of the master is %s, before %s", now, pids[0])
	}
	if now := w.mainPID(standby, w.unit(standby)); now != pids[1] {
		t.Errorf("the process of the standby is %s, before %s", now, pids[1])
	}
	// The former master may be given the fabric before it stands by.
	states[0], states[1] = w.smStates(master)[len(states[0]):], w.smStates(standby)[len(states[1]):]
	back, took := strings.Join(states[0], " "), strings.Join(states[1], " ")
	if took != "MASTER STANDBY" || !strings.HasSuffix(back, "MASTER") {
		t.Errorf("the opensm of the standby became %s, that of the master %s", took, back)
	}
}

var smState = regexp.MustCompile(`Entering (MASTER|STANDBY) state`)

// smStates is what the opensm of a host has become, one after the other, by its own log: MASTER, STANDBY.
func (w *Lab) smStates(host string) (states []string) {
	w.t.Helper()
	for _, m := range smState.FindAllStringSubmatch(w.Run(host, "cat /var/log/opensm."+w.firstPort(host)+".log"), -1) {
		states = append(states, m[1])
	}
	return states
}

// Whatever goes wrong while the master is stopped, it is started again.
func TestAction_failOverGoesWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when func(w *Lab, interrupt func())
		says string
	}{
		"LIDs change": {func(w *Lab, _ func()) {
			w.RememberLIDs(map[uint64]uint16{w.hosts[1].Cards[0].GUIDs[1]: 99})
		}, "LIDs of the fabric have changed: "},
		"the apply is interrupted": {func(_ *Lab, interrupt func()) { interrupt() }, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: pair(false)})
			drivers(w)
			master, standby := w.hosts[0].Name, w.hosts[1].Name
			w.Install(master, "infiniband-diags")
			ws, sms := w.Workspace(), w.managers(nil)
			mustApply(t, ws, sms)
			awaitRoles(t, ws, sms, map[string]string{master: "master", standby: "standby"})
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			w.Machine(master).Faults.Trap("systemctl stop -- opensm@", 1, labsim.ProgramFault{Do: func() { c.when(w, interrupt) }})
			_, said, err := ws.Invoke(ctx, failOver, map[string]any{"host": master, "port_guid": w.firstPort(master)})
			if err != nil || len(said.Errors().Find("Unable to fail over subnet manager "+master+"/"+
				w.firstPort(master)+"\n"+w.unit(master)+" of "+master+" was started again. ", c.says)) != 1 {
				t.Errorf("%v\n%s", err, said)
			}
			if active := w.Run(master, "systemctl is-active "+w.unit(master)); active != "active\n" {
				t.Errorf("the subnet manager is %s", active)
			}
		})
	}
}
