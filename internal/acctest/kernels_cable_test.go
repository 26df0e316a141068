//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// cableLab is two machines on a switch, whose cables become bad.
type cableLab struct {
	*Lab
	t     *testing.T
	ws    *Workspace
	names []string
	cable *wire.Cable // of the second machine
}

// TestKernels_cable: what the provider says of a cable that is limited, noisy, pulled and
// put back is what the driver and the fabric make of it. Nothing of it is a change that a
// plan could make.
func TestKernels_cable(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	var hosts []labs.Host
	for i, name := range []string{"near", "far"} {
		h := labs.Server(name, labsim.Debian12, fmt.Sprintf("192.0.2.%d", 20+i), i)
		h.Cmdline = portsInfiniBand
		hosts = append(hosts, h)
	}
	w := &cableLab{Lab: Start(t, Options{Hosts: hosts}), t: t, names: []string{"near", "far"}}
	w.noFlash()
	w.ws = w.Workspace()
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		t.Fatalf("the lab stands on %T", w.testbed)
	}
	w.cable = loan.Cards["far"][0].Cable
	cfg := w.config()
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
	w.sees("")
	w.reaches("")

	w.limited(cfg)
	w.noisy()
	w.pulled(cfg)
}

// config is IPoIB between the machines, and a subnet manager on the first.
func (w *cableLab) config() Config {
	cfg := Config{{Type: "infiniband_opensm", Name: "it", Attrs: map[string]any{"host": w.names[0],
		"port_guid": w.port(0), "priority": 14}}}
	for i, name := range w.names {
		cfg = append(cfg,
			Resource{Type: "infiniband_card", Name: name, Attrs: map[string]any{"host": name, "pci_address": "0000:01:00.0"}},
			Resource{Type: "infiniband_ipoib_interface", Name: name, After: []string{"infiniband_opensm.it"}, Attrs: map[string]any{
				"host": name, "port_guid": w.port(i), "mode": "connected", "mtu": 65520,
				"addresses": []any{fmt.Sprintf("%s.%d/24", kernelSubnet, 20+i)}}})
	}
	return cfg
}

func (w *cableLab) port(i int) string { return fmt.Sprintf("0xe41d2d0300e44e%02x", 0xd1+0x10*i) }

// sees compares the differences that the first machine finds in the fabric.
func (w *cableLab) sees(want ...string) {
	w.t.Helper()
	v, diags, err := w.ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": w.names[0],
		"expected_links": []any{
			map[string]any{"a": "near/1", "b": theSwitch + "/1", "min_speed": "FDR", "min_width": "4X"},
			map[string]any{"a": "far/1", "b": theSwitch + "/2", "min_speed": "FDR", "min_width": "4X"}}})
	if err != nil || diags.HasError() {
		w.t.Fatalf("fabric: %v\n%s", err, diags.Errors())
	}
	got := messages(w.t, v)
	for _, m := range want {
		if m == "" && got != "" || !strings.Contains(got, m) {
			w.t.Errorf("want %q in the differences:\n%s", m, got)
		}
	}
}

// reaches compares the problems between the machines; the empty one means that packets of
// the whole MTU pass.
func (w *cableLab) reaches(want string) {
	w.t.Helper()
	v, diags, err := w.ws.Data(context.Background(), "infiniband_connectivity",
		map[string]any{"from": w.names[0], "to": w.names[1], "packets": 3})
	if err != nil || diags.HasError() {
		w.t.Fatalf("connectivity: %v\n%s", err, diags.Errors())
	}
	problems := fmt.Sprint(field(w.t, v, "problems"))
	if passes := fmt.Sprint(field(w.t, v, "mtu_ok")) == "true"; passes != (want == "") || !strings.Contains(problems, want) {
		w.t.Errorf("packets of the whole MTU pass: %v, want %q in the problems %s", passes, want, problems)
	}
}

