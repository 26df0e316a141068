package judge

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

func sessionOver(dev string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) { s.SSH.Devs = fact.Known([]string{dev}) }
}

func unknownSession(s *inventory.Snapshot) { s.SSH.Devs = fact.Unknown[[]string]("the tool hung") }

func sessionOverChild(s *inventory.Snapshot) {
	sessionOver("ibp1s0.8001")(s)
	s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: "ibp1s0.8001", IB: true, Parent: "ibp1s0", PortGUID: ipoibtest.Port})
}

// above has the session come in over a pile of interfaces, the upper ones first.
func above(names ...string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		sessionOver(names[0])(s)
		for i, n := range names[:len(names)-1] {
			s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: n, Lower: names[i+1 : i+2]})
		}
	}
}

func storageVia(dev fact.Of[string]) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Storage = []inventory.Storage{{Kind: "nfs4", What: "nas:/tank", Where: "/mnt", Server: "172.16.0.10", Dev: dev}}
	}
}

func onTrueNAS(interfaces ...string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Host, s.OS = "xeon2zfs", inventory.OS{ID: "truenas", VersionID: "25.10.3"}
		s.TrueNAS = &inventory.TrueNAS{PendingChanges: fact.Known(false), CheckinWaiting: fact.Known(0),
			Tunables: []byte("[]"), Interfaces: []byte("[" + strings.Join(interfaces, ",") + "]")}
	}
}

