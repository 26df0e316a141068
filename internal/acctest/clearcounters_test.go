package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Error counters are cleared by an action, all or those of named ports. A later look takes none for growth, and one
// that counts again for all that it has counted since.
func TestAction_clearCounters(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws, one, two := w.Workspace(), w.Names()[0], w.Names()[1]
	w.Install(one, "infiniband-diags")
	invoke := func(attrs map[string]any) (string, Diags) {
		t.Helper()
		attrs["host"] = one
		progress, said, err := ws.Invoke(t.Context(), "infiniband_clear_counters", attrs)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(progress, "\n"), said
	}
	resets := func() int { return w.Count(one, "perfquery", "-R") }
	refused := func(attrs map[string]any, says ...string) {
		t.Helper()
		if _, said := invoke(attrs); len(said.Errors().Find(says...)) != 1 || resets() != 0 {
			t.Errorf("%d resets, want %q in\n%s", resets(), says, said)
		}
	}
	refused(map[string]any{}, "Unable to clear error counters of the fabric of host "+one, "No counter was cleared",
		"No subnet manager rules this fabric")
	at := func(port int) labsim.End { return labsim.SwitchEnd("switch", port) }
	mustApply(t, ws, append(w.managers(nil)[:1], baseline(one, "first")))
	for _, name := range []string{"SymbolErrorCounter", "LinkErrorRecoveryCounter", "PortXmitWait"} {
		w.Lab.Count(at(1), name, 255)
	}
	w.Lab.Count(at(2), "PortRcvErrors", 3)
	mine := labsim.CardEnd(two, w.PCI(two), 1)
	w.Lab.Count(mine, "LinkDownedCounter", 2)
	mustApply(t, ws, append(w.managers(nil)[:1], baseline(one, "before")))
	refused(map[string]any{"ports": []any{"nobody/1"}}, "nobody/1 names 0 nodes of the fabric. It has ")
	refused(map[string]any{"ports": []any{one + "/7"}}, "has no port 7 on this fabric")

	const theSwitch = "0x0002c902004a1b00"
	progress, said := invoke(map[string]any{"ports": []any{theSwitch + "/1"}})
	if said.HasError() || !strings.Contains(progress, "("+theSwitch+"/1): LinkErrorRecoveryCounter 255, PortXmitWait 255, "+
		"SymbolErrorCounter 255\nports cleared: 1") || resets() != 1 {
		t.Errorf("a port: %d resets\n%s\n%s", resets(), progress, said)
	}
	hosts, _ := ws.Provider["hosts"].(map[string]any)
	hosts[two].(map[string]any)["mode"] = "observe"
	progress, said = invoke(map[string]any{})
	if said.HasError() || !strings.Contains(progress, "left "+two+" mlx4_0 port 1: host "+two+" is in mode observe") ||
		!strings.Contains(progress, "("+theSwitch+"/2): PortRcvErrors 3\nports cleared: 1") {
		t.Errorf("all but those of a host in mode observe:\n%s\n%s", progress, said)
	}
	delete(hosts[two].(map[string]any), "mode")
	if progress, said = invoke(map[string]any{}); said.HasError() || !strings.Contains(progress, "LinkDownedCounter 2\nports cleared: 1") {
		t.Errorf("all:\n%s\n%s", progress, said)
	}
	if progress, said = invoke(map[string]any{}); said.HasError() || progress != "no error counter is above zero" {
		t.Errorf("again:\n%s\n%s", progress, said)
	}

	if m := messages(t, since(t, ws, one)); m != "" {
		t.Errorf("cleared counters are told as growth:\n%s", m)
	}
	w.Lab.Count(at(1), "SymbolErrorCounter", 20)
	if m := messages(t, since(t, ws, one)); !strings.Contains(m, "port 1 has counted 20 more SymbolErrorCounter in") ||
		strings.Contains(m, "\n") {
		t.Errorf("after it was cleared:\n%s", m)
	}

	w.Machine(one).Faults.Trap("perfquery", 1, labsim.ProgramFault{Exit: true, Status: 255})
	if _, said = invoke(map[string]any{}); len(said.Errors().Find("1 of 1 ports did not take the command",
		"perfquery ended with status 255")) != 1 {
		t.Errorf("a port that does not answer:\n%s", said)
	}
	w.Machine(one).Faults.Trap("perfquery", 1, labsim.ProgramFault{Exit: true})
	if _, said = invoke(map[string]any{}); said.HasError() || len(said.Find("Error counters that stand where they stood",
		"SymbolErrorCounter 20. The port ignores the command")) != 1 {
		t.Errorf("a port that ignores it:\n%s", said)
	}
	hosts[one].(map[string]any)["mode"] = "observe"
	before := resets()
	if _, said = invoke(map[string]any{}); len(said.Errors().Find("Finding: HO008")) != 1 || resets() != before {
		t.Errorf("from a host in mode observe:\n%s", said)
	}
}
