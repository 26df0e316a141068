package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

const testAddress = "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1"

// A file of each network stack that somebody else wrote.
const (
	aPlan    = "/etc/netplan/60-x.yaml"
	aNetwork = "/etc/systemd/network/20-x.network"
	aProfile = "/etc/NetworkManager/system-connections/x.nmconnection"
	anIfcfg  = "/etc/sysconfig/network-scripts/ifcfg-ib0"
	aStanza  = "/etc/network/interfaces.d/x"
)

// putUnmanaged adds such a file to a host whose interface has its hardware address.
func putUnmanaged(path, text string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Netdevs[1].Address = testAddress
		s.Files[path] = inventory.File{Content: text}
	}
}

// Definitions of others are found by whatever they match, and one that is not
// understood, or not readable, is not taken for none.
func TestObserve_unmanaged(t *testing.T) {
	for name, tt := range map[string]struct {
		path, text string
		want       []string // parts of the one line; none: it is nobody's business
	}{
		"netplan by MAC, with our ID": {aPlan,
			"network: {ethernets: {ibp1s0: {match: {macaddress: \"" + testAddress + "\"}, mtu: 2044}}}",
			[]string{aPlan + " defines ethernets.ibp1s0 (MTU 2044)"}},
		"netplan by MAC": {aPlan, "network: {ethernets: {x: {match: {macaddress: \"" + testAddress + "\"}}}}",
			[]string{"defines ethernets.x"}},
		"netplan by driver": {aPlan, "network: {ethernets: {x: {match: {driver: \"mlx4*\"}}}}",
			[]string{"defines ethernets.x"}},
		"netplan of everything": {aPlan, "network: {ethernets: {x: {match: {name: \"*\"}}}}",
			[]string{"defines ethernets.x"}},
		"netplan with a mark": {aPlan, "\ufeffnetwork: {ethernets: {ibp1s0: {mtu: 2044}}}",
			[]string{"defines ethernets.ibp1s0"}},
		"netplan in /run": {"/run/netplan/x.yaml", "network: {ethernets: {ibp1s0: {mtu: 2044}}}",
			[]string{"/run/netplan/x.yaml defines ethernets.ibp1s0"}},
		"netplan, bad": {aPlan, "network: {ethernets: {eno1: {mtu: big}}}",
			[]string{aPlan + " is not valid: ethernets.eno1: mtu big is not a number"}},
		"netplan, a copy of ours": {aPlan,
			platform.OwnedHeader(found.ResourceName) + "network: {ethernets: {x: {match: {name: \"ibp1s0\"}}}}",
			[]string{"defines ethernets.x; the file says that this provider wrote it", "it is a copy"}},
		"netplan of another": {aPlan, "network: {ethernets: {x: {match: {driver: \"e1000\"}}}}", nil},

		"networkd by MAC": {aNetwork, "[Match]\nPermanentMACAddress=" + testAddress + "\n[Link]\nMTUBytes=2044\n",
			[]string{aNetwork + " matches it (MTU 2044)"}},
		"networkd by type":       {aNetwork, "[Match]\nType=infiniband\n", []string{"matches it"}},
		"networkd by no type":    {aNetwork, "[Match]\nType=!ether wlan\n", []string{"matches it"}},
		"networkd by driver":     {aNetwork, "[Match]\nDriver=mlx4_core\n", []string{"matches it"}},
		"networkd of everything": {aNetwork, "[Match]\nName=*\n", []string{"matches it"}},
		"networkd without match": {aNetwork, "[Network]\nDHCP=yes\n", []string{"matches it (DHCP)"}},
		"networkd by path": {aNetwork, "[Match]\nPath=pci-0000:01:*\n",
			[]string{"may match it: Path=pci-0000:01:* was not looked at"}},
		"networkd, bad line": {aNetwork, "[Match]\nName=ib*\n[Network]\nDHCP yes\n",
			[]string{"matches it", "not understood: line 4: neither a section nor an assignment"}},
		"networkd, bad address": {aNetwork, "[Match]\nName=ib*\n[Network]\nAddress=10.0.0.300/24\n",
			[]string{"matches it", "not understood: [Network]: "}},
		"networkd of another, bad": {aNetwork, "[Match]\nName=en*\n[Network]\nDHCP yes\n", nil},
		"networkd of Ethernet":     {aNetwork, "[Match]\nType=ether\nPath=pci-*\n", nil},
		"networkd but for ours":    {aNetwork, "[Match]\nName=!ibp1s0\n", nil},

		"keyfile": {aProfile, "[connection]\nid=x\ntype=infiniband\ninterface-name=ibp1s0\n",
			[]string{aProfile + " is a profile for it"}},
		"keyfile, bad line": {aProfile, "[connection]\nid=x\ntype=infiniband\ninterface-name=ibp1s0\noops\n",
			[]string{"is a profile for it", "line 5: neither a section nor an assignment"}},
		"keyfile, bad value": {aProfile, "[connection]\nid=x\ntype=infiniband\n[infiniband]\nmtu=big\n",
			[]string{"is a profile for it", "mtu=big is not a number"}},
		"keyfile without type": {aProfile, "[connection]\nid=x\ninterface-name=ibp1s0\n",
			[]string{"is a profile for it", "has no type"}},
		"keyfile, bytes": {aProfile, "[connection]\ntype=infiniband\n[infiniband]\nmac-address=128;0;2;8;\n",
			[]string{"is a profile for it"}},
		"keyfile of another, bad": {aProfile, "[connection]\ntype=infiniband\ninterface-name=ibp2s0\noops\n", nil},

		"ifcfg": {anIfcfg, "TYPE=InfiniBand\nDEVICE=\"ibp1s0\" # by hand\n",
			[]string{anIfcfg + " is a profile for it"}},
		"ifcfg, bad line": {anIfcfg, "TYPE=InfiniBand\nDEVICE=ibp1s0\n. /etc/other\n",
			[]string{"is a profile for it", "line 3: not NAME=value"}},
		"ifcfg without type": {anIfcfg, "DEVICE=ibp1s0\nMTU=big\n",
			[]string{"is a profile for it", "MTU=big is not a number"}},
		"ifcfg of another, bad": {anIfcfg, "TYPE=InfiniBand\nDEVICE=ibp2s0\n. /etc/other\n", nil},

		"stanza, bad line": {aStanza, "oops\niface ibp1s0 inet dhcp\n",
			[]string{aStanza + " has a stanza for it", `line 1: an option outside of a stanza: "oops"`}},
		"stanza without a name": {aStanza, "iface\n    address 10.0.0.1/24\n",
			[]string{"may have a stanza for it", "a stanza without a name"}},
		"stanza of another, bad": {aStanza, "oops\niface eno2 inet dhcp\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := ipoibtest.Host(putUnmanaged(tt.path, tt.text))
			o := found.At(s, ipoib.Ref{PortGUID: ipoibtest.Port})
			if len(tt.want) == 0 {
				if len(o.Unmanaged) > 0 {
					t.Errorf("unexpected: %v", o.Unmanaged)
				}
				return
			}
			code, severity := "IP011", finding.Refuse
			if o.Unmanaged[0].Adoptable() {
				code, severity = "IP042", finding.NeedsConsent
			}
			mustFind(t, checkOn(s, requestFor("connected", 65520), PlanFacts{}), code, severity, tt.want)
		})
	}
}

