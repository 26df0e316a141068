//go:build reallab && linux

package acctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestKernels_management_path: a change of one port takes the interfaces of both away,
// whatever uses them. The plan refuses it where the operator comes in by one of them, and
// where a default route goes out by one; with consent the stock driver makes it.
func TestKernels_management_path(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Stack = labsim.StackNetworkd
	w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: h.Stack, system: h.OS}
	w.fabric()
	w.ws = w.workspace(nil, 0)
	// Without mstflint nobody knows the GUIDs of Ethernet ports, so the interface comes second.
	types := w.portTypes("ib", "ib", nil)
	mustApply(t, w.ws, types)
	cfg := slices.Concat(types, w.config(20, nil))
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
	w.overFabric(cfg)
	w.inUse()
	w.defaultRoute()
}

// portTypes are those of both ports, with consent to what is lost.
func (w *stackLab) portTypes(one, two string, consent []any) Config {
	cfg := w.types(theHost, one, two)
	if consent != nil {
		cfg[0] = cfg[0].With(Allow("management_path", consent))
	}
	return cfg
}

// overFabric has the operator come in by port 1 and change port 2.
func (w *stackLab) overFabric(cfg Config) {
	w.t.Helper()
	name, ok := w.ws.Get(ipoibAddress, "interface").(string)
	if !ok {
		w.t.Fatalf("the interface has no name: %v\n%s", Decode(w.ws.State[ipoibAddress].Value),
			w.Run(theHost, "ip addr; cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port*; dmesg | tail -n 20"))
	}
	w.over(20, 0)
	index := w.Run(theHost, "cat /sys/class/net/"+name+"/ifindex")
	changed := slices.Concat(w.portTypes("ib", "eth", nil), cfg[1:])
	if plan := mustPlan(w.t, w.ws, changed); len(plan.Diags.Errors().Find("HO001", "management_path = [\""+name+"\"]")) != 1 {
		w.t.Errorf("the operator comes in by %s:\n%s", name, plan.Diags)
	}
	changed = slices.Concat(w.portTypes("ib", "eth", []any{name}), cfg[1:])
	mustApply(w.t, w.ws, changed)
	w.await(20) // the network stack configures the new interface
	emptyPlan(w.t, w.ws, changed)
	w.answers(20)
	if now := w.Run(theHost, "cat /sys/class/net/"+name+"/ifindex"); now == index {
		w.t.Errorf("%s still has the number %s: the driver has not made it anew, and the refusal is wrong", name, now)
	}
	w.over(0, 0)
}

// inUse: the driver does not refuse a change of a port that programs use, so nothing but
// the plan stands before it. They lose what they have open.
func (w *stackLab) inUse() {
	w.t.Helper()
	w.Run(theHost, "modprobe -a ib_umad ib_uverbs; "+
		"systemd-run -q --unit uses-mad opensm -p 0 -g "+stackPort+" -f /var/log/opensm-in-use.log; "+
		"systemd-run -q --unit uses-verbs ib_write_bw; sleep 5; systemctl is-active uses-mad uses-verbs")
	const slot = "/sys/bus/pci/devices/0000:01:00.0"
	out, status := w.Try(theHost, "cd "+slot+" && timeout 60 sh -c 'echo eth >mlx4_port1' && cat mlx4_port1")
	if status != 0 || strings.TrimSpace(out) != "eth" {
		w.t.Errorf("a port in use: status %d: %s", status, out)
	}
	w.Run(theHost, "systemctl stop uses-mad uses-verbs || true")
}

// defaultRoute has a default route go out by port 2, of Ethernet, and changes port 1.
func (w *stackLab) defaultRoute() {
	w.t.Helper()
	clear(w.ws.State)
	cfg := w.portTypes("eth", "eth", nil)
	mustApply(w.t, w.ws, cfg)
	emptyPlan(w.t, w.ws, cfg)
	const name = "enp1s0d1"
	w.Run(theHost, "ip addr add 198.51.100.20/24 dev "+name+" && ip link set dev "+name+" up && ip route add default via 198.51.100.1 dev "+
		name+" metric 4000 onlink")
	if plan := mustPlan(w.t, w.ws, w.portTypes("ib", "eth", nil)); len(plan.Diags.Errors().Find("HO002",
		fmt.Sprintf("management_path = [%q]", name))) != 1 {
		w.t.Errorf("a default route by %s:\n%s", name, plan.Diags)
	}
	cfg = w.portTypes("ib", "eth", []any{name})
	mustApply(w.t, w.ws, cfg)
	emptyPlan(w.t, w.ws, cfg)
	if routes := w.Run(theHost, "ip route show default dev "+name+"; ip -4 -br addr show dev "+name); strings.Contains(routes, "198.51.100") {
		w.t.Errorf("%s keeps its routes and addresses, and the refusal is wrong:\n%s", name, routes)
	}
}