func storedInterface(t *testing.T, name string, dhcp bool, live ...string) string {
	t.Helper()
	var aliases []map[string]any
	for _, p := range ipoibtest.Prefixes(live...) {
		aliases = append(aliases, map[string]any{"type": "INET", "address": p.Addr().String(), "netmask": p.Bits()})
	}
	b, err := json.Marshal(map[string]any{
		"id": name, "name": name, "fake": false, "type": "PHYSICAL", "aliases": []any{}, "ipv4_dhcp": dhcp, "ipv6_auto": dhcp,
		"description": "", "mtu": nil, "state": map[string]any{"mtu": 1500, "flags": []string{"UP"}, "aliases": aliases},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkOn checks a request on a host.
func checkOn(s *inventory.Snapshot, d ipoib.Request, p PlanFacts) []finding.Finding {
	return Check(found.At(s, d.Ref()), d, p)
}

func requestFor(mode ib.IPoIBMode, mtu int, addresses ...string) ipoib.Request {
	return ipoib.Request{Host: "intel9", PortGUID: ipoibtest.Port, Config: ipoib.Config{Mode: mode, MTU: mtu, Addresses: ipoibtest.Prefixes(addresses...)}}
}

func TestCheck(t *testing.T) {
	connected := requestFor(ib.ModeConnected, 65520, "172.16.0.20/24")
	child := connected
	child.PKey = 0x8001
	gateway := connected
	gateway.Config.Routes = []ipoib.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("172.16.0.1")}}
	throughTable := func(table string) *inventory.Snapshot {
		return ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Routes.Default = []inventory.DefaultRoute{{Dev: "eno1", Gateway: "192.0.2.1", Table: table}}
		})
	}
	for _, tt := range []struct {
		name     string
		s        *inventory.Snapshot
		d        ipoib.Request
		planned  PlanFacts
		code     string // empty: nothing blocks
		severity finding.Severity
		text     []string
	}{
		{name: "good", s: ipoibtest.Host(), d: connected},
		{name: "datagram with 65520", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 65520, "172.16.0.20/24"), code: "IP005",
			severity: finding.Refuse,
			text: []string{"Refusing MTU 65520 in datagram mode",
				"datagram carries at most IB MTU − 4 = 4096 − 4 = 4092 bytes; 65520 is 61428 too many",
				`65520 needs mode = "connected"`, "mtu = 2044, which works on every fabric, or 4092"}},
		{name: "datagram 4092", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 4092), code: "IP018", severity: finding.Warn,
			text: []string{"Write mtu = 4096 in the partition"}},
		{name: "datagram 4092 in a group that carries it", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 4092),
			planned: PlanFacts{Group: Group{Live: 4096}}},
		{name: "datagram 4092 in a smaller group", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 4092),
			planned: PlanFacts{Group: Group{Live: 2048, Planned: 4096}}, code: "IP018", severity: finding.Refuse,
			text: []string{"Refusing a datagram MTU that the broadcast group does not carry",
				"That of P_Key 0xffff on the fabric of port " + ipoibtest.Port.String() + " has 2048 bytes.", "Use mtu = 2044."}},
		{name: "datagram 4092 in a group that this plan enlarges", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 4092),
			planned: PlanFacts{Group: Group{Live: 2048, Planned: 4096, Changes: true}}},
		{name: "datagram 4092 in a group that this plan may make smaller", s: ipoibtest.Host(),
			d: requestFor(ib.ModeDatagram, 4092), planned: PlanFacts{Group: Group{Live: 4096, Planned: 2048, By: "b", Changes: true}},
			code: "IP018", severity: finding.Warn, text: []string{"The subnet manager on port b gives that of P_Key 0xffff 2048"}},
		{name: "datagram 4092 in a group that this plan makes smaller", s: ipoibtest.Host(),
			d:    requestFor(ib.ModeDatagram, 4092),
			code: "IP018", planned: PlanFacts{Group: Group{Live: 4096, Planned: 2048, By: "b", Changes: true, Here: true}},
			severity: finding.Refuse, text: []string{"Write mtu = 4096 in that partition of its infiniband_opensm"}},
		{name: "too large", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65521), code: "IP005", severity: finding.Refuse,
			text: []string{"1 more than 65520"}},
		{name: "too small", s: ipoibtest.Host(), d: requestFor(ib.ModeDatagram, 576), code: "IP005", severity: finding.Refuse,
			text: []string{"1280"}},
		{name: "P_Key child", s: ipoibtest.Host(), d: ipoib.Request{PortGUID: ipoibtest.Port, PKey: 0x8001, Config: connected.Config}},
		{name: "P_Key without its bit", s: ipoibtest.Host(), d: ipoib.Request{PortGUID: ipoibtest.Port, PKey: 0x0001, Config: connected.Config},
			code: "IP002", severity: finding.Refuse,
			text: []string{`pkey = "0x0001"`, `Write pkey = "0x8001"`, "full or a limited member"}},
		{name: "unknown port", s: ipoibtest.Host(), d: ipoib.Request{PortGUID: 0x1234, Config: connected.Config}, code: "PF006",
			severity: finding.Refuse,
			text: []string{"No port of intel9 has the GUID 0x0000000000001234",
				"0000:01:00.0 port 1: 0xe41d2d0300e44ed1 (InfiniBand)"}},
		{name: "planned port", s: ipoibtest.Host(), d: ipoib.Request{PortGUID: 0x1234, Config: connected.Config},
			planned: PlanFacts{Port: true}},
		{name: "Ethernet port", s: ipoibtest.Host(ethernet), d: connected, code: "PF007", severity: finding.Refuse,
			text: []string{"infiniband_link_type"}},
		{name: "Ethernet port, planned", s: ipoibtest.Host(ethernet), d: connected, planned: PlanFacts{LinkType: true}},
		{name: "connected on mlx5", s: ipoibtest.Host(mlx5), d: connected, code: "IP009", severity: finding.Refuse,
			text: []string{"bit 0x80", "mlx5_core"}},
		{name: "session", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.SSH.Devs = fact.Known([]string{"ibp1s0"}) }),
			d: connected, code: "IP010", severity: finding.NeedsConsent,
			text: []string{"ibp1s0 of intel9 carries the SSH session from 192.0.2.100", `management_path = ["ibp1s0"]`}},
		{name: "second default route", s: throughTable(""), d: gateway, code: "IP030", severity: finding.Refuse,
			text: []string{"eno1 leads everywhere already"}},
		{name: "default route in another table", s: throughTable("10"), d: gateway},
		{name: "default route", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Routes.Default = []inventory.DefaultRoute{{Dev: "ibp1s0"}} }), d: connected,
			code: "IP010", severity: finding.NeedsConsent, text: []string{"the default route"}},
		{name: "session over a VLAN on a bond", s: ipoibtest.Host(above("bond0.7", "bond0", "ibp1s0")), d: connected, code: "IP010",
			severity: finding.NeedsConsent,
			text: []string{"ibp1s0 of intel9 carries the SSH session from 192.0.2.100, by bond0.7 above it",
				`management_path = ["ibp1s0"]`}},
		{name: "session over a P_Key child", s: ipoibtest.Host(sessionOverChild), d: connected, code: "IP010",
			severity: finding.NeedsConsent,
			text:     []string{"the SSH session from 192.0.2.100, by ibp1s0.8001 above it"}},
		{name: "session over the parent of a child", s: ipoibtest.Host(sessionOver("ibp1s0")), d: child, code: "IP010",
			severity: finding.NeedsConsent,
			text:     []string{"ibp1s0 of intel9 carries the SSH session", `management_path = ["ibp1s0"]`}},
		{name: "session over the parent of a child, consent to the child", s: ipoibtest.Host(sessionOver("ibp1s0")),
			d: withConsent(child, ipoib.Consent{ManagementPath: []string{"ibp1s0.8001"}}), code: "IP010", severity: finding.Warn,
			text: []string{"Allowed by"}},
		{name: "unknown session", s: ipoibtest.Host(unknownSession), d: connected, code: "IP010", severity: finding.NeedsConsent,
			text: []string{"may lead to this host",
				"ibp1s0 of intel9 may carry the SSH session: its interfaces are not known: the tool hung",
				`management_path = ["ibp1s0"]`}},
		{name: "unknown session, consent", s: ipoibtest.Host(unknownSession),
			d:    withConsent(connected, ipoib.Consent{ManagementPath: []string{"ibp1s0"}}),
			code: "IP010", severity: finding.Warn, text: []string{"Allowed by allow.management_path"}},
		{name: "storage", s: ipoibtest.Host(storageVia(fact.Known("ibp1s0"))), d: connected, code: "IP040",
			severity: finding.NeedsConsent,
			text:     []string{"ibp1s0 of intel9 carries nfs4 nas:/tank on /mnt", `management_path = ["ibp1s0"]`}},
		{name: "storage, consent", s: ipoibtest.Host(storageVia(fact.Known("ibp1s0"))),
			d:    withConsent(connected, ipoib.Consent{ManagementPath: []string{"ibp1s0"}}),
			code: "IP040", severity: finding.Warn, text: []string{"Allowed by"}},
		{name: "unknown way to storage", s: ipoibtest.Host(storageVia(fact.Unknown[string]("ip hung"))), d: connected,
			code: "IP040", severity: finding.NeedsConsent,
			text: []string{"may carry storage of which the interface is not known: nfs4 nas:/tank (ip hung)",
				`management_path = ["ibp1s0"]`}},
		{name: "storage elsewhere", s: ipoibtest.Host(storageVia(fact.Known("eno1"))), d: connected},
		{name: "consent for another interface",
			s: ipoibtest.Host(func(s *inventory.Snapshot) { s.SSH.Devs = fact.Known([]string{"ibp1s0"}) }),
			d: withConsent(connected, ipoib.Consent{ManagementPath: []string{"ib0"}}), code: "IP010", severity: finding.NeedsConsent,
			text: []string{`names ["ib0"] instead`}},
		{name: "consent", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.SSH.Devs = fact.Known([]string{"ibp1s0"}) }),
			d: withConsent(connected, ipoib.Consent{ManagementPath: []string{"ibp1s0"}}), code: "IP010", severity: finding.Warn,
			text: []string{"Allowed by allow.management_path"}},
		{name: "no SM", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Cards[0].Ports[0].SMLID, s.Cards[0].Ports[0].State = 0, "Initializing" }), d: connected,
			code: "IP020", severity: finding.Warn, text: []string{"state Initializing, no SM LID"}},
		{name: "networkd is off", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Units[ipoib.NetworkdUnit] = inventory.Unit{ActiveState: "inactive"} }), d: connected,
			code: "IP019", severity: finding.Refuse, text: []string{"is inactive"}},
		{name: "systemd is silent", s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1" }), d: connected,
			code: "IP019", severity: finding.Refuse,
			text: []string{"whether systemd-networkd.service runs is not known: systemctl show ended with status 1",
				"Fix what systemctl reports"}},
		{name: "systemd is silent, no netplan", s: ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Units, s.UnitsWhy, s.Files = nil, "systemctl show ended with status 1", nil
			delete(s.Commands, "netplan")
		}), d: connected, code: "IP023", severity: finding.Refuse,
			text: []string{"systemd did not say which network services run: systemctl show ended with status 1"}},
		{name: "systemd is silent beside ifupdown",
			s: ipoibtest.Host(withIfupdown2, func(s *inventory.Snapshot) { s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1" }), d: connected,
			code: "IP023", severity: finding.Refuse,
			text: []string{"systemd did not say which network services run: systemctl show ended with status 1"}},
		{name: "overlap", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "192.0.2.99/25"), code: "IP013",
			severity: finding.Refuse, text: []string{"192.0.2.20/24 of eno1"}},
		{name: "limited broadcast", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "255.255.255.255/32"), code: "IP021",
			severity: finding.Refuse, text: []string{"broadcast address of all networks"}},
		{name: "IPv4 in IPv6", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "::ffff:172.16.9.9/120"), code: "IP021",
			severity: finding.Refuse, text: []string{"write 172.16.9.9/24"}},
		{name: "port later", s: ipoibtest.Host(), d: withUnknownPort(connected), planned: portLater},
		{name: "port later, other system",
			s: ipoibtest.Host(func(s *inventory.Snapshot) { s.OS = inventory.OS{ID: "opensuse-leap"} }), d: withUnknownPort(connected),
			planned: portLater,
			code:    "IP001", severity: finding.Refuse},
		{name: "port later, MTU of datagram", s: ipoibtest.Host(), d: withUnknownPort(requestFor(ib.ModeDatagram, 65520)), planned: portLater,
			code: "IP005", severity: finding.Refuse},
		{name: "port later, network address", s: ipoibtest.Host(), d: withUnknownPort(requestFor(ib.ModeConnected, 65520, "172.16.0.0/24")),
			planned: portLater, code: "IP021", severity: finding.Refuse},
		{name: "port later, overlap", s: ipoibtest.Host(), d: withUnknownPort(requestFor(ib.ModeConnected, 65520, "192.0.2.99/25")),
			planned: portLater, code: "IP013", severity: finding.Refuse, text: []string{"192.0.2.20/24 of eno1"}},
		{name: "port later, own address",
			s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Netdevs[1].Addresses = ipoibtest.Prefixes("172.16.0.20/24") }), planned: portLater,
			d: withUnknownPort(requestFor(ib.ModeConnected, 65520, "172.16.0.20/24"))},
		{name: "port later, connected on mlx5", s: ipoibtest.Host(mlx5), d: withUnknownPort(connected), planned: portLater, code: "IP009",
			severity: finding.Refuse, text: []string{"0000:01:00.0 port 1 (mlx5_core)"}},
		{name: "port later, networkd is off",
			s: ipoibtest.Host(func(s *inventory.Snapshot) { s.Units[ipoib.NetworkdUnit] = inventory.Unit{ActiveState: "inactive"} }),
			d: withUnknownPort(connected), planned: portLater,
			code: "IP019", severity: finding.Refuse},
		{name: "network address", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "172.16.0.0/24"), code: "IP021",
			severity: finding.Refuse, text: []string{"network or broadcast"}},
		{name: "broadcast address", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "172.16.1.255/23"), code: "IP021",
			severity: finding.Refuse, text: []string{"network or broadcast"}},
		{name: "twice", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "172.16.0.1/24", "172.16.0.1/16"), code: "IP021",
			severity: finding.Refuse, text: []string{"twice"}},
		{name: "link-local", s: ipoibtest.Host(), d: requestFor(ib.ModeConnected, 65520, "fe80::1/64"), code: "IP021",
			severity: finding.Refuse, text: []string{"link-local"}},
		{name: "other system", s: ipoibtest.Host(func(s *inventory.Snapshot) {
			s.OS = inventory.OS{ID: "opensuse-leap", PrettyName: "openSUSE Leap 16.0"}
		}), d: connected,
			code: "IP001", severity: finding.Refuse,
			text: []string{`"openSUSE Leap 16.0", which is not supported: its cards can be read, but nothing on it can be changed`}},
	} {
		t.Run(tt.name, func(t *testing.T) { mustFind(t, checkOn(tt.s, tt.d, tt.planned), tt.code, tt.severity, tt.text) })
	}
}

