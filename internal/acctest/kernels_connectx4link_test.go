//go:build reallab && linux

package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestKernels_connectX4_link_type: the real mstconfig stores the type of a port in the
// card, and the driver finds it at the next boot.
func TestKernels_connectX4_link_type(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	h := connectX4Server(theHost, labsim.Debian12, 0)
	w := &newerCards{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t}
	w.ws = w.Workspace()

	mustApply(t, w.ws, w.wants("eth", "none"))
	emptyPlan(t, w.ws, w.wants("eth", "none"))
	state := Decode(w.ws.State["infiniband_link_type.it"].Value).(map[string]any)
	if state["reboot_required"] != true || state["stored_in"] != "mstconfig" {
		t.Errorf("reboot_required %v, stored_in %v; the type waits in the card", state["reboot_required"], state["stored_in"])
	}
	w.shows("before a restart", "InfiniBand")
	all := append(w.wants("eth", "host"), activation(theHost, "infiniband_link_type.it"))
	mustApply(t, w.ws, all)
	emptyPlan(t, w.ws, all)
	w.shows("after the restart of the host for all that waits", "Ethernet")
	mustApply(t, w.ws, w.wants("ib", "reboot"))
	w.shows("after the restart for the types", "InfiniBand")
	mustApply(t, w.ws, w.wants("eth", "reboot"))
	emptyPlan(t, w.ws, w.wants("eth", "reboot"))
	w.shows("after the restart", "Ethernet")
	// Somebody sets it back, for the next boot.
	w.Run(theHost, "mstconfig -y -d 0000:01:00.0 set LINK_TYPE_P1=1")
	if plan := cleanPlan(t, w.ws, w.wants("eth", "none")); plan.Actions()["infiniband_link_type.it"] != Update {
		t.Errorf("the drift of the next boot is not planned: %v", plan.Actions())
	}
}

// wants is a type of the one port.
func (w *newerCards) wants(link, activation string) Config {
	return Config{{Type: "infiniband_link_type", Name: "it", Attrs: map[string]any{
		"card_id": theHost + "/" + w.hostSpec(theHost).Cards[0].BDF, "ports": map[string]any{"1": link}, "activation": activation,
	}}}
}

// shows compares what the driver made of the port: a device for InfiniBand, or an
// interface of Ethernet.
func (w *newerCards) shows(when, want string) {
	w.t.Helper()
	// The driver makes its devices after the host answers.
	out, status := w.Try(theHost, `for i in $(seq 100); do
	cd /sys/bus/pci/devices/0000:01:00.0 && set -- net/*/type && [ -e "$1" ] && break
	sleep 0.2
done
case $(cat net/*/type) in 1) echo Ethernet;; 32) echo InfiniBand;; esac`)
	if got := strings.TrimSpace(out); status != 0 || got != want {
		w.t.Errorf("%s the port is of %q, want %s", when, got, want)
	}
}
