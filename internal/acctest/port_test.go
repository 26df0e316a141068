package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// port is a configuration of port 1 of the Ubuntu host.
func (w *Lab) port(attrs map[string]any) Config {
	all := map[string]any{"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "port": 1}
	return Config{Resource{Type: "infiniband_port", Name: "it", Attrs: all}.With(attrs)}
}

func portFindings() []findingCase {
	const ubuntu = labs.Intel9
	wants := func(attrs map[string]any) func(*Lab) Config {
		return func(w *Lab) Config { return w.port(attrs) }
	}
	diags := func(w *Lab) {
		drivers(w)
		w.Install(ubuntu, "infiniband-diags")
	}
	off := map[string]any{"enabled": false}
	return []findingCase{
		{code: "PO001", only: "TrueNAS", at: "card_id", says: []string{"TrueNAS", "ibportstate"}, prepare: drivers,
			config: func(w *Lab) Config {
				return w.port(map[string]any{"card_id": labs.Xeon2zfs + "/" + w.PCI(labs.Xeon2zfs)})
			}},
		{code: "PO002", at: "port", says: []string{"no RDMA port at all"}, config: wants(nil),
			prepare: func(w *Lab) { w.unbind(ubuntu) }},
		{code: "PO003", at: "port", says: []string{"infiniband_link_type"}, config: wants(nil), prepare: ethernet},
		{code: "PO004", only: "IPoIB interfaces beside a fabric", at: "allow_management_path",
			says: []string{"The default route of intel9 goes over ibp1s0",
				`allow_management_path = ["ibp1s0"]`}, config: wants(off), prepare: func(w *Lab) {
				diags(w)
				w.Run(ubuntu, "ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up && ip route replace default via 198.51.100.1 dev ibp1s0")
			}},
		{code: "PO005", at: "port", says: []string{"port 1"}, config: wants(off), prepare: func(w *Lab) {
			diags(w)
			w.Install(ubuntu, "opensm")
		}},
		{code: "PO006", at: "speeds", says: []string{"HDR"}, prepare: diags,
			config: wants(map[string]any{"speeds": []any{"SDR", "HDR"}})},
		{code: "PO007", only: "a host without infiniband-diags", says: []string{"infiniband-diags"}, prepare: drivers,
			config: wants(nil)},
		{code: "PO008", says: []string{"LinkUp"}, prepare: diags, config: wants(off)},
		{code: "PO009", at: "port", says: []string{"/usr/local/sbin/terraform-infiniband-port"}, config: wants(nil),
			prepare: func(w *Lab) {
				diags(w)
				w.Put(ubuntu, "/usr/local/sbin/terraform-infiniband-port", "#!/bin/sh\n# mine\n")
			}},
		{code: "PO010", at: "port", says: []string{"not InfiniBand yet"}, prepare: ethernet, config: func(w *Lab) Config {
			it := w.port(nil)[0]
			it.After = []string{"infiniband_link_type.it"}
			return append(w.types(ubuntu, "ib", "ib"), it)
		}},
	}
}

// physical is the physical state of port 1 of the Ubuntu host, from the kernel.
func (w *Lab) physical() string {
	return strings.TrimSpace(w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/1/phys_state"))
}

// A port is switched off and on again, now and at boot; what others change is
// seen and mended; the state can be lost.
func TestPort_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	off, on := w.port(map[string]any{"enabled": false}), w.port(nil)
	mustApply(t, ws, off)
	if got := w.physical(); got != "3: Disabled" {
		t.Fatalf("the port is %q after it was disabled", got)
	}
	emptyPlan(t, ws, off)
	w.Restart(labs.Intel9)
	if got := w.physical(); got != "3: Disabled" {
		t.Errorf("after a restart the port is %q", got)
	}
	emptyPlan(t, ws, off)
	mustApply(t, ws, on)
	if got := w.physical(); got != "5: LinkUp" {
		t.Errorf("the port is %q after it was enabled", got)
	}
	w.Run(labs.Intel9, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 disable")
	if changes := cleanPlan(t, ws, on).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the drift is not planned: %v", changes)
	}
	mustApply(t, ws, on)
	emptyPlan(t, ws, on)
	lost := w.Workspace()
	diags, err := lost.Import(context.Background(), on[0], fmt.Sprintf("%s/%s/1", labs.Intel9, w.PCI(labs.Intel9)))
	if err != nil || diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	emptyPlan(t, lost, on)
	diags = mustApply(t, lost, nil)
	if len(diags.Warnings().Find("Port intel9/0000:01:00.0/1")) != 1 {
		t.Errorf("the destroy does not say what stays of the port:\n%s", diags)
	}
	if out := w.Run(labs.Intel9, "ls /etc/systemd/system /usr/local/sbin"); strings.Contains(out, "infiniband-port") {
		t.Errorf("left on the host:\n%s", out)
	}
}

// Speeds are set where they are asked for, and a speed that is drifted back.
func TestPort_speeds(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	slow := w.port(map[string]any{"speeds": []any{"SDR", "DDR"}})
	mustApply(t, ws, slow)
	emptyPlan(t, ws, slow)
	rate := strings.TrimSpace(w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/1/rate"))
	if rate != "20 Gb/sec (4X DDR)" {
		t.Errorf("the link runs at %q", rate)
	}
	w.Run(labs.Intel9, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 speed 7")
	if changes := cleanPlan(t, ws, slow).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the drift is not planned: %v", changes)
	}
	mustApply(t, ws, slow)
	emptyPlan(t, ws, slow)
}