// A file of networkd for another interface says nothing of one that has no name yet.
func TestObserve_withoutName(t *testing.T) {
	for match, want := range map[string]bool{
		"Name=eno1": false, "Name=en* eth*": false, "Name=br0": false, "Type=ether": false,
		"Name=ib*": true, "Name=mlx4_ib0": true, "Name=*": true, "Name=eno1 ib0": true, "Name=!eno1": true,
	} {
		s := ipoibtest.Host(putUnmanaged(aNetwork, "[Match]\n"+match+"\n[Network]\nDHCP=yes\n"), func(s *inventory.Snapshot) {
			s.Netdevs = []inventory.Netdev{{Name: "eno1"}, {Name: "br0"}}
		})
		if got := found.At(s, ipoib.Ref{PortGUID: ipoibtest.Port}).Unmanaged; len(got) > 0 != want {
			t.Errorf("%s: %v", match, got)
		}
	}
}

// What cannot be read may say anything.
func TestObserve_unreadable(t *testing.T) {
	for _, path := range []string{"/etc/netplan/x.yaml", "/etc/netplan", "/etc/network/interfaces", "/etc/systemd/network",
		"/etc/NetworkManager/system-connections/x"} {
		s := ipoibtest.Host(func(s *inventory.Snapshot) { s.Denied = map[string]bool{path: true, "/etc/opensm/x.conf": true} })
		mustFind(t, checkOn(s, requestFor("connected", 65520), PlanFacts{}), "IP011", finding.Refuse,
			[]string{path + " cannot be read"})
		if o := found.At(s, ipoib.Ref{PortGUID: ipoibtest.Port}); len(o.Unmanaged) != 1 || strings.Contains(o.Unmanaged[0].Line, "opensm") {
			t.Errorf("%v", o.Unmanaged)
		}
	}
}
