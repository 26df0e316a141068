//go:build testbed && linux

package testbed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

const ibMAC = 0xe41d2de44e00

// ibCard is a ConnectX-3 Pro whose ports speak InfiniBand.
func ibCard() card.Config {
	return card.Config{
		Chip: card.ConnectX3Pro, Image: imageVPI(), GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(ibMAC)),
		MACs: [2]uint64{ibMAC + 1, ibMAC + 2},
	}
}

// TestWire_obeys_the_rules_of_IPoIB: what the provider, and the network stacks, see
// of an interface is what ib_ipoib shows, and what it refuses is refused.
func TestWire_obeys_the_rules_of_IPoIB(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{
		Name: "wire", Base: &Trixie, Card: ibCard(), Stack: labsim.StackNetworkd,
		Wires: []Wire{{Name: "ib0", Port: 1}},
	})
	box := b.Hosts["wire"]
	s := snapshot(t, open(t, b, "wire"))
	n, ok := s.Netdev("ib0")
	if !ok || !n.IB || n.PortGUID != ib.GUID(box.Device.Card().Running().GUIDs[1]) || !n.Connected ||
		n.Mode != modeDatagram || n.MTU != groupMTU ||
		n.DevPort != 0 || n.PKey != "0xffff" || n.PCI != ib.MustParsePCIAddress(DefaultBDF) {
		t.Errorf("the provider sees %+v", n)
	}
	if _, port, ok := s.CardByNetdev("ib0"); !ok || port.State != "Down" || port.LinkLayer != "InfiniBand" {
		t.Errorf("its port is %+v", port)
	}
	const mode, mtu = "/sys/class/net/ib0/mode", "/sys/class/net/ib0/mtu"
	for _, c := range []struct{ do, says, mode, mtu string }{
		{"echo Connected >" + mode, "I/O error", "datagram", "2044"},
		{"printf connected >" + mode, "I/O error", "datagram", "2044"},
		{"ip link set ib0 mtu 65520", "RTNETLINK answers: Invalid argument", "datagram", "2044"},
		{"ip link set ib0 mtu 4093", "RTNETLINK answers: Invalid argument", "datagram", "2044"},
		{"ip link set ib0 mtu 71", "RTNETLINK answers: Invalid argument", "datagram", "2044"},
		{"ip link set ib0 mtu 1500", "", "datagram", "1500"},
		{"ip link set ib0 mtu 4092", "", "datagram", "2044"}, // clamped without a word
		{"echo 65520 >" + mtu, "I/O error", "datagram", "2044"},
		{"ip link set ib0 mtu 65521", "Error: mtu greater than device maximum.", "datagram", "2044"},
		{"ip link set ib0 up; echo connected >" + mode, "", "connected", "65520"},
		{"ip link set ib0 mtu 9000", "", "connected", "9000"},
		{"echo connected >" + mode, "", "connected", "9000"},
		{"ip addr add " + box.medium.subnet() + ".20/24 dev ib0; ip link set ib0 mtu 65520; ping -c 1 -W 5 -M do -s 65000 " +
			box.medium.subnet() + ".1", "65008 bytes", "connected", "65520"},
		{"echo datagram >" + mode, "", "datagram", "2044"},
	} {
		out, _ := box.Exec(t.Context(), c.do)
		now, err := box.Exec(t.Context(),
			fmt.Sprintf("cat %s %s; ip -j -d link show ib0 | grep -o '\"mode\":\"[a-z]*\"'", mode, mtu))
		if want := fmt.Sprintf("%s\n%s\n\"mode\":%q\n", c.mode, c.mtu, c.mode); err != nil || now != want {
			t.Errorf("%s: now %q, want %q (%v)", c.do, now, want, err)
		}
		if c.says == "" && strings.TrimSpace(out) != "" || !strings.Contains(out, c.says) {
			t.Errorf("%s says %q, want %q", c.do, out, c.says)
		}
	}
	checkReloaded(t, b, n)
	checkRetyped(t, b)
}

// checkRetyped holds that a port of Ethernet has no such interface, and that one of
// InfiniBand has it anew.
func checkRetyped(t *testing.T, b *Testbed) {
	t.Helper()
	box := b.Hosts["wire"]
	for _, c := range []struct {
		link string
		ib   bool
	}{{"eth", false}, {"ib", true}} {
		if out, err := box.Exec(t.Context(), "echo "+c.link+" >/sys/bus/pci/devices/"+DefaultBDF+"/mlx4_port1"); err != nil {
			t.Fatal(err, out)
		}
		n, there := snapshot(t, open(t, b, "wire")).Netdev("ib0")
		if there != c.ib || there && (!n.IB || n.Mode != modeDatagram || n.MTU != groupMTU ||
			n.PortGUID != ib.GUID(box.Device.Card().Running().GUIDs[1])) {
			t.Errorf("a port of type %s has %+v", c.link, n)
		}
	}
}

// checkReloaded holds that a boot makes the interface anew. What was set is gone, and the queue
// pair, which is in the address, is another.
func checkReloaded(t *testing.T, b *Testbed, before *inventory.Netdev) {
	t.Helper()
	box := b.Hosts["wire"]
	if err := box.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := box.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, ok := snapshot(t, open(t, b, "wire")).Netdev("ib0")
	if !ok || len(after.Addresses) > 0 || after.Mode != modeDatagram || after.Address == before.Address ||
		after.PortGUID != before.PortGUID {
		t.Errorf("after a boot: %+v, before %+v", after, before)
	}
}
