package judge

import (
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
)

// onNetplan and onIfupdown are testHost with another network stack.
func onNetplan(path, text string, units ...string) *inventory.Snapshot {
	return ipoibtest.Host(putUnmanaged(path, text), func(s *inventory.Snapshot) {
		s.Commands = map[string]bool{"netplan": true}
		s.Files["/etc/netplan/01-all.yaml"] = inventory.File{Content: "network: {version: 2, renderer: networkd}\n"}
		for _, unit := range units {
			s.Units[unit] = inventory.Unit{ActiveState: "active"}
		}
	})
}

func onIfupdown(path, text string) *inventory.Snapshot {
	return ipoibtest.Host(func(s *inventory.Snapshot) {
		s.Commands = map[string]bool{"ifup": true}
		s.Units = map[string]inventory.Unit{ipoib.NetworkingUnit: {ActiveState: "active", UnitFileState: "enabled"}}
		s.Files = map[string]inventory.File{ifupdown.MainFile: {Content: "source /etc/network/interfaces.d/*\n"}}
	}, putUnmanaged(path, text))
}

// onService is testHost with one service that configures interfaces by files of its own.
func onService(unit, path, text string, more ...string) *inventory.Snapshot {
	return ipoibtest.Host(func(s *inventory.Snapshot) {
		s.Commands, s.Files = nil, map[string]inventory.File{}
		s.Units = map[string]inventory.Unit{unit: {ActiveState: "active"}}
		for _, p := range more {
			s.Files[p] = inventory.File{Content: "[Network]\nIPForward=yes\n"}
		}
	}, putUnmanaged(path, text))
}

