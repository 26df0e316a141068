package benchmark

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func end(name, address, mode, rate string, pcie inventory.PCIe) connectivity.End {
	pci, err := ib.ParsePCIAddress("0000:01:00.0")
	if err != nil {
		panic(err)
	}
	return connectivity.End{
		Host: name, Address: netip.MustParsePrefix(address),
		Netdev: &inventory.Netdev{Name: "ib0", IB: true, MTU: 2044, Up: true, Carrier: true, Mode: mode, PKey: "0xffff"},
		Port:   &inventory.Port{Number: 1, Physical: "LinkUp", State: "Active", Rate: rate},
		Card:   &inventory.Card{PCI: pci, PCIe: pcie},
	}
}

func TestJudge_names_likely_causes(t *testing.T) {
	whole := inventory.PCIe{Width: 8, MaxWidth: 8, Speed: "8.0 GT/s", MaxSpeed: "8.0 GT/s"}
	for _, c := range []struct {
		name, test, mode, rate string
		pcie                   inventory.PCIe
		r                      Result
		l                      Limits
		says                   []string
	}{
		{"kept", "iperf3", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 30}, Limits{MinGbps: 25}, nil},
		{"no limit", "iperf3", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 1}, Limits{}, nil},
		{"nothing to see", "ib_write_bw", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 10}, Limits{MinGbps: 25},
			[]string{"BM004", "ib_write_bw reached 10 Gb/s, less than min_gbps = 25", "none that the two hosts show"}},
		{"datagram", "iperf3", "datagram", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 5}, Limits{MinGbps: 25, Warn: true},
			[]string{"BM004", "a single stream is expected to be slow"}},
		{"one lane", "iperf3", "connected", "10 Gb/sec (1X QDR)", whole, Result{Gbps: 7}, Limits{MinGbps: 25},
			[]string{"runs at 10 Gb/sec (1X QDR): only one of four lanes works"}},
		{"DDR", "iperf3", "connected", "20 Gb/sec (4X DDR)", whole, Result{Gbps: 12}, Limits{MinGbps: 25},
			[]string{"DDR carries 16 Gb/s"}},
		{"slot", "iperf3", "connected", "40 Gb/sec (4X QDR)",
			inventory.PCIe{Width: 4, MaxWidth: 8, Speed: "5.0 GT/s", MaxSpeed: "8.0 GT/s"}, Result{Gbps: 12,
				Retransmits: 9}, Limits{MinGbps: 25},
			[]string{"carries x4 at 5.0 GT/s, 16 Gb/s; the card can do x8 at 8.0 GT/s", "9 segments were sent again"}},
		{"of another mode", "iperf3", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 20},
			Limits{MinGbps: 10, Of: []LimitOf{{Mode: "datagram", MinGbps: 25}}}, nil},
		{"of another link", "iperf3", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 20},
			Limits{Of: []LimitOf{{Link: "FDR", MinGbps: 35}, {Link: "1X QDR", MinGbps: 35}}}, nil},
		{"of this mode and link", "iperf3", "connected", "40 Gb/sec (4X QDR)", whole, Result{Gbps: 20},
			Limits{MinGbps: 1, Of: []LimitOf{{Link: "FDR", MinGbps: 35}, {Mode: "connected", Link: "QDR", MinGbps: 25}}},
			[]string{"BM004", "less than min_gbps = 25 of limits for connected QDR"}},
		{"latency", "tcp_lat", "connected", "40 Gb/sec (4X QDR)", whole, Result{LatencyUS: 52}, Limits{MaxLatencyUS: 20},
			[]string{"BM004", "tcp_lat took 52 µs, more than max_latency_us = 20"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			test, err := Find(c.test)
			if err != nil {
				t.Fatal(err)
			}
			c.r.Pair = connectivity.Pair{
				From: end("a", "172.16.0.20/24", c.mode, c.rate, c.pcie), To: end("b", "172.16.0.10/24", c.mode, c.rate,
					whole), Addr: netip.MustParseAddr("172.16.0.10"), ToKnown: true,
			}
			found := Judge(Request{Test: test, Streams: 1}, c.r, c.l)
			if len(found) != min(len(c.says), 1) {
				t.Fatalf("%v", found)
			}
			for _, want := range c.says {
				if text := found[0].Rule.Code + " " + found[0].Evidence; !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}

func TestDesired_commands(t *testing.T) {
	r := Result{ClientRDMA: RDMAPort{"mlx4_0", 1}, ServerRDMA: RDMAPort{"mlx4_1", 2}}
	r.Pair.Addr = netip.MustParseAddr("172.16.0.10")
	for name, want := range map[string][2]string{
		"iperf3": {"iperf3 -s -1 -B 172.16.0.10 -p 5201",
			"iperf3 -c 172.16.0.10 -p 5201 -t 10 -P 4 --connect-timeout 5000 -J"},
		"udp_lat": {"qperf -lp 19765", "qperf -lp 19765 -ip 19766 -t 10 -uu 172.16.0.10 udp_lat"},
		"ib_write_bw": {"ib_write_bw -F -d mlx4_1 -i 2 -p 18515 -D 10 --report_gbits",
			"ib_write_bw -F -d mlx4_0 -i 1 -p 18515 -D 10 --report_gbits 172.16.0.10"},
		"ib_write_lat": {"ib_write_lat -F -d mlx4_1 -i 2 -p 18515 -D 10",
			"ib_write_lat -F -d mlx4_0 -i 1 -p 18515 -D 10 172.16.0.10"},
	} {
		test, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		d := Request{Test: test, Length: 10 * time.Second, Streams: 4}
		if got := [2]string{strings.Join(d.serverArgs(r), " "), strings.Join(d.clientArgs(r), " ")}; got != want {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, want)
		}
	}
}
