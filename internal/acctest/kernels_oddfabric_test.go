//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// oddLab is one machine, whose port is plugged into one fabric after the other.
type oddLab struct {
	*Lab
	t    *testing.T
	ws   *Workspace
	loan *kernelLoan
	port string // the GUID of its port
}

// TestKernels_odd_fabric: what the provider says of fabrics that are not as they should be,
// before and after a subnet manager has met them. The stock kernel and the real tools read
// them; where a subnet manager cannot do its work the resource names the cause.
func TestKernels_odd_fabric(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Cmdline = portsInfiniBand
	w := &oddLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t}
	w.noFlash()
	w.ws, w.port = w.Workspace(), w.firstPort(theHost)
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		t.Fatalf("the lab stands on %T", w.testbed)
	}
	w.loan = loan
	w.Run(theHost, "modprobe -a mlx4_ib ib_umad")
	loan.Cards[theHost][0].Cable.Pull()

	w.twice()
	w.zero()
	w.served("back to back", w.own(), w.loan.Lone("other", 0xe41d2d0300e44f10, 0xe41d2d0300e44f11))
	w.withoutLink("cause: cable", "cause: disabled")
	w.served("on a switch", w.own(), w.loan.Switches["switch"].Port(1))
}

// own is the port of the machine.
func (w *oddLab) own() *wire.Port { return w.loan.Cards[theHost][0].Port(1) }

// switched plugs the machine into the switch, with a card of no machine beside it.
func (w *oddLab) switched(node, port uint64) (unplug func()) {
	s := w.loan.Switches["switch"]
	cables := []*wire.Cable{wire.Connect(w.own(), s.Port(1)), wire.Connect(w.loan.Lone("other", node, port), s.Port(2))}
	return func() {
		for _, c := range cables {
			c.Pull()
		}
	}
}

// sees compares the differences that the machine finds in the fabric, each by its beginning.
func (w *oddLab) sees(when string, want ...string) {
	w.t.Helper()
	w.until(theHost, "cat /sys/class/infiniband/*/ports/1/phys_state", "LinkUp")
	// Cables that were pulled have left their counts.
	w.Run(theHost, "ibqueryerrors -k >/dev/null; true")
	v, diags, err := w.ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": theHost})
	if err != nil || diags.HasError() {
		w.t.Fatalf("%s: %v\n%s", when, err, diags.Errors())
	}
	got := messages(w.t, v)
	same := strings.Count(got, "\n")+1 == len(want) || got == "" && len(want) == 0
	for _, m := range want {
		same = same && strings.Contains("\n"+got, "\n"+m)
	}
	if !same {
		w.t.Errorf("%s: the differences are\n%s\nand not\n%s", when, got, strings.Join(want, "\n"))
	}
}

const (
	unmanagedFabric = "no_sm: "
	silentPort      = "silent: SwitchX -  Mellanox Technologies port 2 has a link, and nothing answers"
)

// manager is a subnet manager on the port. A port that is not served is given up early.
func (w *oddLab) manager() Config {
	return sm(theHost, map[string]any{"port_guid": w.port, "priority": 3, "timeouts": map[string]any{"create": "4m"}})
}

// served: the subnet manager brings up what a port is plugged to, and nothing is left to say.
func (w *oddLab) served(name string, one, other *wire.Port) {
	c := wire.Connect(one, other)
	defer c.Pull()
	w.sees(name, unmanagedFabric)
	mustApply(w.t, w.ws, w.manager())
	w.sees(name + ", managed")
	mustApply(w.t, w.ws, nil)
}

// twice: a card with the GUIDs of the machine's. The subnet manager is refused before anything
// is installed or started. One that was started by hand changes nothing of the fabric.
func (w *oddLab) twice() {
	const node = 0xe41d2d0300e44ed0
	c := wire.Connect(w.own(), w.loan.Lone("other", node, node+1))
	w.refused("back to back")
	c.Pull()
	defer w.switched(node, node+1)()
	duplicate := "duplicate_guid: More than one port has the GUID " + w.port
	w.sees("a GUID twice", duplicate, unmanagedFabric, silentPort)
	w.refused("on a switch")
	w.Run(theHost, "systemd-run --quiet --unit opensm-by-hand opensm -g "+w.port+" -f /var/log/opensm-by-hand.log")
	w.until(theHost, "cat /var/log/opensm-by-hand.log", "ERR 0D01: Found duplicated node GUID")
	w.sees("a GUID twice, managed", duplicate, unmanagedFabric, silentPort)
	w.Run(theHost, "systemctl stop opensm-by-hand")
}

// refused holds that a GUID twice is refused, and that nothing was written.
func (w *oddLab) refused(when string) {
	w.t.Helper()
	w.until(theHost, "cat /sys/class/infiniband/*/ports/1/phys_state", "LinkUp")
	diags := mustPlan(w.t, w.ws, w.manager()).Diags.Errors()
	if len(diags.Find("SM019", "has twice: "+w.port)) != 1 {
		w.t.Errorf("%s: a GUID twice is not refused:\n%s", when, diags)
	}
	if out, _ := w.Try(theHost, "systemctl is-active "+w.unit(theHost)+"; ls /etc/opensm"); !strings.HasPrefix(out, "inactive") ||
		strings.Contains(out, "terraform") {
		w.t.Errorf("%s: after the refusal: %s", when, out)
	}
}

// zero: a card with GUIDs of zero. The subnet manager leaves its port alone and serves the
// others.
func (w *oddLab) zero() {
	defer w.switched(0, 0)()
	const zero = "zero_guid: The GUID of other is zero"
	w.sees("a GUID of zero", zero, unmanagedFabric)
	mustApply(w.t, w.ws, w.manager())
	w.sees("a GUID of zero, managed", zero, "inactive: other port 1 - SwitchX -  Mellanox Technologies port 2 is")
	mustApply(w.t, w.ws, nil)
}

// withoutLink: a port that cannot be served, without its cable and switched off. With a link
// the same configuration is applied.
func (w *oddLab) withoutLink(pulled, disabled string) {
	w.fails("no cable", pulled)
	c := wire.Connect(w.own(), w.loan.Switches["switch"].Port(1))
	defer c.Pull()
	w.until(theHost, "cat /sys/class/infiniband/*/ports/1/phys_state", "LinkUp")
	w.Run(theHost, "ibportstate -C $(ls /sys/class/infiniband) -P 1 -D 0 1 disable")
	w.fails("switched off", disabled)
	w.Run(theHost, "ibportstate -C $(ls /sys/class/infiniband) -P 1 -D 0 1 enable")
	w.until(theHost, "cat /sys/class/infiniband/*/ports/1/phys_state", "LinkUp")
	mustApply(w.t, w.ws, w.manager())
	mustApply(w.t, w.ws, nil)
}

// fails holds that an apply names the cause for which the port is not served.
func (w *oddLab) fails(when, cause string) {
	w.t.Helper()
	diags, err := w.ws.Apply(context.Background(), cleanPlan(w.t, w.ws, w.manager()))
	if err != nil || len(diags.Errors().Find("the port is not served", fmt.Sprintf("(%s,", cause))) != 1 {
		w.t.Errorf("%s: %v\n%s", when, err, diags)
	}
}