func TestCheck_trueNAS(t *testing.T) {
	eno1, ibp := storedInterface(t, "eno1", true, "192.0.2.10/24"), storedInterface(t, "ibp1s0", true)
	stored := storedInterface(t, "eno1", false, "192.0.2.10/24")
	free := storedInterface(t, "ibp1s0", false)
	d := requestFor(ib.ModeConnected, 9216, "172.16.0.10/24")
	large := requestFor(ib.ModeConnected, 65520, "172.16.0.10/24")
	unmanaged := strings.Replace(free, `"description":""`, `"description":"by hand"`, 1)
	for _, tt := range []struct {
		name     string
		s        *inventory.Snapshot
		d        ipoib.Request
		code     string
		severity finding.Severity
		text     []string
	}{
		{name: "good", s: ipoibtest.Host(onTrueNAS(stored, free)), d: d},
		{name: "large MTU", s: ipoibtest.Host(onTrueNAS(stored, free)), d: large, code: "IP008", severity: finding.NeedsConsent,
			text: []string{"56304 more than the 9216 that the API of xeon2zfs takes", "mtu = 9216",
				"allow = { private_mtu = 65520 }"}},
		{name: "large MTU, other consent", s: ipoibtest.Host(onTrueNAS(stored, free)),
			d: withConsent(large, ipoib.Consent{PrivateMTU: 10000}), code: "IP008", severity: finding.NeedsConsent,
			text: []string{"names 10000 instead"}},
		{name: "large MTU, consent", s: ipoibtest.Host(onTrueNAS(stored, free)), d: withConsent(large, ipoib.Consent{PrivateMTU: 65520}),
			code: "IP008", severity: finding.Warn,
			text: []string{"past the API"}},
		{name: "fresh", s: ipoibtest.Host(onTrueNAS(eno1, ibp)), d: d, code: "IP014", severity: finding.NeedsConsent,
			text: []string{"eno1 leads to it", `allow = { keep_interface = "eno1" }`, "clears and switches off"}},
		{name: "fresh, consent", s: ipoibtest.Host(onTrueNAS(eno1, ibp)), d: withConsent(d, ipoib.Consent{KeepInterface: "eno1"}),
			code: "IP014", severity: finding.Warn, text: []string{"Allowed by"}},
		{name: "fresh, two networks", s: ipoibtest.Host(onTrueNAS(eno1, ibp, storedInterface(t, "eno2", true, "198.51.100.3/24"))),
			d:    withConsent(d, ipoib.Consent{KeepInterface: "eno1"}),
			code: "IP015", severity: finding.Refuse, text: []string{"eno2 (198.51.100.3/24)"}},
		{name: "someone else's row", s: ipoibtest.Host(onTrueNAS(stored, unmanaged)), d: d, code: "IP012",
			severity: finding.NeedsConsent,
			text:     []string{`description "by hand"`, `adopt_interface = "ibp1s0"`}},
		{name: "pending", s: ipoibtest.Host(onTrueNAS(stored, free),
			func(s *inventory.Snapshot) { s.TrueNAS.PendingChanges = fact.Known(true) }), d: d, code: "IP016",
			severity: finding.Refuse,
			text:     []string{"pending changes: true", "Revert"}},
		{name: "check-in", s: ipoibtest.Host(onTrueNAS(stored, free),
			func(s *inventory.Snapshot) { s.TrueNAS.CheckinWaiting = fact.Known(30) }), d: d, code: "IP016",
			severity: finding.Refuse, text: []string{"30"}},
		{name: "other rules", s: ipoibtest.Host(onTrueNAS(stored, free),
			func(s *inventory.Snapshot) { s.TrueNAS.UdevRulesDirectory = []string{"99-mine.rules"} }), d: d,
			code: "IP017", severity: finding.Refuse, text: []string{"99-mine.rules"}},
		{name: "overlap", s: ipoibtest.Host(onTrueNAS(stored, free)), d: requestFor(ib.ModeConnected, 9216, "192.0.2.99/24"),
			code: "IP013", severity: finding.Refuse, text: []string{"eno1"}},
		{name: "unreadable", s: ipoibtest.Host(onTrueNAS("{")), d: d, code: "IP001", severity: finding.Refuse,
			text: []string{"not understood"}},
	} {
		t.Run(tt.name, func(t *testing.T) { mustFind(t, checkOn(tt.s, tt.d, PlanFacts{}), tt.code, tt.severity, tt.text) })
	}
}

