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

// otherHost is the second machine with a ConnectX-4, and dualHost the third, whose card has
// two ports.
const otherHost, dualHost = "other", "dual"

// newerCards are machines with a ConnectX-4 each, on NetworkManager. The gate beside them
// has a ConnectX-3 Pro: old and new cards are on one fabric.
type newerCards struct {
	*Lab
	t  *testing.T
	ws *Workspace
}

// newerPort is a port of a ConnectX-4, which is a PCI function of its own.
type newerPort struct {
	name     string // of the resource
	host     string
	function int
	address  string
}

// secondSubnet is that of the second port of dualHost: two interfaces of one host in one
// subnet answer for each other.
const secondSubnet = "172.19.0"

var newerPorts = []newerPort{
	{theHost, theHost, 0, kernelSubnet + ".20"},
	{otherHost, otherHost, 0, kernelSubnet + ".21"},
	{dualHost, dualHost, 0, kernelSubnet + ".22"},
	{"second", dualHost, 1, secondSubnet + ".22"},
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
	hosts := []labs.Host{connectX4Server(theHost, labsim.Debian12, 0), connectX4Server(otherHost, labsim.Debian13, 1),
		connectX4Server(dualHost, labsim.Debian12, 2)}
	for i := range hosts {
		hosts[i].Stack = labsim.StackNetworkManager
	}
	hosts[2].Cards[0].Functions = 2
	w := &newerCards{Lab: Start(t, Options{Hosts: hosts}), t: t}
	t.Cleanup(w.explain)
	w.noFlash()
	w.ws = w.Workspace()
	w.operate("ip addr add " + secondSubnet + ".1/24 dev ibp1s0")

	all := w.interfaces("datagram", 2044)
	mustApply(t, w.ws, all)
	emptyPlan(t, w.ws, all)
	w.twoFunctions()
	w.reach("after the apply", 2044)
	w.datagramOnly() // nothing has loaded ib_ipoib before the apply did
	emptyPlan(t, w.ws, all)
	w.Reboot(theHost)
	w.awaitInterface()
	emptyPlan(t, w.ws, all)
	w.reach("after a restart", 2044)

	smaller := all.With(interfaceAddress(theHost), map[string]any{"mtu": 1500})
	mustApply(t, w.ws, smaller)
	emptyPlan(t, w.ws, smaller)
	w.reach("with another MTU", 1500)
	w.partition(smaller)
	w.largePackets()
}

func interfaceAddress(name string) string { return "infiniband_ipoib_interface." + name }

// interfaces are those of all ports.
func (w *newerCards) interfaces(mode string, mtu int) (cfg Config) {
	for _, p := range newerPorts {
		cfg = append(cfg, w.interfaceOf(p, mode, mtu))
	}
	return cfg
}

// interfaceOf is the interface of a port. The first one has the GUID of the card, the next
// one the next.
func (w *newerCards) interfaceOf(p newerPort, mode string, mtu int) Resource {
	return Resource{Type: "infiniband_ipoib_interface", Name: p.name, Attrs: map[string]any{"host": p.host,
		"port_guid": w.guid(p), "mode": mode, "mtu": mtu, "addresses": []any{p.address + "/24"}}}
}

func (w *newerCards) guid(p newerPort) string {
	return fmt.Sprintf("%#x", w.hostSpec(p.host).Cards[0].GUIDs[0]+uint64(p.function))
}

// operate runs a command on the gate.
func (w *newerCards) operate(command string) {
	w.t.Helper()
	if out, status := w.testbed.Operate(w.t.Context(), command); status != 0 {
		w.t.Fatalf("on the gate: %s: status %d\n%s", command, status, out)
	}
}

// twoFunctions: each port of the card with two is a PCI function with a device and an
// interface of its own.
func (w *newerCards) twoFunctions() {
	w.t.Helper()
	for _, p := range newerPorts[2:] {
		name, _ := w.ws.Get(interfaceAddress(p.name), "interface").(string)
		slot := fmt.Sprintf("/sys/bus/pci/devices/0000:01:00.%d", p.function)
		out := w.Run(p.host, "ls "+slot+"/net; basename $(readlink "+slot+"/driver); cat "+slot+"/infiniband/*/node_guid")
		guid := strings.TrimPrefix(w.guid(p), "0x")
		want := fmt.Sprintf("%s\nmlx5_core\n%s:%s:%s:%s\n", name, guid[:4], guid[4:8], guid[8:12], guid[12:])
		if out != want {
			w.t.Errorf("the function of port %d shows %q, want %q", p.function+1, out, want)
		}
	}
}

// datagramOnly: the plan refuses connected mode, and an MTU that no packet of InfiniBand
// can carry, for the reasons for which the driver does.
func (w *newerCards) datagramOnly() {
	w.t.Helper()
	// A card that was plugged in while the machine ran gives the name of its slot until the restart.
	name := w.ws.Get(interfaceAddress(theHost), "interface")
	for _, c := range []struct {
		mode          string
		mtu           int
		code, command string
		says          []string
	}{
		{"connected", 65520, "Finding: IP009", "/bin/echo connected >/sys/class/net/%s/mode", []string{"Invalid argument"}},
		{"datagram", 4093, "Finding: IP005", "ip link set dev %s mtu 4093", []string{"Invalid argument"}},
	} {
		plan := mustPlan(w.t, w.ws, Config{w.interfaceOf(newerPorts[0], c.mode, c.mtu)})
		if len(plan.Diags.Errors().Find(c.code)) != 1 {
			w.t.Errorf("%s mode with %d is planned:\n%s", c.mode, c.mtu, plan.Diags)
		}
		out, status := w.Try(theHost, fmt.Sprintf(c.command, name))
		if status == 0 || !containsAll(out, c.says) {
			w.t.Errorf("the driver takes %s mode with %d: status %d, %s", c.mode, c.mtu, status, out)
		}
	}
}

