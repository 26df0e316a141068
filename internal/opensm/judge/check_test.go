package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

const testPort = ib.GUID(0xe41d2d0300e44ed1)

func testHost(change ...func(*inventory.Snapshot)) *inventory.Snapshot {
	s := &inventory.Snapshot{
		Host: "intel9", OS: inventory.OS{ID: "ubuntu", VersionID: "24.04", Kernel: "6.8.0-90-generic"},
		Cards: []inventory.Card{{PCI: ib.MustParsePCIAddress("0000:01:00.0"), RDMADevice: "mlx4_0", Ports: []inventory.Port{{
			Number: 1, State: "Initializing", Physical: "LinkUp", LinkLayer: "InfiniBand", PortGUID: testPort,
			IsSM: fact.Known(false),
		}}}},
		Packages: map[string]string{"opensm": "3.3.23-3"}, Units: map[string]inventory.Unit{},
		Files: map[string]inventory.File{tool.DefaultPath: {Content: "PORTS=NONE\n"},
			platform.ModulesLoadPath: {Content: "ib_umad\nmlx4_ib\n"}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestCheck(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	later := opensm.Request{Host: "intel9", Priority: 14}
	shared := func(s *inventory.Snapshot) { s.Denied = map[string]bool{tool.SharedConf[0]: true} }
	sharedPartitions := func(s *inventory.Snapshot) {
		s.Files[tool.PlacesIn(tool.ConfDir).Partitions] = inventory.File{Content: "Default=0x7fff, ipoib, mtu=5 : ALL=full ;\n"}
	}
	for _, tt := range []struct {
		name     string
		s        *inventory.Snapshot
		d        opensm.Request
		planned  PlanFacts
		code     string // the only finding; empty: none
		severity finding.Severity
		text     []string
	}{
		{name: "good", s: testHost(), d: d},
		{name: "TrueNAS", s: testHost(func(s *inventory.Snapshot) { s.OS = inventory.OS{ID: "truenas", VersionID: "25.10.3"} }), d: d,
			code: "SM001", severity: finding.Refuse, text: []string{"TrueNAS SCALE 25.10.3",
				"Run it on another host of the fabric", "managed switch"}},
		{name: "another system", s: testHost(func(s *inventory.Snapshot) { s.OS = inventory.OS{ID: "opensuse-leap"} }), d: d,
			code: "SM001", severity: finding.Refuse, text: []string{`"opensuse-leap", which is not supported`}},
		{name: "unknown port", s: testHost(), d: opensm.Request{PortGUID: 0x42}, code: "PF006", severity: finding.Refuse,
			text: []string{"0x0000000000000042", "0000:01:00.0 port 1: 0xe41d2d0300e44ed1 (InfiniBand)"}},
		{name: "planned port", s: testHost(), d: opensm.Request{PortGUID: 0x42}, planned: PlanFacts{Port: true}},
		{name: "Ethernet", s: testHost(func(s *inventory.Snapshot) { s.Cards[0].Ports[0].LinkLayer = "Ethernet" }), d: d,
			code: "PF007", severity: finding.Refuse, text: []string{"infiniband_link_type"}},
		{name: "Ethernet, planned", s: testHost(func(s *inventory.Snapshot) { s.Cards[0].Ports[0].LinkLayer = "Ethernet" }),
			d:       d,
			planned: PlanFacts{LinkType: true}},
		{name: "equal priority", s: testHost(), d: d,
			planned: PlanFacts{Rivals: []opensm.Request{{Host: "b", PortGUID: 9, Priority: 14}}},
			code:    "SM005", severity: finding.Warn, text: []string{"(intel9 and b)", "lower port GUID wins",
				" on intel9 and 0x0000000000000009 on b have priority 14."}},
		{name: "equal priority on one host", s: testHost(), d: d,
			planned: PlanFacts{Rivals: []opensm.Request{{Host: "intel9", PortGUID: 9, Priority: 14}}},
			code:    "SM005", severity: finding.Warn, text: []string{"(ports " + d.PortGUID.String() +
				" and 0x0000000000000009 of intel9)", "each is the master of its fabric, or a host with infiniband-diags looks at it", "name both in fabrics of the provider block"}},
		{name: "many of equal priority", s: testHost(), d: d,
			planned: PlanFacts{Rivals: []opensm.Request{{Host: "b", PortGUID: 9}, {Host: "c", PortGUID: 10}}, MoreRivals: 97},
			code:    "SM005", severity: finding.Warn, text: []string{"(intel9 and 99 others)",
				"0x0000000000000009 on b, 0x000000000000000a on c and 97 more have priority 14."}},
		{name: "not installed", s: testHost(func(s *inventory.Snapshot) { s.Packages, s.Files = nil, nil }), d: d},
		{name: "PORTS=ALL", s: testHost(func(s *inventory.Snapshot) { s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=ALL\n"} }), d: d,
			code: "SM007", severity: finding.Warn, text: []string{"PORTS=ALL"}},
		{name: "PORTS unreadable", s: testHost(func(s *inventory.Snapshot) { s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=mlx4_0\n"} }), d: d,
			code: "SM012", severity: finding.Refuse, text: []string{"mlx4_0"}},
		{name: "opensm.conf unreadable",
			s: testHost(func(s *inventory.Snapshot) { s.Denied = map[string]bool{tool.SharedConf[1]: true} }), d: d,
			code: "SM022", severity: finding.Refuse, text: []string{"/etc/rdma/opensm.conf of intel9 could not be read",
				"Fix what keeps"}},
		{name: "key in the file of all instances", s: testHost(func(s *inventory.Snapshot) {
			s.Files[tool.SharedConf[1]] = inventory.File{Content: "sa_key 0x1234\n"}
		}), d: d, code: "SM022", severity: finding.Refuse,
			text: []string{"/etc/rdma/opensm.conf of intel9 sets sa_key", "options of its own, without it"}},
		{name: "key that is no number", s: testHost(func(s *inventory.Snapshot) {
			s.Files[tool.SharedConf[0]] = inventory.File{Content: "sm_key one\n"}
		}), d: d, code: "SM022", severity: finding.Refuse, text: []string{"sets sm_key, and its value is no number."}},
		{name: "PORTS that cannot be read", s: testHost(func(s *inventory.Snapshot) {
			s.Files, s.Denied = nil, map[string]bool{tool.DefaultPath: true}
		}), d: d, code: "SM012", severity: finding.Refuse,
			text: []string{"/etc/default/opensm of intel9 is there and could not be read", "Fix what keeps"}},
		{name: "our drop-in cannot be read", s: testHost(func(s *inventory.Snapshot) {
			s.Denied = map[string]bool{tool.DropInPath(testPort): true}
		}), d: d, code: "SM012", severity: finding.Refuse, text: []string{"terraform-infiniband.conf of intel9 is there"}},
		{name: "partitions that cannot be read", s: testHost(func(s *inventory.Snapshot) {
			s.Denied = map[string]bool{"/etc/opensm/partitions.conf": true}
		}), d: d, code: "SM024", severity: finding.Warn, text: []string{"could not be read, so that its partitions are not known"}},
		{name: "partitions of RHEL", s: testHost(func(s *inventory.Snapshot) {
			s.OS = inventory.OS{ID: "rhel", VersionID: "9.4", Kernel: "5.14.0-427.el9.x86_64"}
			s.Files = map[string]inventory.File{"/etc/rdma/partitions.conf": {Content: "Default=0x7fff, ipoib:\n mgid=ff12:401b::1\n;"},
				"/etc/opensm/partitions.conf": {Content: "left behind"}}
		}), d: d, code: "SM024", severity: finding.Warn, text: []string{"/etc/rdma/partitions.conf of intel9.\n"}},
		{name: "partitions of the package of RHEL", s: testHost(func(s *inventory.Snapshot) {
			s.OS = inventory.OS{ID: "rhel", VersionID: "9.4", Kernel: "5.14.0-427.el9.x86_64"}
			s.Files = map[string]inventory.File{"/etc/rdma/partitions.conf": {Content: "Default=0x7fff, rate=3, mtu=4, scope=2, " +
				"defmember=full:\n\tALL, ALL_SWITCHES=full;\nDefault=0x7fff, ipoib, rate=3, mtu=4, scope=2:\n" +
				"\tmgid=ff12:401b::ffff:ffff # IPv4 Broadcast address\n;\n"}}
		}), d: d},
		{name: "key in our own file", s: testHost(func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header()) + "m_key 0x1234\n"}
		}), d: d, code: "SM022", severity: finding.Refuse,
			text: []string{"/etc/opensm/terraform-0xe41d2d0300e44ed1.conf of intel9 sets m_key", "write keys_version = 0"}},
		{name: "port later", s: testHost(), d: later, planned: PlanFacts{PortUnknown: true}},
		{name: "port later, TrueNAS", s: testHost(func(s *inventory.Snapshot) { s.OS = inventory.OS{ID: "truenas", VersionID: "25.10.3"} }), d: later, planned: PlanFacts{PortUnknown: true},
			code: "SM001", severity: finding.Refuse, text: []string{"TrueNAS SCALE 25.10.3"}},
		{name: "port later, not installed", s: testHost(func(s *inventory.Snapshot) { s.Packages, s.Files = nil, nil }),
			d: later, planned: PlanFacts{PortUnknown: true},
			code: "PF003", severity: finding.Warn, text: []string{"will be installed"}},
		{name: "port later, no Default", s: testHost(),
			d:       opensm.Request{Host: "intel9", Partitions: []opensm.Partition{{Name: "storage", PKey: 1}}},
			planned: PlanFacts{PortUnknown: true},
			code:    "SM013", severity: finding.Refuse, text: []string{"partitions has storage"}},
		{name: "port later, shared keys", s: testHost(shared), d: later, planned: PlanFacts{PortUnknown: true}, code: "SM022",
			severity: finding.Refuse, text: []string{"could not be read"}},
		{name: "port later, shared keys beside an instance of ours", d: later, planned: PlanFacts{PortUnknown: true},
			s: testHost(shared, func(s *inventory.Snapshot) {
				s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header())}
			})},
		{name: "port later, shared partitions", s: testHost(sharedPartitions), d: later, planned: PlanFacts{PortUnknown: true},
			code: "SM024", severity: finding.Warn},
		{name: "partitions later, shared partitions", s: testHost(sharedPartitions), d: later,
			planned: PlanFacts{PortUnknown: true, PartitionsUnknown: true}},
		{name: "another master", s: testHost(func(s *inventory.Snapshot) { s.Cards[0].Ports[0].SMLID = 7 }), d: d},
		{name: "runs already", s: testHost(func(s *inventory.Snapshot) {
			s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active"}
		}), d: d, code: "SM010", severity: finding.Warn, text: []string{"opensm@0xe41d2d0300e44ed1.service"}},
		{name: "no cable", s: testHost(link("Down", "Polling")), d: d, code: "SM031", severity: finding.Warn,
			text: []string{"is Down, its physical state is Polling.", "Plug the cable in"}},
		{name: "switched off", s: testHost(link("Down", "Disabled")), d: d, code: "SM031", severity: finding.Warn},
		{name: "physical state unread", s: testHost(link("Down", "")), d: d, code: "SM031", severity: finding.Warn,
			text: []string{"is Down, its physical state is not known."}},
		{name: "link unread", s: testHost(link("", "")), d: d, code: "SM031", severity: finding.Warn,
			text: []string{"Whether the port of this subnet manager has a link is not known", ": its state could not be read."}},
		{name: "state unread", s: testHost(link("", "LinkUp")), d: d},
		{name: "served, physical state unread", s: testHost(link("Active", "")), d: d},
		{name: "no cable, and nothing to do", d: d, s: testHost(link("Down", "Polling"), func(s *inventory.Snapshot) {
			s.Files[tool.DropInPath(testPort)] = inventory.File{Content: found.DropInText(testPort, false)}
			s.Files[tool.ConfPath(testPort)] = inventory.File{Content: d.Conf().Text(found.Header())}
			s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=\"" + testPort.String() + "\"\n"}
			s.Units[tool.Unit(testPort)] = inventory.Unit{ActiveState: "active"}
			s.Units[tool.Service] = inventory.Unit{UnitFileState: "enabled"}
			s.Cards[0].Ports[0].IsSM = fact.Known(true)
		})},
		{name: "no port yet", s: testHost(link("", ""), func(s *inventory.Snapshot) { s.Cards[0].Ports[0].PortGUID = 1 }), d: d,
			planned: PlanFacts{Port: true}},
		{name: "systemd is silent", s: testHost(silentSystemd), d: d},
		{name: "systemd is silent about who is bound",
			s: testHost(silentSystemd, func(s *inventory.Snapshot) { s.Cards[0].Ports[0].IsSM = fact.Known(true) }), d: d,
			code: "SM020", severity: finding.Refuse,
			text: []string{"Whether opensm@0xe41d2d0300e44ed1.service of intel9 runs is not known: systemctl show ended with status 1", "Fix what systemctl reports"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := Check(found.Of(tt.s, tt.d.PortGUID), tt.d, tt.planned)
			if tt.code == "" {
				if len(all) > 0 {
					t.Fatalf("findings: %+v", all)
				}
				return
			}
			if len(all) != 1 || all[0].Rule.Code != tt.code || all[0].Severity != tt.severity {
				t.Fatalf("findings: %+v", all)
			}
			text := all[0].Summary + "\n" + all[0].Detail()
			for _, part := range tt.text {
				if !strings.Contains(text, part) {
					t.Errorf("want %q in:\n%s", part, text)
				}
			}
		})
	}
}

// What is said of one system is not said of another.
func TestCheck_unsupported(t *testing.T) {
	for id, nas := range map[string]bool{"truenas": true, "arch": false, "opensuse-leap": false} {
		s := testHost(func(s *inventory.Snapshot) { s.OS = inventory.OS{ID: id, VersionID: "25.10.3"} })
		all := Check(found.Of(s, testPort), opensm.Request{Host: "intel9", PortGUID: testPort}, PlanFacts{})
		if len(all) != 1 || all[0].Rule.Code != "SM001" || strings.Contains(all[0].Detail(), "TrueNAS has no opensm") != nas ||
			id == "arch" && strings.Contains(all[0].Detail(), "TrueNAS") {
			t.Errorf("%s: %+v", id, all)
		}
	}
}

func link(state, physical string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) { s.Cards[0].Ports[0].State, s.Cards[0].Ports[0].Physical = state, physical }
}

