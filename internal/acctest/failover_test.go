package acctest

import (
	"context"
	"fmt"
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
	lids := func() string { return w.Run(standby, "ibnetdiscover -p") }

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

	before, pid := lids(), w.mainPID(master, w.unit(master))
	progress, said, err := ws.Invoke(t.Context(), failOver, named(master))
	if err != nil || said.HasError() {
		t.Fatalf("%v\n%s", err, said)
	}
	text := strings.Join(progress, "\n")
	for _, want := range []string{"stopping " + w.unit(master) + " of " + master + "; the standby on port " +
		w.firstPort(standby) + ", priority 13, takes over within 4s",
		"the subnet manager on port " + w.firstPort(standby) + ", priority 13, is the master", "LIDs of the fabric are as before",
		"started " + w.unit(master), "the subnet manager on port " + w.firstPort(master) + ", priority 14, is the master",
		"LIDs of the fabric are as before"} {
		_, after, found := strings.Cut(text, want)
		if text = after; !found {
			t.Errorf("progress, %q is missing or earlier:\n%s", want, strings.Join(progress, "\n"))
		}
	}
	if now := lids(); now != before {
		t.Errorf("the fabric is not as before:\n%s\n%s", before, now)
	}
	if now := w.mainPID(master, w.unit(master)); now == pid || now == "0" {
		t.Errorf("the process of the master is %s, before %s", now, pid)
	}
	awaitRoles(t, ws, sms, map[string]string{master: "master", standby: "standby"})
	history, said, err := ws.Data(t.Context(), "infiniband_history", map[string]any{"host": master})
	if note := fmt.Sprint(field(t, history, "changes")); err != nil || said.HasError() || !strings.Contains(note,
		"stopped until port "+w.firstPort(standby)+" rules, and started again") {
		t.Errorf("not noted: %v\n%s\n%s", err, said, note)
	}

	ws.Provider["hosts"].(map[string]any)[master].(map[string]any)["mode"] = "observe"
	refused("a host in mode observe", named(master), "Finding: HO008")
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
			if err != nil || len(said.Errors().Find("Unable to fail over subnet manager "+master,
				w.unit(master)+" of "+master+" was started again. ", c.says)) != 1 {
				t.Errorf("%v\n%s", err, said)
			}
			if active := w.Run(master, "systemctl is-active "+w.unit(master)); active != "active\n" {
				t.Errorf("the subnet manager is %s", active)
			}
		})
	}
}
