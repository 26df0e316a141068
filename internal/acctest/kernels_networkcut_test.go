//go:build reallab && linux

package acctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// networkCuts are the steps of a change of an interface after which the power goes, each as
// what it shows begins. The change holds if it was confirmed.
var networkCuts = []struct {
	name, step string
	holds      bool
}{
	{"before the write", "save-interface ", false},
	{"with the undo armed", "systemd-run ", false},
	{"with the files written", "/etc/systemd/network/60-infiniband-", false},
	{"in force, not confirmed", "networkctl reconfigure ", false},
	{"confirmed", "forget-confirmed-change ", true},
}

// TestKernels_power_cut_network takes the power from a machine between two steps of a
// change of its interface. After the next boot it has the whole former configuration or
// the whole new one, on the interface as in its files. It answers there, the plan says so,
// and the next apply ends the work.
func TestKernels_power_cut_network(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Stack, h.Cmdline = labsim.StackNetworkd, portsInfiniBand
	w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: h.Stack, system: h.OS}
	w.fabric()
	w.ws = w.workspace(nil, 0)
	now, other := w.config(20, nil), w.config(21, map[string]any{"mode": "datagram", "mtu": 2044, "routes": nil})
	last, next := 20, 21
	mustApply(t, w.ws, now)
	w.reached(last)
	// The disk has all of it: what is tested are the changes from here on.
	w.Run(theHost, "sync")
	for _, cut := range networkCuts {
		w.cutAfter(cut.step, other)
		held, heldLast := now, last
		if cut.holds {
			held, heldLast = other, next
		}
		w.reached(heldLast)
		emptyPlan(t, w.ws, held)
		if plan := cleanPlan(t, w.ws, other); cut.holds != (len(plan.Actions()) == 0) {
			t.Errorf("%s: of the change the plan says %v", cut.name, plan.Actions())
		}
		mustApply(t, w.ws, other)
		emptyPlan(t, w.ws, other)
		w.reached(next)
		w.Run(theHost, "sync")
		if out := w.Run(theHost, "ls -A /var/lib/terraform-provider-infiniband/undo 2>/dev/null || true"); out != "" {
			t.Errorf("%s: left of the change: %s", cut.name, out)
		}
		w.checkSurvived(cut.name)
		now, other, last, next = other, now, next, last
	}
	t.Logf("%d power cuts of a change survived: %s", len(w.cuts), strings.Join(w.cuts, "; "))
}

// reached waits until the other end of the fabric reaches an address of the host.
func (w *stackLab) reached(last int) {
	w.t.Helper()
	ping := fmt.Sprintf("ping -c 1 -W 5 %s.%d", w.Subnet(theHost), last)
	out, status := "", 1
	for end := time.Now().Add(90 * time.Second); status != 0 && time.Now().Before(end); time.Sleep(time.Second) {
		out, status = w.testbed.Operate(w.t.Context(), ping)
	}
	if status != 0 {
		w.t.Errorf("%s: status %d\n%s", ping, status, out)
	}
}

// cutAfter takes the power once a step of an apply has ended, and gives it back.
func (w *stackLab) cutAfter(step string, cfg Config) {
	w.t.Helper()
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		w.t.Fatalf("the lab stands on %T", w.testbed)
	}
	plan := cleanPlan(w.t, w.ws, cfg)
	var (
		mu   sync.Mutex
		seen []string
		back chan error
	)
	w.renew(func(e host.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == "dial" || back != nil {
			return
		}
		what, _, _ := strings.Cut(e.What, "\n")
		seen = append(seen, what)
		if !strings.HasPrefix(strings.TrimPrefix(e.What, "script "), step) {
			return
		}
		back = make(chan error, 1)
		loan.Machines[theHost].Cut()
		go func() { back <- loan.Restart(theHost) }()
	})
	diags, err := w.ws.Apply(context.Background(), plan)
	w.ws.Ended()
	mu.Lock()
	defer mu.Unlock()
	switch {
	case back == nil:
		w.t.Fatalf("the apply has no step %q:\n%s", step, strings.Join(slices.Compact(seen), "\n"))
	case err != nil || !diags.HasError():
		err = errors.Join(err, <-back)
		w.t.Fatalf("the apply that lost its host: %v\n%s", err, diags)
	}
	w.t.Logf("cut after %q, the apply says: %s", seen[len(seen)-1], diags.Errors()[0].Text())
	if err := <-back; err != nil {
		w.t.Fatal(err)
	}
	w.renew(nil)
}

// renew has another provider work with the same state.
func (w *stackLab) renew(trace func(host.Event)) {
	state := w.ws.State
	w.ws = w.workspace(trace, 0)
	w.ws.State = state
}