func silentSystemd(s *inventory.Snapshot) {
	s.Units, s.UnitsWhy = nil, "systemctl show ended with status 1"
}

// A silent systemd is no instance that does not run, and none that does.
func TestDifferences_silent_systemd(t *testing.T) {
	d := opensm.Request{Host: "intel9", PortGUID: testPort, Priority: 14}
	bound := func(s *inventory.Snapshot) { s.Cards[0].Ports[0].IsSM = fact.Known(true) }
	spoken := found.Of(testHost(bound), testPort)
	if diff := strings.Join(Differences(spoken, d), "; "); !strings.Contains(diff, "does not run") ||
		!strings.Contains(diff, "does not start at boot") || spoken.Silence() != "" {
		t.Errorf("%q, %q", diff, spoken.Silence())
	}
	listed := func(s *inventory.Snapshot) {
		s.Files[tool.DefaultPath] = inventory.File{Content: "PORTS=\"" + testPort.String() + "\"\n"}
	}
	o := found.Of(testHost(bound, listed, silentSystemd), testPort)
	if diff := strings.Join(Differences(o, d), "; "); strings.Contains(diff, "does not") ||
		o.Silence() != "systemctl show ended with status 1" || Rereads(o, d) {
		t.Errorf("%q, %q", diff, o.Silence())
	}
	o = found.Of(testHost(silentSystemd), testPort)
	if diff := strings.Join(Differences(o, d), "; "); !strings.Contains(diff, "no SM is bound to the port") {
		t.Errorf("a port without SM: %q", diff)
	}
}