// What TrueNAS asks for before its first interface needs no port.
func TestCheck_trueNASBeforeThePort(t *testing.T) {
	eno1, ibp := storedInterface(t, "eno1", true, "192.0.2.10/24"), storedInterface(t, "ibp1s0", true, "172.16.0.10/24")
	d := withUnknownPort(requestFor(ib.ModeConnected, 9216, "172.16.0.10/24"))
	mustFind(t, checkOn(ipoibtest.Host(onTrueNAS(eno1, ibp)), d, portLater), "IP014", finding.NeedsConsent,
		[]string{"eno1 leads to it"})
	large := withUnknownPort(requestFor(ib.ModeConnected, 65520, "172.16.0.10/24"))
	stored := storedInterface(t, "eno1", false, "192.0.2.10/24")
	mustFind(t, checkOn(ipoibtest.Host(onTrueNAS(stored, ibp)), large, portLater), "IP008", finding.NeedsConsent,
		[]string{"56304 more"})
}

// mustFind wants exactly the finding of that code; without one, nothing that blocks.
func mustFind(t *testing.T, found []finding.Finding, code string, severity finding.Severity, text []string) {
	t.Helper()
	var hit *finding.Finding
	for i, f := range found {
		if f.Rule.Code == code {
			hit = &found[i]
		} else if f.Severity.Blocks() {
			t.Errorf("unexpected %s: %s", f.Rule.Code, f.Evidence)
		}
	}
	if code == "" {
		return
	}
	if hit == nil {
		t.Fatalf("%s is missing in %+v", code, found)
	}
	if hit.Severity != severity {
		t.Errorf("severity is %s, want %s", hit.Severity, severity)
	}
	all := hit.Summary + "\n" + hit.Detail()
	for _, part := range text {
		if !strings.Contains(all, part) {
			t.Errorf("want %q in:\n%s", part, all)
		}
	}
}