// What is a definition of this interface alone can be taken over; of every other it is
// said why not, and how to make one of it.
func TestUnmanaged_adoptable(t *testing.T) {
	for name, tt := range map[string]struct {
		s        *inventory.Snapshot
		path     string
		obstacle string // a part of it; empty: it can be taken over
		unkept   string
	}{
		"netplan": {onNetplan(aPlan, "network: {version: 2, ethernets: {ibp1s0: {mtu: 2044, addresses: [10.0.0.1/24]}}}"),
			aPlan, "", ""},
		"netplan by hardware address": {onNetplan(aPlan,
			"network: {ethernets: {x: {match: {macaddress: \""+testAddress+"\"}, mtu: 2044}}}"), aPlan, "", ""},
		"netplan by name": {onNetplan(aPlan, "network: {ethernets: {x: {match: {name: ibp1s0}, optional: true}}}"), aPlan,
			"", ""},
		"netplan with settings of its own": {onNetplan(aPlan, "network: {ethernets: {ibp1s0: {nameservers: {addresses: "+
			"[10.0.0.9]}, accept-ra: yes, addresses: [{10.0.0.1/24: {label: x}}], routes: [{to: 10.1.0.0/16, via: 10.0.0.2, "+
			"metric: 5}]}}}"), aPlan, "", "accept-ra, nameservers, addresses.label, routes.metric"},
		"netplan of two": {onNetplan(aPlan, "network: {ethernets: {ibp1s0: {mtu: 2044}, eno9: {dhcp4: true}}}"), aPlan,
			aPlan + " also has ethernets.eno9. Move the definition of this interface to a file of its own, such as " +
				"/etc/netplan/70-ibp1s0.yaml", ""},
		"netplan by glob": {onNetplan(aPlan, "network: {ethernets: {x: {match: {name: \"ib*\"}, mtu: 2044}}}"), aPlan,
			"every interface that fits its match. Write a definition of this interface alone", ""},
		"netplan by driver": {onNetplan(aPlan, "network: {ethernets: {x: {match: {driver: \"mlx4*\"}}}}"), aPlan,
			"every interface that fits its match", ""},
		"netplan by DHCP": {onNetplan(aPlan, "network: {ethernets: {ibp1s0: {dhcp4: yes}}}"), aPlan, "by DHCP", ""},
		"netplan with set-name": {onNetplan(aPlan,
			"network: {ethernets: {x: {match: {macaddress: \""+testAddress+"\"}, set-name: ibp1s0}}}"), aPlan,
			"a .link file", ""},
		"netplan of a program": {onNetplan("/run/netplan/x.yaml", "network: {ethernets: {ibp1s0: {mtu: 2044}}}"),
			"/run/netplan/x.yaml", "another program writes it", ""},
		"netplan of cloud-init": {onNetplan("/etc/netplan/50-cloud-init.yaml", "network: {ethernets: {ibp1s0: {mtu: 2044}}}"),
			"/etc/netplan/50-cloud-init.yaml", "cloud-init writes it, and would write it again", ""},
		"netplan with the renderer": {onNetplan(aPlan,
			"network: {renderer: NetworkManager, ethernets: {ibp1s0: {mtu: 2044}}}", ipoib.NMUnit), aPlan,
			"also names the renderer of all files", ""},
		"netplan of a bridge": {onNetplan(aPlan, "network: {bridges: {ibp1s0: {mtu: 2044}}}"), aPlan,
			"bridges.ibp1s0 is not a definition of the interface itself", ""},

		"stanza": {onIfupdown(aStanza, "allow-hotplug ibp1s0\niface ibp1s0 inet static\n  address 10.0.0.1\n  netmask "+
			"255.255.255.0\n  pre-up echo connected > /sys/class/net/$IFACE/mode\n  up ip route add 10.1.0.0/16 via 10.0.0.2\n  "+
			"down ip route del 10.1.0.0/16\n"), aStanza, "", ""},
		"stanza with commands": {onIfupdown(aStanza, "iface ibp1s0 inet static\n  address 10.0.0.1/24\n  dns-nameservers "+
			"10.0.0.9\n  post-up /root/tune.sh\n"), aStanza, "", "dns-nameservers, post-up"},
		"stanza in the main file": {onIfupdown(ifupdown.MainFile, "source /etc/network/interfaces.d/*\niface ibp1s0 inet static\n"+
			"  address 10.0.0.1/24\n"), ifupdown.MainFile, "is the main file. Move the lines of this interface", ""},
		"stanza beside others": {onIfupdown(aStanza, "auto eno9 ibp1s0\niface eno9 inet dhcp\niface ibp1s0 inet manual\n"),
			aStanza, "also has lines of eno9", ""},
		"stanza by DHCP": {onIfupdown(aStanza, "iface ibp1s0 inet dhcp\n"), aStanza, "by DHCP", ""},
		"stanza of a template": {onIfupdown(aStanza, "iface ibp1s0 inherits ib\n  address 10.0.0.1/24\n"), aStanza,
			"stands alone", ""},
		"stanza beside a source": {onIfupdown(aStanza, "source /etc/network/more/*\niface ibp1s0 inet manual\n"), aStanza,
			"lines that are of no interface", ""},
		"stanza, bad": {onIfupdown(aStanza, "iface ibp1s0 inet static\n  mtu big\n"), aStanza, "not understood", ""},
		"keyfile as nmcli writes it": {onService(ipoib.NMUnit, aProfile, "[connection]\nid=x\nuuid=5f1d\ntype=infiniband\n"+
			"interface-name=ibp1s0\ntimestamp=17\n\n[infiniband]\ntransport-mode=connected\n\n[ipv4]\naddress1=10.0.0.1/24\n"+
			"method=manual\n\n[ipv6]\naddr-gen-mode=default\nmethod=disabled\n\n[proxy]\n"), aProfile, "", ""},
		"keyfile with settings of its own": {onService(ipoib.NMUnit, aProfile,
			"[connection]\ntype=infiniband\ninterface-name=ibp1s0\n"+
				"autoconnect=false\nzone=trusted\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24\ndns=10.0.0.9;\nroute1=10.1.0.0/16,"+
				"10.0.0.2\nroute1_options=mtu=1400\n[ipv6]\nmethod=auto\n"), aProfile, "",
			"connection.autoconnect, connection.zone, ipv4.dns, ipv4.route1_options, ipv6.method"},
		"keyfile of every interface": {onService(ipoib.NMUnit, aProfile, "[connection]\ntype=infiniband\n"), aProfile,
			"every interface that fits its type", ""},
		"keyfile by DHCP": {onService(ipoib.NMUnit, aProfile, "[connection]\ntype=infiniband\ninterface-name=ibp1s0\n[ipv4]\n"+
			"method=auto\n"), aProfile, "by DHCP", ""},
		"keyfile of a program": {onService(ipoib.NMUnit, "/run/NetworkManager/system-connections/x.nmconnection",
			"[connection]\ntype=infiniband\ninterface-name=ibp1s0\n"), "/run/NetworkManager/system-connections/x.nmconnection",
			"another program writes it", ""},
		"ifcfg": {onService(ipoib.NMUnit, anIfcfg,
			"TYPE=InfiniBand\nDEVICE=ibp1s0\nONBOOT=yes\nBOOTPROTO=none\nCONNECTED_MODE=yes\n"+
				"IPADDR=10.0.0.1\nPREFIX=24\nIPV6ADDR=fd00::1/64\n"), anIfcfg, "", ""},
		"ifcfg with settings of its own": {onService(ipoib.NMUnit, anIfcfg,
			"TYPE=InfiniBand\nDEVICE=ibp1s0\nONBOOT=no\nZONE=trusted\n"),
			anIfcfg, "", "ONBOOT, ZONE"},
		"ifcfg, bad": {onService(ipoib.NMUnit, anIfcfg, "TYPE=InfiniBand\nDEVICE=ibp1s0\n. /etc/other\n"), anIfcfg,
			"not understood", ""},

		"networkd": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ibp1s0\n[Network]\nAddress=10.0.0.1/24\n"), aNetwork,
			"", ""},
		"networkd by hardware address": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nMACAddress="+testAddress+
			"\nType=infiniband\n"), aNetwork, "", ""},
		"networkd with settings of its own": {onService(ipoib.NetworkdUnit, aNetwork,
			"[Match]\nName=ibp1s0\n[Network]\nDNS=10.0.0.9\n"+
				"IPv6AcceptRA=yes\n[Route]\nDestination=10.1.0.0/16\nGateway=10.0.0.2\nMetric=5\n"), aNetwork, "",
			"Network.DNS, Network.IPv6AcceptRA, Route.Metric"},
		"networkd by glob": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ib*\n"), aNetwork,
			"every interface that fits its [Match]", ""},
		"networkd by DHCP": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ibp1s0\n[Network]\nDHCP=ipv4\n"), aNetwork,
			"by DHCP", ""},
		"networkd with drop-ins of another directory": {
			onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ibp1s0\n", "/run/systemd/network/"+path.Base(aNetwork)+".d/more.conf"),
			aNetwork, "drop-ins below /run/systemd/network/" + path.Base(aNetwork) + ".d", ""},
		"networkd with drop-ins": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ibp1s0\n", aNetwork+".d/more.conf"),
			aNetwork, "drop-ins below " + aNetwork + ".d", ""},
		"networkd with children": {onService(ipoib.NetworkdUnit, aNetwork, "[Match]\nName=ibp1s0\n[Network]\nIPoIB=ibp1s0.8001\n"),
			aNetwork, "also makes P_Key interfaces", ""},
		"networkd of a program": {onService(ipoib.NetworkdUnit, "/run/systemd/network/x.network", "[Match]\nName=ibp1s0\n"),
			"/run/systemd/network/x.network", "another program writes it", ""},

		"stanza where nobody runs ifup": {onNetplan(aStanza, "iface ibp1s0 inet manual\n"), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := found.At(tt.s, ipoib.Ref{PortGUID: ipoibtest.Port}).Unmanaged
			if len(all) != 1 {
				t.Fatalf("found %+v", all)
			}
			f := all[0]
			if f.Path != tt.path || (f.Obstacle == "") != (tt.obstacle == "") || !strings.Contains(f.Obstacle, tt.obstacle) {
				t.Errorf("path %q, obstacle %q", f.Path, f.Obstacle)
			}
			if got := strings.Join(f.Unkept, ", "); got != tt.unkept {
				t.Errorf("not kept: %q", got)
			}
			d := requestFor("connected", 65520)
			for _, a := range f.Config.Addresses {
				d.Consent.Shown = append(d.Consent.Shown, a.String())
			}
			for _, r := range f.Config.Routes {
				d.Consent.Shown = append(d.Consent.Shown, r.String())
			}
			found := checkOn(tt.s, d, PlanFacts{})
			inStanza := strings.NewReplacer("dns-nameservers, post-up", "dns-nameservers (line 3), post-up (line 4)")
			switch {
			case !f.Adoptable():
				mustFind(t, found, "IP011", finding.Refuse, []string{tt.obstacle})
			case tt.unkept != "":
				mustFind(t, of(finding.InterfaceDefinedByHand, found), "IP042", finding.NeedsConsent, []string{tt.path})
				mustFind(t, of(finding.DefinitionLosesSettings, found), "IP043", finding.NeedsConsent,
					[]string{tt.path + " also sets " + inStanza.Replace(tt.unkept) + ".",
						"adopt_without = " + finding.Names(slices.Compact(slices.Sorted(slices.Values(strings.Split(tt.unkept, ", "))))...)})
			default:
				mustFind(t, found, "IP042", finding.NeedsConsent, []string{tt.path})
			}
		})
	}
}

