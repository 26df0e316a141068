//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// otherHost is the second machine with a ConnectX-4.
const otherHost = "other"

// newerCards are machines with a ConnectX-4 each, on NetworkManager. The gate beside them
// has a ConnectX-3 Pro: old and new cards are on one fabric.
type newerCards struct {
	*Lab
	t  *testing.T
	ws *Workspace
}

// connectX4Server is a machine with the i-th ConnectX-4.
func connectX4Server(name string, system labsim.OS, i int) labs.Host {
	address := fmt.Sprintf("192.0.2.%d", 20+i)
	h := labs.Server(name, system, address, i)
	h.Cards = labs.ConnectX4(name, address, i).Cards
	return h
}

// TestKernels_connectX4: the stock mlx5 driver and the real NetworkManager make what is
// planned for cards that know datagram mode only.
func TestKernels_connectX4(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	hosts := []labs.Host{connectX4Server(theHost, labsim.Debian12, 0), connectX4Server(otherHost, labsim.Debian13, 1)}
	for i := range hosts {
		hosts[i].Stack = labsim.StackNetworkManager
	}
	w := &newerCards{Lab: Start(t, Options{Hosts: hosts}), t: t}
	t.Cleanup(w.explain)
	w.noFlash()
	w.ws = w.Workspace()

	both := append(w.interfaceOf(theHost, "datagram", 2044), w.interfaceOf(otherHost, "datagram", 2044)...)
	mustApply(t, w.ws, both)
	emptyPlan(t, w.ws, both)
	w.reach("after the apply", 2044)
	w.datagramOnly() // nothing has loaded ib_ipoib before the apply did
	emptyPlan(t, w.ws, both)
	w.Reboot(theHost)
	w.awaitInterface()
	emptyPlan(t, w.ws, both)
	w.reach("after a restart", 2044)

	smaller := both.With(interfaceAddress(theHost), map[string]any{"mtu": 1500})
	mustApply(t, w.ws, smaller)
	emptyPlan(t, w.ws, smaller)
	w.reach("with another MTU", 1500)
	w.partition(smaller)
}

func interfaceAddress(host string) string { return "infiniband_ipoib_interface." + host }

// interfaceOf is the interface of a host's port. The port has the GUID of the card.
func (w *newerCards) interfaceOf(host, mode string, mtu int) Config {
	return Config{{Type: "infiniband_ipoib_interface", Name: host, Attrs: map[string]any{"host": host,
		"port_guid": fmt.Sprintf("%#x", w.hostSpec(host).Cards[0].GUIDs[0]), "mode": mode, "mtu": mtu,
		"addresses": []any{w.address(host) + "/24"}}}}
}

func (w *newerCards) address(host string) string {
	return kernelSubnet + map[string]string{theHost: ".20", otherHost: ".21"}[host]
}

// datagramOnly: the plan refuses connected mode for the reason for which the driver does.
func (w *newerCards) datagramOnly() {
	w.t.Helper()
	plan := mustPlan(w.t, w.ws, w.interfaceOf(theHost, "connected", 65520))
	if len(plan.Diags.Errors().Find("Finding: IP009")) != 1 {
		w.t.Errorf("connected mode is planned:\n%s", plan.Diags)
	}
	// A card that was plugged in while the machine ran gives the name of its slot until the restart.
	name := w.ws.Get(interfaceAddress(theHost), "interface")
	out, status := w.Try(theHost, fmt.Sprintf("/bin/echo connected >/sys/class/net/%s/mode", name))
	if status == 0 || !strings.Contains(out, "Invalid argument") {
		w.t.Errorf("the driver takes connected mode: status %d, %s", status, out)
	}
}

// reach: packets of full length get from an old card to a new one, between new ones, and
// so between both kernels. After a restart a host has other queue pairs, and its neighbours
// keep its former hardware address, which has the number of one, for half a minute.
func (w *newerCards) reach(when string, mtu int) {
	w.t.Helper()
	const headers = 28
	ping := fmt.Sprintf("ping -c 3 -i 0.5 -w 60 -M do -s %d ", mtu-headers)
	for _, to := range []string{theHost, otherHost} {
		if out, status := w.testbed.Operate(w.t.Context(), ping+w.address(to)); status != 0 {
			w.t.Errorf("%s: from the gate to %s: status %d\n%s", when, to, status, out)
		}
	}
	if out, status := w.Try(theHost, ping+w.address(otherHost)); status != 0 {
		w.t.Errorf("%s: between new cards: status %d\n%s", when, status, out)
	}
}

// awaitInterface waits until the subnet manager has found the port again and NetworkManager
// has made its interface. A host that answers its operator may be before that.
func (w *newerCards) awaitInterface() {
	w.t.Helper()
	out, status := w.Try(theHost, "for i in $(seq 240); do ip -br addr show dev ibp1s0 | grep -q "+w.address(theHost)+
		" && exit; sleep 0.5; done; ip addr; exit 1")
	if status != 0 {
		w.t.Fatalf("two minutes after a restart there is no interface:\n%s", out)
	}
}

// explain prints what the card's host and the subnet manager say after a failure.
func (w *newerCards) explain() {
	if !w.t.Failed() {
		return
	}
	said, _ := w.Try(theHost, "ip addr; ip route; ibstat; dmesg | grep -E 'mlx5|ibp1|ib0' | tail -n 20; "+
		"journalctl -b -u NetworkManager | tail -n 40")
	managed, _ := w.testbed.Operate(context.Background(), "iblinkinfo -l; saquery -g; tail -n 60 /var/log/opensm-of-the-gate.log")
	w.t.Logf("%s:\n%s\nthe gate:\n%s", theHost, said, managed)
}

// partition: an interface in a partition is one of the driver's own, on the queues of its
// parent.
func (w *newerCards) partition(ports Config) {
	w.t.Helper()
	if out, status := w.testbed.Operate(w.t.Context(), gatePartitions); status != 0 {
		w.t.Fatalf("the gate has no interface in the partition: %s", out)
	}
	key := w.interfaceOf(theHost, "datagram", 1500)[0]
	key.Name, key.After = "key", []string{interfaceAddress(theHost)}
	key.Attrs["pkey"], key.Attrs["addresses"] = gateKey, []any{keySubnet + ".20/24"}
	cfg := slices.Concat(ports, Config{key})
	mustApply(w.t, w.ws, cfg)
	emptyPlan(w.t, w.ws, cfg)
	if out, status := w.testbed.Operate(w.t.Context(), "ping -c 3 -i 0.5 -w 60 -M do -s 1400 "+keySubnet+".20"); status != 0 {
		w.t.Errorf("in the partition: status %d\n%s", status, out)
	}
	mustApply(w.t, w.ws, ports)
	emptyPlan(w.t, w.ws, ports)
}

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