func withUnknownPort(d ipoib.Request) ipoib.Request { d.PortGUID = 0; return d }

var portLater = PlanFacts{PortUnknown: true}

func withConsent(d ipoib.Request, c ipoib.Consent) ipoib.Request { d.Consent = c; return d }

func ethernet(s *inventory.Snapshot) {
	s.Cards[0].Ports[0].LinkLayer = "Ethernet"
	s.Netdevs = s.Netdevs[:1]
}

func mlx5(s *inventory.Snapshot) {
	s.Cards[0].Driver = "mlx5_core"
	s.Netdevs[1].Connected = false
}

func TestDefaultMTU(t *testing.T) {
	for _, tt := range []struct {
		kind platform.Kind
		mode ib.IPoIBMode
		want int
	}{
		{platform.KindUbuntu, ib.ModeDatagram, 2044}, {platform.KindUbuntu, ib.ModeConnected, 65520},
		{platform.KindTrueNAS, ib.ModeDatagram, 2044}, {platform.KindTrueNAS, ib.ModeConnected, 9216},
	} {
		if got := ipoib.DefaultMTU(tt.kind, tt.mode); got != tt.want {
			t.Errorf("DefaultMTU(%s, %s) = %d, want %d", tt.kind, tt.mode, got, tt.want)
		}
	}
}