// ifup may configure the interface from a stanza that does not have its name.
func TestUnmanaged_stanza_of_another_name(t *testing.T) {
	const stanza = "iface storage inet static\n  address 10.0.0.1/24\n"
	for lines, says := range map[string]string{
		"auto ibp1s0=storage\n":                        "auto ibp1s0=storage",
		"allow-hotplug ibp*=storage\n":                 "auto ibp*=storage",
		"auto ibp1s0\nmapping ib*\n  script /root/m\n": "mapping ib*",
		"auto /ib*1s0=storage\n":                       "auto /ib*1s0=storage",
		"allow-hotplug /ib[!c]*/=storage\n":            "auto /ib[!c]*/=storage",
		"auto mac/80:*=storage\n":                      "auto mac/80:*=storage",
		"auto eno1 /ib*/2=storage\n": "auto /ib*/2=storage: it is for one of the interfaces that fit, " +
			"and which one is decided at boot",
		"auto type/32=storage\n":                   "auto type/32=storage: what /sys/class/net/ibp1s0/type has was not read",
		"auto /ib[[:alpha:]]*=storage\n":           "auto /ib[[:alpha:]]*=storage: the pattern is not understood",
		"auto mac/11:22:33:44:55:66=storage\n":     "",
		"auto /eth*=storage /dev/ibp1s0=storage\n": "",
		"auto /ib*\n": "",
		"auto eno1=storage\nmapping eth*\n  script /bin/m\n": "",
	} {
		found := of(finding.InterfaceConfiguredElsewhere, checkOn(onIfupdown(aStanza, lines+stanza), requestFor("connected", 65520),
			PlanFacts{}))
		if says == "" {
			if len(found) > 0 {
				t.Errorf("%q: %+v", lines, found)
			}
			continue
		}
		verb := " configures it"
		if strings.Contains(says, ": ") {
			verb = " may configure it"
		}
		mustFind(t, found, "IP011", finding.Refuse, []string{aStanza + verb + " from a stanza of another name (" + says + ")"})
	}
}

