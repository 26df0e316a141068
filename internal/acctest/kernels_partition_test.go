//go:build reallab && linux

package acctest

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestKernels_partition: on every network stack an interface in a partition is made by
// the stock ib_ipoib, carries packets, and is there again after a restart.
func TestKernels_partition(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	for stack := range stackNames {
		for _, system := range []labsim.OS{labsim.Debian12, labsim.Debian13} {
			t.Run(fmt.Sprint(system, " ", stack), func(t *testing.T) {
				t.Parallel()
				h := labs.Server(theHost, system, "192.0.2.20", 0)
				h.Stack, h.Cmdline = stack, portsInfiniBand
				w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack}
				w.fabric()
				w.partition()
			})
		}
	}
}

func (w *stackLab) partition() {
	if out, status := w.testbed.Operate(w.t.Context(), gatePartitions); status != 0 {
		w.t.Fatalf("the gate has no interface in the partitions: %s", out)
	}
	key := partitionOf("key", gateKey, keySubnet)
	cfg := Config{
		{Type: "infiniband_ipoib_interface", Name: "port", Attrs: map[string]any{"host": theHost, "port_guid": stackPort,
			"mode": "connected", "mtu": 65520, "addresses": []any{kernelSubnet + ".20/24"}}},
		key,
	}
	cfg[1].After = []string{"infiniband_ipoib_interface.port"}
	ofPort, ofKey := "65000 "+kernelSubnet, "2016 "+keySubnet
	ws := w.Workspace()
	w.keeps(ws, cfg, ofPort, ofKey)
	name, _ := ws.Get("infiniband_ipoib_interface.key", "interface").(string)
	w.Run(theHost, "ip link set dev "+name+" mtu 1500")
	if plan := cleanPlan(w.t, ws, cfg); plan.Actions()["infiniband_ipoib_interface.key"] != Update {
		w.t.Errorf("another MTU: the plan is %v", plan.Actions())
	}
	mustApply(w.t, ws, cfg)
	emptyPlan(w.t, ws, cfg)
	mustApply(w.t, ws, cfg[:1])
	emptyPlan(w.t, ws, cfg[:1])
	if out, status := w.Try(theHost, "ip link show dev "+name); status == 0 {
		w.t.Errorf("after the destroy there is still %s", out)
	}
	w.withoutParent(ws, key)
}

// withoutParent: interfaces in two partitions of a port that has no interface of its own.
func (w *stackLab) withoutParent(ws *Workspace, key Resource) {
	w.t.Helper()
	other := partitionOf("other", otherKey, otherSubnet)
	ofKey, ofOther := "2016 "+keySubnet, "2016 "+otherSubnet
	mustApply(w.t, ws, Config{})
	w.keeps(ws, Config{other, key}, ofKey, ofOther)
	mustApply(w.t, ws, Config{key})
	emptyPlan(w.t, ws, Config{key})
	w.reach("without the other", ofKey)
}

func partitionOf(name, pkey, subnet string) Resource {
	return Resource{Type: "infiniband_ipoib_interface", Name: name, Attrs: map[string]any{"host": theHost,
		"port_guid": stackPort, "pkey": pkey, "mode": "datagram", "mtu": 2044, "addresses": []any{subnet + ".20/24"}}}
}

// keeps: an apply makes the interfaces, and they are there after a restart.
func (w *stackLab) keeps(ws *Workspace, cfg Config, pings ...string) {
	w.t.Helper()
	mustApply(w.t, ws, cfg)
	emptyPlan(w.t, ws, cfg)
	w.reach("after the apply", pings...)
	w.Reboot(theHost)
	emptyPlan(w.t, ws, cfg)
	w.reach("after a restart", pings...)
}

// reach: packets get to the host; each of pings is their length and the subnet.
func (w *stackLab) reach(when string, pings ...string) {
	w.t.Helper()
	for _, ping := range pings {
		out, status := w.testbed.Operate(w.t.Context(), "ping -c 3 -i 0.5 -w 60 -M do -s "+ping+".20")
		if status != 0 {
			w.t.Errorf("%s: ping of %s: status %d\n%s", when, ping, status, out)
		}
	}
}
