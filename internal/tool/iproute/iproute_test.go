package iproute

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestParseLinks_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata/json"), "ip-json") {
		t.Run(c.Name, func(t *testing.T) {
			links, err := ParseLinks(c.Text)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{}
			for _, l := range links {
				hw, err := ParseHardwareAddress(l.Address)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, map[string]any{
					"ifname": l.Name, "mtu": l.MTU, "operstate": l.State, "link_type": l.Type,
					"address": l.Address, "port_guid": hw.PortGUID.Hex(),
				})
			}
			if diff := cmp.Diff(c.Expected["interfaces"], capture.Plain(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseHardwareAddress_reads_captures holds the address reader against
// "ip addr" of hosts where no JSON was captured.
func TestParseHardwareAddress_reads_captures(t *testing.T) {
	read := 0
	for _, c := range capture.Load(t, os.DirFS("testdata/text"), "ip-addr") {
		for _, i := range c.Expected["interfaces"].([]any) {
			want := i.(map[string]any)
			hw, err := ParseHardwareAddress(want["hwaddr"].(string))
			if c.Name == "mthca-ib0-masked" {
				if err == nil {
					t.Errorf("%s: a masked address was read as %v", c.Name, hw)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if hw.PortGUID.Hex() != want["port_guid"] || !hw.Connected {
				t.Errorf("%s: got %v, want GUID %v and connected mode", c.Name, hw, want["port_guid"])
			}
			read++
		}
	}
	if read != 3 {
		t.Errorf("read %d addresses", read)
	}
}

const addressList = `RTNETLINK warning
[{"ifindex":1,"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"],"mtu":65536,"operstate":"UNKNOWN","link_type":"loopback","address":"00:00:00:00:00:00","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8,"scope":"host"}]},` +
	`{"ifindex":9,"ifname":"ib0","flags":["BROADCAST","UP"],"mtu":65520,"operstate":"DOWN","link_type":"infiniband","address":"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1","linkinfo":{"info_kind":"ipoib","info_data":{"key":"0xffff","mode":"connected","umcast":"0000"}},"addr_info":[{"family":"inet","local":"172.16.0.20","prefixlen":24,"scope":"global","dynamic":true}]},` +
	`{"ifindex":10,"link":"ib0","ifname":"ib0.8001","flags":[],"mtu":2044,"link_type":"infiniband","address":"80:00:02:09:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1","linkinfo":{"info_kind":"ipoib","info_data":{"key":"0x8001","mode":"datagram"}},"addr_info":[]},` +
	`{"ifindex":11,"ifname":"br0","flags":[],"mtu":1500,"link_type":"ether","address":"02:00:00:00:00:01","linkinfo":{"info_kind":"bridge","info_data":{"forward_delay":1500,"mode":7}},"addr_info":[]},{}]`

func TestParseLinks(t *testing.T) {
	links, err := ParseLinks(addressList)
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != 4 {
		t.Fatalf("got %d interfaces", len(links))
	}
	parent, child := links[1], links[2]
	if !parent.IsIPoIB() || !parent.Up() || parent.Carrier() || parent.Info.Data.Mode != "connected" ||
		!parent.Addresses[0].Dynamic {
		t.Errorf("parent: %+v", parent)
	}
	if child.Parent != "ib0" || child.Info.Data.PKey != "0x8001" {
		t.Errorf("child: %+v", child)
	}
	p, err := parent.Addresses[0].Prefix()
	if err != nil || p.String() != "172.16.0.20/24" {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestParseLinks_refuses(t *testing.T) {
	for name, output := range map[string]string{
		"nothing":            "",
		"a message":          "Option \"-j\" is unknown, try \"ip -help\".",
		"a cut list":         addressList[:200],
		"no name":            `[{"ifindex":3,"mtu":1500}]`,
		"a short address":    `[{"ifindex":3,"ifname":"ib0","link_type":"infiniband","address":"80:00:02:08:fe:80"}]`,
		"a masked address":   `[{"ifindex":3,"ifname":"ib0","link_type":"infiniband","address":"80:00:02:08:fe:80:00:00:00:00:00:00:xx:xx:xx:xx:xx:xx:xx:xx"}]`,
		"an impossible IP":   `[{"ifindex":3,"ifname":"e0","addr_info":[{"local":"10.0.0.1","prefixlen":64}]}]`,
		"an IP of no family": `[{"ifindex":3,"ifname":"e0","addr_info":[{"local":"x","prefixlen":24}]}]`,
	} {
		if _, err := ParseLinks(output); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestParseRoutes(t *testing.T) {
	routes, err := ParseRoutes(`[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]},{"dst":"default","metric":5,"nexthops":[{"gateway":"10.0.0.1","dev":"ib0"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Route{
		{Dst: "default", Gateway: "192.0.2.1", Dev: "eth0"},
		{Dst: "default", Metric: 5, Nexthops: []Nexthop{{Gateway: "10.0.0.1", Dev: "ib0"}}},
	}
	if diff := cmp.Diff(want, routes); diff != "" {
		t.Error(diff)
	}
	if none, err := ParseRoutes("\n"); err != nil || none != nil {
		t.Errorf("no route: %v, %v", none, err)
	}
	if _, err := ParseRoutes("Error: ipv4: FIB table does not exist."); err == nil {
		t.Error("a message was read as routes")
	}
}

func TestParseRouteGet(t *testing.T) {
	dev, err := ParseRouteGet("192.0.2.1 dev eth0 src 192.0.2.2 uid 0 \\    cache \n")
	if err != nil || dev != "eth0" {
		t.Errorf("got %q, %v", dev, err)
	}
	dev, err = ParseRouteGet(`local 127.0.0.1 dev lo src 127.0.0.1 uid 0 \    cache <local>`)
	if err != nil || dev != "lo" {
		t.Errorf("got %q, %v", dev, err)
	}
	if _, err := ParseRouteGet("RTNETLINK answers: Network is unreachable"); err == nil {
		t.Error("a message was read as a route")
	}
}

func TestParseLinks_reads_the_real_tool(t *testing.T) {
	realtool.Path(t, "ip")
	out, err := exec.CommandContext(t.Context(), "ip", "-j", "-d", "addr", "show").Output()
	if err != nil {
		t.Fatal(err)
	}
	links, err := ParseLinks(string(out))
	if err != nil {
		t.Fatal(err)
	}
	var plain []map[string]any
	if err := json.Unmarshal(out, &plain); err != nil || len(links) == 0 || len(links) > len(plain) {
		t.Errorf("got %d interfaces of %d, %v", len(links), len(plain), err)
	}
}

// As iproute2 6.1 prints the functions of an IPoIB interface (print_vfinfo of ip/ipaddress.c), and those of Ethernet.
func TestParseLinks_virtual_functions(t *testing.T) {
	links, err := ParseLinks(`[{"ifindex":3,"ifname":"ib0","link_type":"infiniband",` +
		`"address":"00:00:02:11:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:76:ea:e0","vfinfo_list":[{"vf":0,"link_type":"infiniband",` +
		`"address":"00:00:02:11:fe:80:00:00:00:00:00:00:ec:0d:9a:03:00:76:ea:e0","vlan_list":[{}],"rate":{"max_tx":0,"min_tx":0},` +
		`"spoofchk":false,"node guid":"22:44:33:00:33:11:00:33","port guid":"10:21:33:12:00:11:22:10","link_state":"disable",` +
		`"trust":false,"query_rss_en":false}]},{"ifindex":4,"ifname":"e0","vfinfo_list":[{"vf":1,"mac":"02:00:00:00:00:01",` +
		`"vlan_list":[{"vlan":5,"qos":1}],"spoofchk":true,"link_state":"auto"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Concat(links[0].VFs, links[1].VFs)
	want := []VF{{0, "22:44:33:00:33:11:00:33", "10:21:33:12:00:11:22:10", "disable"}, {1, "", "", "auto"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