// of are the findings of one rule.
func of(rule *finding.Rule, all []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Rule != rule })
}

// The consent names the file: that of another one is not enough, and two files need two.
func TestUnmanaged_consent(t *testing.T) {
	const one, two = aPlan, "/etc/netplan/71-y.yaml"
	s := onNetplan(one, "network: {ethernets: {ibp1s0: {mtu: 2044}}}")
	s.Files[two] = inventory.File{Content: "network: {ethernets: {ibp1s0: {addresses: [10.0.0.1/24]}}}"}
	d := requestFor("connected", 65520)
	d.Consent.Shown = []string{"10.0.0.1/24"}
	for given, want := range map[string]finding.Severity{"": finding.NeedsConsent, one: finding.NeedsConsent,
		one + " " + two: finding.Warn} {
		d.Consent.AdoptFiles = strings.Fields(given)
		worst := finding.Note
		for _, f := range checkOn(s, d, PlanFacts{}) {
			if f.Rule == finding.InterfaceDefinedByHand {
				worst = max(worst, f.Severity)
			}
			if f.Consent != "" && f.Consent != `adopt_files = ["`+one+`", "`+two+`"]` {
				t.Errorf("asks for %s", f.Consent)
			}
		}
		if worst != want {
			t.Errorf("with %q: %s", given, worst)
		}
	}
}

// The consent names each setting that ends, of all files: one that somebody adds to a file
// after the plan is not in it.
func TestUnmanaged_settingsThatEnd(t *testing.T) {
	const one, two = "/etc/netplan/70-x.yaml", "/etc/netplan/71-y.yaml"
	s := onNetplan(one, "network: {ethernets: {ibp1s0: {nameservers: {addresses: [10.0.0.9]}}}}")
	s.Files[two] = inventory.File{Content: "network: {ethernets: {ibp1s0: {accept-ra: true, addresses: [10.0.0.1/24]}}}"}
	d := requestFor("connected", 65520)
	d.Consent.AdoptFiles = []string{one, two}
	for given, want := range map[string]finding.Severity{"": finding.NeedsConsent, "nameservers": finding.NeedsConsent,
		"nameservers accept-ra": finding.NeedsConsent, "nameservers accept-ra 10.0.0.1/24": finding.Warn,
		"10.0.0.1/24 accept-ra gateway4 nameservers": finding.Warn} {
		d.Consent.AdoptWithout = strings.Fields(given)
		worst, said := finding.Note, 0
		for _, f := range of(finding.DefinitionLosesSettings, checkOn(s, d, PlanFacts{})) {
			worst, said = max(worst, f.Severity), said+1
			if f.Consent != "" && f.Consent != `adopt_without = ["10.0.0.1/24", "accept-ra", "nameservers"]` {
				t.Errorf("asks for %s", f.Consent)
			}
		}
		if worst != want || said != 2 {
			t.Errorf("with %q: %s, said %d times", given, worst, said)
		}
	}
}