// A bond that the interface is in, in any mode, and what its own files say.
func TestCheck_stacked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*inventory.Snapshot)
		want   string
	}{
		{"bond", func(s *inventory.Snapshot) {
			s.Netdevs[1].Master = "bond0"
			s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: "bond0", Kind: "bond", Mode: "802.3ad"})
		}, "ibp1s0 of intel9 is part of bond0 (bond, mode 802.3ad)."},
		{"bridge", func(s *inventory.Snapshot) {
			s.Netdevs[1].Master = "br0"
			s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: "br0", Kind: "bridge"})
		}, "ibp1s0 of intel9 is part of br0 (bridge)."},
		{"stanza", func(s *inventory.Snapshot) {
			s.Files["/etc/network/interfaces"] = inventory.File{Content: "auto vmbr0\niface vmbr0 inet manual\n    bridge_ports eno1 ibp1s0\n"}
		}, "/etc/network/interfaces has it in vmbr0 (bridge_ports)."},
	} {
		var evidence []string
		for _, f := range checkOn(ipoibtest.Host(tt.change),
			ipoib.Request{Host: "intel9", PortGUID: ipoibtest.Port, Config: ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044}}, PlanFacts{}) {
			if f.Rule == finding.InterfaceInBond {
				evidence = append(evidence, f.Evidence)
			}
		}
		if got := strings.Join(evidence, "|"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// changePortGUID gives the port of the interface another GUID, as somebody does by hand,
// while our definition still gives the interface its address by its name.
func changePortGUID(defined string, live ...string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		other := ipoibtest.Port + 0x100
		s.Cards[0].Ports[0].PortGUID, s.Netdevs[1].PortGUID, s.Netdevs[1].Addresses = other, other, ipoibtest.Prefixes(live...)
		if defined == "" {
			return
		}
		t := found.Target{Ref: ipoib.Ref{PortGUID: ipoibtest.Port}, Name: "ibp1s0"}
		for _, f := range found.At(ipoibtest.Host(), ipoib.Ref{}).Files(t, requestFor(ib.ModeConnected, 65520, defined).Config) {
			s.Files[f.Path] = inventory.File{Content: f.Text, Mode: "600"}
		}
	}
}

