//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// TestKernels_actions: the real opensm and systemd of two machines do what the actions say, with priorities either way,
// with equal ones, and after an interrupt. The real perfquery clears, and the real iperf3 measures.
func TestKernels_actions(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	hosts := pair(false)
	hosts[0].OS, hosts[1].OS = labsim.Debian12, labsim.Debian13
	w := Start(t, Options{Hosts: hosts})
	drivers(w)
	first, second, ws := w.Names()[0], w.Names()[1], w.Workspace()
	var cfg Config
	for _, c := range []struct {
		priorities      [2]int
		master, standby string
	}{{[2]int{14, 13}, first, second}, {[2]int{12, 13}, second, first}, {[2]int{12, 12}, first, second}} {
		cfg = w.managers(nil)
		for i := range cfg {
			cfg[i] = cfg[i].With(map[string]any{"priority": c.priorities[i]})
		}
		mustApply(t, ws, cfg)
		w.failsOver(t, ws, cfg, c.master, c.standby)
	}
	w.startsMasterAgain(t, ws, first)
	awaitRoles(t, ws, cfg, map[string]string{first: "master", second: "standby"})
	w.clearsCounters(t, ws, first, second)

	for i, host := range w.Names() {
		cfg = append(cfg, Resource{Type: "infiniband_ipoib_interface", Name: host, After: []string{cfg[0].Address()},
			Attrs: map[string]any{"host": host, "port_guid": w.firstPort(host), "mode": "connected", "mtu": 65520,
				"addresses": []any{fmt.Sprintf("%s.%d/24", kernelSubnet, 20+i)}}})
	}
	mustApply(t, ws, cfg)
	w.tells(t, ws, "infiniband_run_benchmark", map[string]any{"server": first, "client": second, "test": "iperf3",
		"duration": "2s"}, "iperf3 from "+second+" to "+first+": ", " Gb/s")
	emptyPlan(t, ws, cfg)
}

// startsMasterAgain interrupts the action as soon as the master has stopped.
func (w *Lab) startsMasterAgain(t *testing.T, ws *Workspace, master string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		defer interrupt()
		w.Try(master, "timeout 200 sh -c 'while systemctl -q is-active "+w.unit(master)+"; do sleep 0.1; done'")
	}()
	_, said, err := ws.Invoke(ctx, failOver, map[string]any{"host": master, "port_guid": w.firstPort(master)})
	if err != nil || len(said.Errors().Find("Unable to fail over subnet manager "+master+"/"+
		w.firstPort(master)+"\n"+w.unit(master)+" of "+master+" was started again. ", "context canceled")) != 1 {
		t.Errorf("the action was interrupted: %v\n%s", err, said)
	}
	if active := w.Run(master, "systemctl is-active "+w.unit(master)); active != "active\n" {
		t.Errorf("the subnet manager is %s", active)
	}
}

// clearsCounters has the cable of the second machine break symbols.
func (w *Lab) clearsCounters(t *testing.T, ws *Workspace, from, to string) {
	t.Helper()
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		t.Fatalf("the lab stands on %T", w.testbed)
	}
	const kind = "infiniband_clear_counters"
	of := map[string]any{"host": from}
	w.tells(t, ws, kind, of) // what was counted before
	loan.Cards[to][0].Cable.Disturb(70)
	w.tells(t, ws, kind, of, "SymbolErrorCounter 70", "ports cleared: 2")
	w.tells(t, ws, kind, of, "no error counter is above zero")
	if out := w.Run(to, "perfquery"); !strings.Contains(out, "SymbolErrorCounter:..............0\n") {
		t.Errorf("the port of %s counts\n%s", to, out)
	}
}

// tells invokes an action, which succeeds.
func (w *Lab) tells(t *testing.T, ws *Workspace, kind string, attrs map[string]any, want ...string) {
	t.Helper()
	progress, said, err := ws.Invoke(t.Context(), kind, attrs)
	text := strings.Join(progress, "\n")
	t.Log(text)
	if err != nil || said.HasError() || !containsAll(text, want) {
		t.Errorf("%v\n%s\nwant %q in\n%s", err, said, want, text)
	}
}