// Addresses and routes of the file, and addresses that only the interface has, end in a takeover
// too, if they are not asked for. Those of the state end in the plan itself.
func TestUnmanaged_addressesThatEnd(t *testing.T) {
	t.Parallel()
	s := onNetplan(aPlan, "network: {ethernets: {ibp1s0: {addresses: [10.0.0.1/24, 10.3.3.3/24], "+
		"routes: [{to: 10.20.0.0/16, via: 10.0.0.9}]}}}")
	s.Netdevs[1].Addresses = ipoibtest.Prefixes("10.0.0.1/24", "10.3.3.3/24", "10.9.9.9/24", "fe80::1/64")
	d := requestFor("connected", 65520, "10.0.0.1/24")
	d.Consent.AdoptFiles = []string{aPlan}
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP043", finding.NeedsConsent, []string{aPlan +
		" also sets 10.3.3.3/24, 10.20.0.0/16 via 10.0.0.9; the interface also has 10.9.9.9/24.",
		`adopt_without = ["10.20.0.0/16 via 10.0.0.9", "10.3.3.3/24", "10.9.9.9/24"]`})
	d.Consent.Shown = []string{"10.3.3.3/24", "10.9.9.9/24"}
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP043", finding.NeedsConsent,
		[]string{`adopt_without = ["10.20.0.0/16 via 10.0.0.9"]`})
	d.Consent.AdoptWithout = []string{"10.20.0.0/16 via 10.0.0.9"}
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP043", finding.Warn, nil)
}

// An address that somebody has typed, and that no file gives the interface, ends with a new
// resource as well. A plan of an interface that is ours shows it as a difference, and one that a
// daemon has given for a time is the daemon's.
func TestUnmanaged_typedAddresses(t *testing.T) {
	t.Parallel()
	s := onNetplan(aPlan, "network: {ethernets: {eno1: {dhcp4: true}}}")
	s.Netdevs[1].Addresses = ipoibtest.Prefixes("10.0.0.1/24", "10.9.9.9/24", "10.8.8.8/24", "fe80::1/64")
	s.Netdevs[1].Dynamic = map[netip.Prefix]bool{netip.MustParsePrefix("10.8.8.8/24"): true}
	d := requestFor("connected", 65520, "10.0.0.1/24")
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP043", finding.NeedsConsent,
		[]string{"somebody has given it 10.9.9.9/24, and no file does", `adopt_without = ["10.9.9.9/24"]`})
	d.Consent.AdoptWithout = []string{"10.9.9.9/24"}
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP043", finding.Warn, nil)
	d.Consent = ipoib.Consent{Shown: []string{"10.9.9.9/24"}}
	if found := of(finding.DefinitionLosesSettings, checkOn(s, d, PlanFacts{})); len(found) > 0 {
		t.Errorf("asked for what the plan shows: %v", found)
	}
}

// What was kept of an earlier takeover may be the only copy: the plan says so.
func TestUnmanaged_savedAlready(t *testing.T) {
	const at, saved = "/etc/netplan/70-x.yaml", "/etc/netplan/.70-x.yaml.before-infiniband-e41d2d0300e44ed1"
	s := onNetplan(at, "network: {ethernets: {ibp1s0: {mtu: 2044}}}")
	d := requestFor("connected", 65520)
	d.Consent.AdoptFiles = []string{at}
	s.Saved = []string{"/etc/netplan/.70-x.yaml.before-infiniband-e41d2d0300e44ed2"}
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP042", finding.Warn, []string{"keeps that file as " + saved})
	s.Saved = append(s.Saved, saved)
	mustFind(t, checkOn(s, d, PlanFacts{}), "IP011", finding.Refuse,
		[]string{at, saved + " is there already, from an earlier takeover", "Move that file away, then plan again"})
}

