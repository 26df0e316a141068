package acctest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The host changes between plan and apply, towards what is asked for or away from
// it: the apply converges, or says in words of its own what is in the way.
func TestIPoIB_host_changes_between_plan_and_apply(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.AddSM(&labsim.SM{Port: w.Machine(labs.Xeon2zfs).Cards()[0].Ports[0], Priority: 1})
	ws := w.Workspace()
	before := ipoib(labs.Intel9, map[string]any{"mtu": 9000})
	after := ipoib(labs.Intel9, map[string]any{"mode": "datagram", "mtu": 2044, "addresses": []any{"172.16.1.20/24"}})
	net := func(script string) func() {
		return func() { w.Run(labs.Intel9, strings.ReplaceAll(script, "IB", "ibp1s0")) }
	}
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"mode and MTU", net("echo datagram >/sys/class/net/IB/mode && ip link set dev IB mtu 2044")},
		{"MTU, as NetworkManager puts it back", net("ip link set dev IB down && ip link set dev IB mtu 4000")},
		{"addresses", net("ip addr add 172.16.1.20/24 dev IB && ip addr del 172.16.0.20/24 dev IB")},
		{"down", net("ip link set dev IB down")},
		{"name", func() {
			net("ip link set dev IB down")()
			w.Machine(labs.Intel9).RenameNetdev("ibp1s0", "ib7")
		}},
	} {
		mustApply(t, ws, before)
		plan := cleanPlan(t, ws, after)
		c.change()
		diags, err := ws.Apply(context.Background(), plan)
		if err != nil || diags.HasError() {
			t.Fatalf("%s: %v\n%s", c.name, err, diags)
		}
		emptyPlan(t, ws, after)
		w.Machine(labs.Intel9).RenameNetdev("ib7", "ibp1s0")
	}
	// Somebody gives it something that neither the plan has shown nor anybody asks for: it stays.
	for _, c := range []struct{ script, says string }{
		{"ip addr add 10.9.9.9/24 dev IB", "has address 10.9.9.9/24"},
		{"ip link set dev IB mtu 4000", "has MTU 4000"},
	} {
		mustApply(t, ws, before)
		plan := cleanPlan(t, ws, after)
		net(c.script)()
		changes := w.Count(labs.Intel9, "networkctl")
		if said := applyStep(t, ws, plan, "HO019"); !strings.Contains(said, c.says) ||
			w.Count(labs.Intel9, "networkctl") != changes {
			t.Errorf("%s: %s", c.script, said)
		}
	}
	// A destroy does not remove it either, before a plan has shown it. It leaves the MTU as it is.
	mustApply(t, ws, before)
	plan := mustPlan(t, ws, nil)
	net("ip link set dev IB mtu 4001 && ip addr add 10.9.9.8/24 dev IB")()
	if diags, err := ws.Apply(context.Background(), plan); err != nil ||
		len(diags.Errors().Find("HO019", "has address 10.9.9.8/24")) != 1 || strings.Contains(diags.String(), "4001") {
		t.Errorf("a destroy: %v\n%s", err, diags)
	}
	mustApply(t, ws, nil)
	net("ip addr del 10.9.9.8/24 dev IB")()
	// Somebody has done by hand what is planned.
	mustApply(t, ws, before)
	plan = cleanPlan(t, ws, after)
	twin := w.Workspace()
	mustApply(t, twin, after)
	if diags, err := ws.Apply(context.Background(), plan); err != nil || diags.HasError() {
		t.Fatalf("already done: %v\n%s", err, diags)
	}
	// Somebody changes it again before it is read back.
	plan = cleanPlan(t, ws, before)
	w.Machine(labs.Intel9).Faults.Trap("rm -rf", 0, labsim.ProgramFault{Do: func() {
		w.Machine(labs.Intel9).UpdateNetdev("ibp1s0",
			func(d *labsim.Netdev) { d.Addrs = append(d.Addrs, netip.MustParsePrefix("10.1.2.3/24")) })
	}})
	diags, err := ws.Apply(context.Background(), plan)
	if text := fmt.Sprint(diags.Errors()); err != nil ||
		!strings.Contains(text, "the host shows something else afterwards") || strings.Contains(text, "inconsistent") {
		t.Errorf("changed again: %v\n%s", err, diags)
	}
}

// NetworkManager does not activate an interface without a link: the error of the apply says so,
// with the code and the way out that the plan has.
func TestIPoIB_withoutCarrier(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.Stack = labsim.StackNetworkManager })})
	drivers(w)
	w.Disconnect(labsim.CardEnd(labs.Intel9, "0000:01:00.0", 1))
	ws := w.Workspace()
	diags, err := ws.Apply(t.Context(), cleanPlan(t, ws, ipoib(labs.Intel9, nil)))
	if err != nil {
		t.Fatal(err)
	}
	said := diags.Errors()
	if len(said.Find("was restored", "state Down, physical state Polling", "Plug the cable in", "Finding: IP045")) != 1 ||
		len(said.Find("Find the reason")) != 0 {
		t.Errorf("the apply says:\n%s", said)
	}
}