// reach: packets of full length get from an old card to the new ones, between new ones, and
// so between both kernels. After a restart a host has other queue pairs, and its neighbours
// keep its former hardware address, which has the number of one, for half a minute.
func (w *newerCards) reach(when string, mtu int) {
	w.t.Helper()
	const headers = 28
	ping := fmt.Sprintf("ping -c 3 -i 0.5 -w 60 -M do -s %d ", mtu-headers)
	for _, p := range newerPorts {
		if out, status := w.testbed.Operate(w.t.Context(), ping+p.address); status != 0 {
			w.t.Errorf("%s: from the gate to %s: status %d\n%s", when, p.name, status, out)
		}
	}
	for _, p := range newerPorts[1:3] {
		if out, status := w.Try(theHost, ping+p.address); status != 0 {
			w.t.Errorf("%s: from %s to %s: status %d\n%s", when, theHost, p.name, status, out)
		}
	}
}

// awaitInterface waits until the subnet manager has found the port again and NetworkManager
// has made its interface. A host that answers its operator may be before that.
func (w *newerCards) awaitInterface() {
	w.t.Helper()
	out, status := w.Try(theHost, "for i in $(seq 240); do ip -br addr show dev ibp1s0 | grep -q "+newerPorts[0].address+
		" && exit; sleep 0.5; done; ip addr; exit 1")
	if status != 0 {
		w.t.Fatalf("two minutes after a restart there is no interface:\n%s", out)
	}
}

// explain prints what the cards' hosts and the subnet manager say after a failure.
func (w *newerCards) explain() {
	if !w.t.Failed() {
		return
	}
	for _, name := range w.Names() {
		said, _ := w.Try(name, "ip addr; ip route; ibstat; dmesg | grep -E 'mlx5|ibp1|ib0' | tail -n 20; "+
			"cat /sys/kernel/debug/ipoib/*_mcg; timeout 20 sminfo; timeout 20 saquery SMIR; "+
			"journalctl -b -u NetworkManager | tail -n 40")
		w.t.Logf("%s:\n%s", name, said)
	}
	managed, _ := w.testbed.Operate(context.Background(),
		"iblinkinfo -l; saquery -g; tail -n 60 /var/log/opensm-of-the-gate.log")
	w.t.Logf("the gate:\n%s", managed)
}

// partition: an interface in a partition is one of the driver's own, on the queues of its
// parent.
func (w *newerCards) partition(ports Config) {
	w.t.Helper()
	w.operate(gatePartitions)
	key := w.interfaceOf(newerPorts[0], "datagram", 1500)
	key.Name, key.After = "key", []string{interfaceAddress(theHost)}
	key.Attrs["pkey"], key.Attrs["addresses"] = gateKey, []any{keySubnet + ".20/24"}
	cfg := slices.Concat(ports, Config{key})
	mustApply(w.t, w.ws, cfg)
	emptyPlan(w.t, w.ws, cfg)
	out, status := w.testbed.Operate(w.t.Context(), "ping -c 3 -i 0.5 -w 60 -M do -s 1400 "+keySubnet+".20")
	if status != 0 {
		w.t.Errorf("in the partition: status %d\n%s", status, out)
	}
	mustApply(w.t, w.ws, ports)
	emptyPlan(w.t, w.ws, ports)
}

// largePackets has the partition of all carry packets of 4096 bytes, and so datagrams of
// 4092. While packets have 2048 the driver takes such an MTU and works with 2044.
func (w *newerCards) largePackets() {
	w.t.Helper()
	w.shownMTU("where packets have 2048 bytes", "ip link set dev $d mtu 4092 && cat $d/mtu", "2044")
	w.operate("systemctl stop opensm-of-the-gate && sed -i 's/^Default=0x7fff, ipoib:/Default=0x7fff, ipoib, mtu=5:/' " +
		"/etc/opensm/gate.conf" + gateManager)
	// It makes the groups anew, and the drivers join again.
	w.shownMTU("where packets have 4096 bytes",
		"for i in $(seq 120); do [ $(cat $d/mtu) = 4092 ] && break; sleep 0.5; done; cat $d/mtu", "4092")
	all := w.interfaces("datagram", 4092)
	mustApply(w.t, w.ws, all)
	emptyPlan(w.t, w.ws, all)
	w.reach("with packets of 4096 bytes", 4092)
}

// shownMTU runs a command in each port's host that prints what the driver makes of an MTU.
func (w *newerCards) shownMTU(when, command, want string) {
	w.t.Helper()
	for _, p := range newerPorts {
		name, _ := w.ws.Get(interfaceAddress(p.name), "interface").(string)
		if got := strings.TrimSpace(w.Run(p.host, "cd /sys/class/net; d="+name+"; "+command)); got != want {
			w.t.Errorf("%s the driver makes %s of 4092 on %s", when, got, p.name)
		}
	}
}