// An interface that is as asked is left alone, unless its network stack does not have it from
// the file that goes. The text says which.
func TestUnmanaged_anew(t *testing.T) {
	const (
		all  = "mtu: 65520, addresses: [10.0.0.1/24]"
		none = "nothing changes on the interface"
	)
	planned := func(id, more string) *inventory.Snapshot {
		return onNetplan(aPlan, "network: {ethernets: {"+id+": {match: {name: ibp1s0}, "+more+"}}}")
	}
	managed := func(id, more string) *inventory.Snapshot {
		s := planned(id, more)
		s.Files["/etc/netplan/01-all.yaml"] = inventory.File{Content: "network: {version: 2, renderer: NetworkManager}\n"}
		s.Units = map[string]inventory.Unit{ipoib.NMUnit: {ActiveState: "active"}}
		return s
	}
	active := func(uuid string) *inventory.Snapshot {
		s := onService(ipoib.NMUnit, aProfile, "[connection]\nid=x\nuuid=5f1d\ntype=infiniband\ninterface-name=ibp1s0\n")
		s.Netdevs[1].NMProfile = uuid
		return s
	}
	for name, tt := range map[string]struct {
		s    *inventory.Snapshot
		want string
	}{
		"networkd":                        {planned("x", all), none},
		"networkd, file without an MTU":   {planned("x", "addresses: [10.0.0.1/24]"), none},
		"networkd, address set otherwise": {planned("x", "mtu: 65520"), "does not have them from that file, so that"},
		"networkd, MTU set otherwise": {planned("x", "mtu: 2044, addresses: [10.0.0.1/24]"),
			"systemd-networkd does not have them from that file, so that the interface is configured anew"},
		"NetworkManager, ID is the name": {managed("ibp1s0", all), none},
		"NetworkManager, another ID":     {managed("x", all), "knows them as netplan-x, a profile that goes with that file"},
		"profile in use":                 {active("5f1d"), none},
		"profile not in use":             {active("6a2e"), "NetworkManager does not have them from that file"},
	} {
		t.Run(name, func(t *testing.T) {
			d, n := requestFor("connected", 65520, "10.0.0.1/24"), &tt.s.Netdevs[1]
			n.Up, n.Mode, n.MTU, n.Addresses = true, "connected", 65520, d.Config.Addresses
			mustFind(t, checkOn(tt.s, d, PlanFacts{}), "IP042", finding.NeedsConsent, []string{tt.want})
		})
	}
}

// networkd merges drop-ins into our file, too: one that sets what this resource has arguments for is named before the
// apply fails on it.
func TestUnmanaged_dropInOfOurFile(t *testing.T) {
	t.Parallel()
	ours := "/etc/systemd/network/60-infiniband-" + ipoib.Ref{PortGUID: ipoibtest.Port}.ID() + ".network"
	static := requestFor(ib.ModeConnected, 65520, "172.16.0.20/24")
	leased := requestFor(ib.ModeConnected, 65520)
	leased.Config.DHCP4 = true
	for text, refused := range map[string]bool{
		"[DHCPv4]\nUseRoutes=true\n":            true, // only of a lease
		"[DHCP]\nUseDNS=yes\n":                  true,
		"[DHCPv4]\nClientIdentifier=duid\n":     true,
		"[DHCPv4]\nUseRoutes=no\nUseDNS=0\n":    false,
		"[DHCPv4]\nRouteMetric=500\n":           false,
		"[Link]\nMTUBytes=1500\n":               true,
		"[Network]\nAddress=10.9.9.9/24\n":      true,
		"[Network]\nDHCP=yes\n":                 true,
		"[Network]\nIPoIB=ibp1s0.8001\n":        false,
		"[Network]\nLLDP=yes\n":                 false,
		"[Network]\nAddress=172.16.0.20/24\n":   false,
		"[Link]\nMTUBytes=65520\nMulticast=1\n": false,
	} {
		s, d := onService(ipoib.NetworkdUnit, ours+".d/mine.conf", text), static
		if strings.HasPrefix(text, "[DHCP") {
			d = leased
		}
		l := found.At(s, d.Ref())
		f := l.Files(l.Target, d.Config)[0]
		s = onService(ipoib.NetworkdUnit, ours+".d/mine.conf", text)
		s.Files[f.Path] = inventory.File{Content: f.Text}
		got := of(finding.InterfaceConfiguredElsewhere, checkOn(s, d, PlanFacts{}))
		if (len(got) > 0) != refused {
			t.Errorf("%q: %v", text, got)
		}
		if refused {
			mustFind(t, got, "IP011", finding.Refuse, []string{ours + ".d/mine.conf adds to " + ours,
				"move " + ours + ".d/mine.conf away, and plan again."})
		}
	}
}
