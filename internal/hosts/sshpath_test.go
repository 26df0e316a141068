package hosts

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// A path of the session is known from both its ends or not at all.
func TestSSHPath(t *testing.T) {
	link := func(n *inventory.Netdev, text string) { n.Addresses = append(n.Addresses, netip.MustParsePrefix(text)) }
	for name, tt := range map[string]struct {
		client, server string
		status         int
		get            string // what ip route get says
		devs           []string
		why            string
	}{
		"one interface": {client: "192.0.2.1", server: "192.0.2.20", get: "192.0.2.1 dev eno1 src 192.0.2.20",
			devs: []string{"eno1"}},
		"another way back": {client: "198.51.100.7", server: "172.16.0.20", get: "198.51.100.7 via 192.0.2.1 dev eno1",
			devs: []string{"ib0", "eno1"}},
		"two with the address": {client: "192.0.2.1", server: "10.6.0.2", get: "192.0.2.1 dev eno1",
			devs: []string{"ib0", "vx0", "eno1"}},
		"two with the address, a tunnel": {client: "192.0.2.1", server: "10.5.0.2", get: "192.0.2.1 dev eno1",
			why: "wg0 is an interface of kind wireguard, and the kernel does not name the one below it; what is known is ib0, eno1"},
		"link-local":        {client: "fe80::1%ib0", server: "fe80::2%ib0", devs: []string{"ib0"}},
		"link-local, index": {client: "fe80::1%3", server: "fe80::2%3", devs: []string{"ib0"}},
		"unknown zone": {client: "fe80::1%eth7", server: "fe80::2%ib0",
			why: "no interface is called eth7, as in fe80::1%eth7; what is known is ib0"},
		"mapped address": {client: "192.0.2.1", server: "::ffff:192.0.2.20", get: "192.0.2.1 dev eno1",
			devs: []string{"eno1"}},
		"forwarded": {client: "127.0.0.1", server: "127.0.0.1", get: "local 127.0.0.1 dev lo src 127.0.0.1",
			why: "the session comes from the host itself, as a forwarded session does"},
		"forwarded, own name": {client: "192.0.2.20", server: "192.0.2.20", get: "local 192.0.2.20 dev lo src 192.0.2.20",
			why: "the session comes from the host itself, as a forwarded session does; what is known is eno1"},
		"no route": {
			client: "198.51.100.7", server: "192.0.2.20", status: 2, get: "RTNETLINK answers: Network is unreachable",
			why: "ip route get 198.51.100.7 ended with status 2: RTNETLINK answers: Network is unreachable; what is known is eno1",
		},
		"not understood": {client: "192.0.2.1", server: "192.0.2.20", get: "?",
			why: "the answer of ip route get 192.0.2.1 is not understood"},
		"no session": {why: "SSH_CONNECTION is not in the environment of the session"},
		"address moved": {client: "192.0.2.1", server: "192.0.2.99", get: "192.0.2.1 dev eno1",
			why: "no interface has the address 192.0.2.99, which the session came to; what is known is eno1"},
		"tunnel": {client: "10.9.0.1", server: "10.9.0.2", get: "10.9.0.1 dev wg0",
			why: "wg0 is an interface of kind wireguard, and the kernel does not name the one below it"},
		"Open vSwitch": {client: "192.0.2.1", server: "10.7.0.2", get: "192.0.2.1 dev eno1",
			why: "br-ex is an interface of kind openvswitch, and the kernel does not name the one below it; what is known is eno1"},
		"address of no interface below": {client: "192.0.2.1", server: "192.0.2.20", get: "192.0.2.1 dev gone0",
			why: "ip address shows no interface gone0; what is known is eno1"},
		"tunnel with name": {client: "10.8.0.1", server: "10.8.0.2", get: "10.8.0.1 dev vx0", devs: []string{"vx0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &inventory.Snapshot{Netdevs: []inventory.Netdev{
				{Name: "eno1", Index: 2}, {Name: "ib0", Index: 3, IB: true}, {Name: "lo", Index: 1},
				{Name: "wg0", Kind: "wireguard"}, {Name: "vx0", Kind: "vxlan", Lower: []string{"eno1"}},
				{Name: "br-ex", Kind: "openvswitch"},
			}}
			for i, text := range []string{"192.0.2.20/24", "172.16.0.20/24", "127.0.0.1/8", "10.9.0.2/24", "10.8.0.2/24",
				"10.7.0.2/24"} {
				link(&s.Netdevs[i], text)
			}
			for text, both := range map[string][]int{"10.6.0.2/24": {1, 4}, "10.5.0.2/24": {1, 3}} {
				for _, i := range both {
					link(&s.Netdevs[i], text)
				}
			}
			a := &collect.Answer{Client: tt.client, Server: tt.server, Runs: map[string]collect.Run{}}
			if tt.get != "" {
				a.Runs["ip-ssh"] = collect.Run{Status: tt.status, Output: tt.get}
			}
			p := sshPath(s, a)
			devs, known := p.Devs.Get()
			if known != (tt.why == "") || !slices.Equal(devs, tt.devs) {
				t.Errorf("known %t: %v; %s", known, devs, p.Devs.Why())
			}
			if !strings.Contains(p.Devs.Why(), tt.why) {
				t.Errorf("reason %q, want %q", p.Devs.Why(), tt.why)
			}
		})
	}
}

// The interface to storage is known, or it is said why it is not.
func TestAddStorage_unknown(t *testing.T) {
	s := &inventory.Snapshot{Netdevs: []inventory.Netdev{{Name: "ib0"}, {Name: "wg0", Kind: "wireguard"}, {Name: "lo"}}}
	a := &collect.Answer{Runs: map[string]collect.Run{
		"way 192.0.2.9": {Status: 124}, "way 192.0.2.6": {Output: "192.0.2.6 dev wg0 src 10.9.0.2"},
		"way 192.0.2.20": {Output: "local 192.0.2.20 dev lo src 192.0.2.20"}, "way 192.0.2.8": {Status: 2,
			Output: "RTNETLINK answers: Network is unreachable"}, "mounts": {Status: 2},
	}}
	for server, want := range map[string]string{
		"192.0.2.9": "ip route get 192.0.2.9 ended with status 124", "192.0.2.7": "ip was not asked", "": "names no address",
		"nas":         `"nas" is not an address`,
		"fe80::9%ib0": "", "192.0.2.8": "", "192.0.2.20": "",
		"192.0.2.6": "wg0 is an interface of kind wireguard, and the kernel does not name the one below it",
	} {
		s.Storage = nil
		addStorage(s, inventory.Storage{Kind: "iscsi", What: "connection1:0", Server: server,
			Dev: way(s, a, "connection1:0", server)})
		if dev := s.Storage[0].Dev; dev.Known() != (want == "") || !strings.Contains(dev.Why(), want) {
			t.Errorf("%q: known %t, %q", server, dev.Known(), dev.Why())
		}
	}
	s.Storage = nil
	if err := readMounts(s, a); err != nil || len(s.Storage) != 1 ||
		s.Storage[0].Dev.Why() != "grep of /proc/mounts ended with status 2" {
		t.Errorf("mounts: %v, %+v", err, s.Storage)
	}
}