func TestCheck_overlapIsNotWithItself(t *testing.T) {
	const own = "172.16.0.20/24"
	for name, tc := range map[string]struct {
		s     *inventory.Snapshot
		carry string // the interface of the port that is to have the GUID
		found bool
	}{
		"our definition":             {s: ipoibtest.Host(changePortGUID(own, own))},
		"another address on it":      {s: ipoibtest.Host(changePortGUID(own, "172.16.0.99/24")), found: true},
		"nobody's definition":        {s: ipoibtest.Host(changePortGUID("", own)), found: true},
		"the port gets the GUID":     {s: ipoibtest.Host(changePortGUID("", own)), carry: "ibp1s0"},
		"another port gets the GUID": {s: ipoibtest.Host(changePortGUID("", own)), carry: "ibp1s0d1", found: true},
		"our definition names others": {s: ipoibtest.Host(changePortGUID(own, own),
			func(s *inventory.Snapshot) { s.Netdevs[1].Name = "ibp2s0" }), found: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := requestFor(ib.ModeConnected, 65520, own)
			found := slices.ContainsFunc(checkOn(tc.s, d, PlanFacts{Port: true, Carrier: tc.carry}),
				func(f finding.Finding) bool { return f.Rule == finding.SubnetTwice })
			if found != tc.found {
				t.Errorf("IP013 %t, want %t", found, tc.found)
			}
		})
	}
}
