package connectivity

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ping"
)

func snapshot(name, address string, change func(*inventory.Netdev, *inventory.Port)) *inventory.Snapshot {
	pci, err := ib.ParsePCIAddress("0000:01:00.0")
	if err != nil {
		panic(err)
	}
	port := inventory.Port{Number: 1, Physical: "LinkUp", State: "Active", Netdev: "ib0"}
	dev := inventory.Netdev{Name: "ib0", IB: true, MTU: 65520, Up: true, Carrier: true, Mode: "connected", PKey: "0xffff",
		PCI: pci, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	if change != nil {
		change(&dev, &port)
	}
	return &inventory.Snapshot{
		Host: name, Cards: []inventory.Card{{PCI: pci, Ports: []inventory.Port{port}}},
		Netdevs: []inventory.Netdev{dev,
			{Name: "eno1", MTU: 1500, Up: true, Carrier: true,
				Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/24")}}},
	}
}

func answers(full, path int) *ping.Answer {
	return &ping.Answer{Default: ping.Run{Sent: 5, Received: 5}, Full: ping.Run{Sent: 5, Received: full},
		Fragmented: ping.Run{Sent: 5, Received: full}, PathMTU: path}
}

func TestJudge_names_the_cause(t *testing.T) {
	type change = func(*inventory.Netdev, *inventory.Port)
	silent := &ping.Answer{Default: ping.Run{Sent: 5, Said: "From 172.16.0.20 icmp_seq=1 Destination Host Unreachable"}}
	for _, c := range []struct {
		name, address string
		from, to      change
		answer        *ping.Answer
		kinds, says   string
	}{
		{"all well", "172.16.0.10/24", nil, nil, answers(5, 65520), "", ""},
		{"other end's MTU", "172.16.0.10/24", nil, func(n *inventory.Netdev, _ *inventory.Port) { n.MTU = 2044 },
			answers(0, 2044), "mtu oversized", "ib0 of b has MTU 2044 and ib0 of a has 65520"},
		{"modes", "172.16.0.10/24", nil, func(n *inventory.Netdev, _ *inventory.Port) { n.Mode, n.MTU = "datagram", 2044 },
			answers(0, 2044), "mode mtu oversized", "ib0 of a is in connected mode and ib0 of b in datagram mode"},
		{"no link", "172.16.0.10/24", func(_ *inventory.Netdev,
			p *inventory.Port) {
			p.Physical, p.State = "Polling", "Down"
		}, nil, silent, "no_carrier unreachable", "has no link (Polling): cable"},
		{"no SM", "172.16.0.10/24", nil,
			func(n *inventory.Netdev, p *inventory.Port) {
				p.State, n.Carrier = "Initializing",
					false
			}, silent, "no_sm unreachable", "no subnet manager has set it up"},
		{"P_Key not in the table", "172.16.0.10/24", func(n *inventory.Netdev, _ *inventory.Port) { n.Carrier = false },
			nil, silent, "no_carrier unreachable", "the P_Key 0xffff is not in the port's table"},
		{"partitions", "172.16.0.10/24", nil, func(n *inventory.Netdev, _ *inventory.Port) { n.PKey = "0x8001" }, silent,
			"partition unreachable", "they never hear each other"},
		{"full and limited member", "172.16.0.10/24", nil, func(n *inventory.Netdev, _ *inventory.Port) { n.PKey = "0x7fff" },
			answers(5, 65520), "", ""},
		{"subnets", "172.17.0.10/24", nil, nil, silent, "subnet unreachable",
			"172.16.0.20/24 of ib0 of a is in another subnet than 172.17.0.10"},
		{"no address", "172.16.0.10/24", nil, func(n *inventory.Netdev, _ *inventory.Port) { n.Addresses = nil }, nil,
			"no_address", "ib0 of b has no address that could be pinged"},
		{"interface down", "172.16.0.10/24", func(n *inventory.Netdev, _ *inventory.Port) { n.Up = false }, nil, nil,
			"interface_down", "ip link set dev ib0 up"},
		{"firewall", "172.16.0.10/24", nil, nil, silent, "unreachable", "Both ends look right. Check a firewall"},
		{"loss", "172.16.0.10/24", nil, nil,
			&ping.Answer{Default: ping.Run{Sent: 3, Received: 2}, Full: ping.Run{Sent: 3, Received: 3},
				Fragmented: ping.Run{Received: 1}}, "loss", "33.3 % of 3 small packets were lost"},
		{"fragments", "172.16.0.10/24", nil,
			nil, &ping.Answer{Default: ping.Run{Sent: 3, Received: 3},
				Full: ping.Run{Sent: 3, Received: 3}}, "fragments", "a firewall drops fragments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Choose(snapshot("a", "172.16.0.20/24", c.from), snapshot("b", c.address, c.to), Request{})
			r := Judge(p, c.answer)
			var kinds, text []string
			for _, x := range r.Problems {
				kinds, text = append(kinds, x.Kind), append(text, x.Message)
			}
			if got := strings.Join(kinds, " "); got != c.kinds || !strings.Contains(strings.Join(text, "\n"), c.says) {
				t.Errorf("got %q, want %q with %q\n%s", got, c.kinds, c.says, strings.Join(text, "\n"))
			}
			if c.kinds == "" && (!r.Reachable || !r.MTUOK) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The P_Key tables tell why a port that is up carries nothing.
func TestJudge_of_tables(t *testing.T) {
	silent := &ping.Answer{Default: ping.Run{Sent: 5}}
	child := func(carrier bool) func(*inventory.Netdev, *inventory.Port) {
		return func(n *inventory.Netdev, p *inventory.Port) {
			n.PKey, n.Carrier, p.PortGUID = "0x8001", carrier, 0xe41d2d0300e44ed1
		}
	}
	for _, c := range []struct {
		name        string
		carrier     bool
		from, to    []uint16
		kinds, says string
	}{
		{"no member", false, []uint16{0xffff}, nil, "partition unreachable",
			"the P_Key 0x8001 is not in the port's table, which has 0xffff. Make port 0xe41d2d0300e44ed1 a member"},
		{"no group", false, []uint16{0xffff, 0x0001}, nil, "no_carrier unreachable",
			"has the P_Key 0x8001: the partition has no broadcast group (ipoib = true"},
		{"limited both", true, []uint16{0xffff, 0x0001}, []uint16{0xffff, 0x0001}, "partition unreachable",
			"limited members never hear each other"},
		{"limited one", true, []uint16{0xffff, 0x0001}, []uint16{0xffff, 0x8001}, "unreachable", "Both ends look right."},
	} {
		p := Choose(snapshot("a", "172.16.0.20/24", child(c.carrier)), snapshot("b", "172.16.0.10/24", child(true)), Request{})
		p.From.PKeys, p.To.PKeys = c.from, c.to
		var kinds, text []string
		for _, x := range Judge(p, silent).Problems {
			kinds, text = append(kinds, x.Kind), append(text, x.Message)
		}
		if got := strings.Join(kinds, " "); got != c.kinds || !strings.Contains(strings.Join(text, "\n"), c.says) {
			t.Errorf("%s: got %q, want %q with %q\n%s", c.name, got, c.kinds, c.says, strings.Join(text, "\n"))
		}
	}
}

func TestChoose(t *testing.T) {
	a, b := snapshot("a", "172.16.0.20/24", nil), snapshot("b", "172.16.0.10/24", nil)
	for _, c := range []struct {
		name     string
		to       *inventory.Snapshot
		w        Request
		dev, dst string
	}{
		{"by itself", b, Request{}, "ib0", "172.16.0.10"},
		{"over Ethernet", b, Request{FromInterface: "eno1", ToInterface: "eno1"}, "eno1", "192.0.2.9"},
		{"a host that is not managed", nil, Request{Address: netip.MustParseAddr("192.0.2.77")}, "eno1", "192.0.2.77"},
		{"no IPv6", b, Request{IPv6: true}, "ib0", "invalid IP"},
	} {
		p := Choose(a, c.to, c.w)
		if p.From.Netdev == nil || p.From.Netdev.Name != c.dev || p.Addr.String() != c.dst {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	if r := Judge(Choose(a, b, Request{Address: netip.MustParseAddr("172.16.0.99")}), nil); len(r.Problems) != 1 ||
		r.Problems[0].Message != "b does not have the address 172.16.0.99." {
		t.Errorf("%+v", r)
	}
	if r := Judge(Choose(a, b, Request{FromInterface: "ib7"}), nil); len(r.Problems) != 1 ||
		r.Problems[0].Kind != NoInterface ||
		!strings.Contains(r.Problems[0].Message, "a has no interface ib7; it has ib0 (port 0x0000000000000000).") {
		t.Errorf("%+v", r)
	}
}