// becomes waits until the driver of the second machine shows a state of its first port.
func (w *cableLab) becomes(state string) {
	w.t.Helper()
	w.Run(w.names[1], fmt.Sprintf(`for i in $(seq 120); do grep -q "%s" /sys/class/infiniband/*/ports/1/state && exit; sleep 0.5; done
cat /sys/class/infiniband/*/ports/1/state; exit 1`, state))
}

// works waits until the interface of the second machine works again.
func (w *cableLab) works() {
	w.t.Helper()
	w.becomes("ACTIVE")
	w.Run(w.names[0], fmt.Sprintf("for i in $(seq 60); do ping -c 1 -W 1 %s.21 >/dev/null && exit; sleep 0.5; done; exit 1", kernelSubnet))
}

// limited: the kernel's rate and the provider's width and speed are those of the cable, and
// no plan changes anything.
func (w *cableLab) limited(cfg Config) {
	for _, c := range []struct {
		width      uint8
		speeds     wire.Speeds
		rate, says string
	}{
		{1, wire.Quality, "14 Gb/sec (1X FDR)", "runs at 1X FDR"},
		{3, wire.Speeds{Basic: 1}, "10 Gb/sec (4X SDR)", "runs at 4X SDR"},
		{3, wire.Speeds{Basic: 7, FDR10: true}, "40 Gb/sec (4X FDR10)", "runs at 4X FDR10"},
	} {
		w.cable.Degrade(c.width, c.speeds)
		w.works()
		if got := strings.TrimSpace(w.Run(w.names[1], "cat /sys/class/infiniband/*/ports/1/rate")); got != c.rate {
			w.t.Errorf("the driver says %q, want %q", got, c.rate)
		}
		w.sees(c.says)
		emptyPlan(w.t, w.ws, cfg)
	}
	w.cable.Degrade(3, wire.Quality)
	w.works()
	w.clear()
	w.sees("")
	w.reaches("")
}

// clear sets all error counters to zero.
func (w *cableLab) clear() {
	w.t.Helper()
	w.Run(w.names[0], "ibqueryerrors -k >/dev/null; true") // its status says whether there were any
}

// noisy: what the ports count is in the differences.
func (w *cableLab) noisy() {
	w.cable.Disturb(70)
	w.sees("port 1 has counted 70 SymbolErrorCounter since the counter was last cleared, more than 10.",
		"port 2 has counted 70 SymbolErrorCounter since the counter was last cleared, more than 10.")
	w.clear()
	w.sees("")
}

// pulled: without its cable the port is Down and its interface has no carrier; that is said,
// and nothing is planned. With the cable all is as before, without an apply.
func (w *cableLab) pulled(cfg Config) {
	w.cable.Pull()
	w.becomes("DOWN")
	plan := cleanPlan(w.t, w.ws, cfg)
	for address, action := range plan.Actions() {
		if action != NoOp {
			w.t.Errorf("without the cable the plan is to %s %s", action, address)
		}
	}
	for path, want := range map[string]string{"carrier": "false", "up": "true"} {
		if got := fmt.Sprint(plan.Get("infiniband_ipoib_interface.far", path)); got != want {
			w.t.Errorf("without the cable %s of the interface is %s", path, got)
		}
	}
	shown, _, err := w.ws.Data(w.t.Context(), "infiniband_cards", map[string]any{"hosts": []any{"far"}})
	if err != nil {
		w.t.Fatal(err)
	}
	port := fmt.Sprint(At(shown, "cards"))
	if !strings.Contains(port, "Down") || !strings.Contains(port, "Polling") {
		w.t.Errorf("without the cable the card's ports are %s", port)
	}
	w.sees("missing: The cable far/1 - " + theSwitch + "/2 is not there")
	w.reaches("Port 1 of card 0000:01:00.0 in far has no link (Polling)")
	time.Sleep(time.Second)
	w.cable.Plug()
	w.works()
	emptyPlan(w.t, w.ws, cfg)
	w.reaches("")
}
