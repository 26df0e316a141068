package port

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

func address(t *testing.T) ib.PCIAddress {
	t.Helper()
	a, err := ib.ParsePCIAddress("0000:01:00.0")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParseSpeeds(t *testing.T) {
	for _, c := range []struct {
		names          []string
		base, extended int
		err            string
	}{
		{[]string{"SDR", "DDR", "QDR"}, 7, extNone, ""},
		{[]string{"QDR", "SDR"}, 5, extNone, ""},
		{[]string{"SDR", "QDR", "FDR", "EDR"}, 5, 3, ""},
		{[]string{"QDR"}, 4, extNone, "speeds QDR lack SDR: every link begins to train at 2.5 Gb/s"},
		{[]string{"SDR", "10G"}, 0, 0, `unknown "10G"; known are SDR, DDR, QDR, FDR, EDR, HDR`},
	} {
		s, err := ParseSpeeds(c.names)
		if got := errText(err); got != c.err {
			t.Errorf("%v: error %q, want %q", c.names, got, c.err)
		}
		if err == nil && (s.base() != c.base || s.extendedBits() != c.extended) {
			t.Errorf("%v: %d and %d, want %d and %d", c.names, s.base(), s.extendedBits(), c.base, c.extended)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What the unit says is what the next look at the host finds.
func TestUnit_readsBackWhatItSets(t *testing.T) {
	speeds, _ := ParseSpeeds([]string{"SDR", "QDR", "FDR"})
	plain, _ := ParseSpeeds([]string{"SDR", "DDR"})
	widths, _ := ParseWidths([]string{"1X", "4X"})
	for _, c := range []struct {
		d        Request
		extended bool
		command  string
	}{
		{Request{Enabled: true}, false, "0000:01:00.0 1 enable - - -"},
		{Request{}, true, "0000:01:00.0 1 disable - - -"},
		{Request{Enabled: true, Speeds: plain}, false, "0000:01:00.0 1 enable 3 - -"},
		{Request{Enabled: true, Speeds: plain}, true, "0000:01:00.0 1 enable 3 30 -"},
		{Request{Enabled: true, Speeds: speeds, Widths: widths}, true, "0000:01:00.0 1 enable 5 1 3"},
		{Request{card: cardName{"MT1234X00000", 0xe41d2d0300e44ed0}}, true,
			"0000:01:00.0 1 disable - - - MT1234X00000 e41d2d0300e44ed0"},
		{Request{card: cardName{"MT1234X00000", 0}}, true, "0000:01:00.0 1 disable - - - MT1234X00000 -"},
		{Request{card: cardName{"", 0xe41d2d0300e44ed0}}, true, "0000:01:00.0 1 disable - - - - e41d2d0300e44ed0"},
	} {
		c.d.Card, c.d.Number = address(t), 1
		text := unit(c.d, c.extended)
		if !slices.Contains(strings.Split(text, "\n"), "ExecStart="+scriptPath+" "+c.command) {
			t.Errorf("%+v: the unit is\n%s", c.d, text)
		}
		got, understood := settingOf(text)
		if !understood || got.Enabled != c.d.Enabled || got.Speeds != c.d.Speeds || got.Widths != c.d.Widths ||
			got.card != c.d.card {
			t.Errorf("%q reads back as %+v", c.command, got)
		}
	}
}

func TestSettingOf_editedUnit(t *testing.T) {
	for _, text := range []string{"", "[Service]\nExecStart=/bin/true\n", "ExecStart=" + scriptPath + " a b\n",
		"ExecStart=" + scriptPath + " 0000:01:00.0 1 enabel 3 - -\n",
		"ExecStart=" + scriptPath + " 0000:01:00.0 1 enable 3 - - MT1234X00000\n"} {
		if got, understood := settingOf(text); understood || !reflect.DeepEqual(got, Request{}) {
			t.Errorf("%q reads back as %+v", text, got)
		}
	}
}

// testHost has port 1 of a card as ib0, and a session and a default route over eno1.
func testHost(change func(*inventory.Snapshot)) *inventory.Snapshot {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	s := &inventory.Snapshot{
		Host: "intel9", Commands: map[string]bool{"ibportstate": true},
		OS: inventory.OS{ID: "ubuntu", VersionID: "24.04", Kernel: "6.8.0-45-generic"},
		Cards: []inventory.Card{{PCI: pci, Driver: "mlx4_core", RDMADevice: "mlx4_0", Ports: []inventory.Port{
			{Number: 1, State: "Active", Physical: "LinkUp", LinkLayer: "InfiniBand", IsSM: fact.Known(false)},
			{Number: 2, State: "Active", Physical: "LinkUp", LinkLayer: "InfiniBand", IsSM: fact.Known(false)},
		}, NodeGUID: 0xe41d2d0300e44ed0}},
		Netdevs: []inventory.Netdev{{Name: "eno1", DevPort: -1}, {Name: "ib0", PCI: pci, IB: true},
			{Name: "br-ex", Kind: "openvswitch", DevPort: -1}},
		SSH:    inventory.SSHPath{Devs: fact.Known([]string{"eno1"})},
		Routes: inventory.Routes{Default: []inventory.DefaultRoute{{Dev: "eno1"}}},
	}
	change(s)
	return s
}

// virtual adds the interface v0 of a virtual function beyond the slot of the card.
func virtual(s *inventory.Snapshot, of fact.Of[ib.PCIAddress]) {
	pci := ib.MustParsePCIAddress("0000:01:01.2")
	s.Cards = append(s.Cards, inventory.Card{PCI: pci, RDMADevice: "mlx4_1", Virtual: true, Physical: of})
	s.Netdevs = append(s.Netdevs, inventory.Netdev{Name: "v0", PCI: pci})
}

// An unknown session may come in over every interface of the port, so that consent names all.
func TestCheck_names_all_interfaces(t *testing.T) {
	s := testHost(func(s *inventory.Snapshot) {
		virtual(s, fact.Known(address(t)))
		s.SSH.Devs = fact.Unknown[[]string]("ip hung")
	})
	d := Request{Host: "intel9", Card: address(t), Number: 1}
	var evidence []string
	for _, f := range Check(s, d, Observe(s, d.Card, 1), PlanFacts{}) {
		if f.Rule == finding.PortCarriesHost {
			evidence = append(evidence, f.Evidence)
			if f.Consent != `management_path = ["ib0", "v0"]` {
				t.Errorf("consent %q", f.Consent)
			}
		}
	}
	want := []string{"The SSH session to intel9 may come in over ib0: ip hung.",
		"The SSH session to intel9 may come in over v0: ip hung."}
	if !slices.Equal(evidence, want) {
		t.Errorf("%q", evidence)
	}
}

// What is not known of the host's ways asks consent as one over this port does.
func TestCheck_unknown_facts(t *testing.T) {
	mount := inventory.Storage{Kind: "nfs4", What: "nas:/tank"}
	for name, c := range map[string]struct {
		change func(*inventory.Snapshot)
		rule   *finding.Rule // nil: nothing
		says   string
	}{
		"all known": {func(*inventory.Snapshot) {}, nil, ""},
		"session": {func(s *inventory.Snapshot) { s.SSH.Devs = fact.Unknown[[]string]("ip hung") },
			finding.PortCarriesHost, "may come in over ib0: ip hung"},
		"default route": {func(s *inventory.Snapshot) { s.Routes.Default[0].Dev = "br-ex" },
			finding.PortCarriesHost, "may go over ib0: br-ex is an interface of kind openvswitch"},
		"storage": {func(s *inventory.Snapshot) {
			mount.Dev = fact.Unknown[string]("ip hung")
			s.Storage = []inventory.Storage{mount}
		},
			finding.PortCarriesHost, "may be reached over ib0: ip hung"},
		"SRP": {func(s *inventory.Snapshot) {
			s.Storage = []inventory.Storage{{Kind: "srp", What: "host3", RDMA: "mlx4_0"}}
		},
			finding.PortCarriesHost, "srp host3 of intel9 is reached over mlx4_0"},
		"port of the interface": {func(s *inventory.Snapshot) {
			s.Netdevs[1].DevPort, s.SSH.Devs = -1, fact.Known([]string{"ib0"})
		}, finding.PortCarriesHost, "comes in over ib0"},
		"port of the interface and session": {func(s *inventory.Snapshot) {
			s.Netdevs[1].DevPort, s.SSH.Devs = -1, fact.Unknown[[]string]("ip hung")
		}, finding.PortCarriesHost, "may come in over ib0: ip hung"},
		"session over a virtual function": {func(s *inventory.Snapshot) {
			virtual(s, fact.Known(address(t)))
			s.SSH.Devs = fact.Known([]string{"v0"})
		}, finding.PortCarriesHost, "The SSH session to intel9 comes in over v0."},
		"session over a virtual function of another card": {func(s *inventory.Snapshot) {
			virtual(s, fact.Known(ib.MustParsePCIAddress("0000:02:00.0")))
			s.SSH.Devs = fact.Known([]string{"v0"})
		}, nil, ""},
		"session over a virtual function of an unknown card": {func(s *inventory.Snapshot) {
			virtual(s, fact.Unknown[ib.PCIAddress]("no physfn"))
			s.SSH.Devs = fact.Known([]string{"v0"})
		}, finding.PortCarriesHost, "comes in over v0, which may be of this port: no physfn."},
		"default route over a virtual function": {func(s *inventory.Snapshot) {
			virtual(s, fact.Known(address(t)))
			s.Netdevs[len(s.Netdevs)-1].DevPort = 1
			s.Routes.Default[0].Dev = "v0"
		}, finding.PortCarriesHost, "The default route of intel9 goes over v0."},
		"storage over a virtual function": {func(s *inventory.Snapshot) {
			virtual(s, fact.Known(address(t)))
			mount.Dev = fact.Known("v0")
			s.Storage = []inventory.Storage{mount}
		}, finding.PortCarriesHost, "is reached over v0."},
		"SRP over a virtual function": {func(s *inventory.Snapshot) {
			virtual(s, fact.Known(address(t)))
			s.Storage = []inventory.Storage{{Kind: "srp", What: "host3", RDMA: "mlx4_1"}}
		}, finding.PortCarriesHost, "srp host3 of intel9 is reached over mlx4_1."},
		"subnet manager": {func(s *inventory.Snapshot) { s.Cards[0].Ports[0].IsSM = fact.Unknown[bool]("no cap_mask") },
			finding.SubnetManagerOnCard, "not known: no cap_mask"},
		"state of the port": {func(s *inventory.Snapshot) { s.Cards[0].Ports[0].State = "" }, finding.PortUnknown, "no port 1"},
		"physical state": {func(s *inventory.Snapshot) { s.Cards[0].Ports[0].Physical = "" },
			finding.PortEnabledUnread, "is Active: its phys_state cannot be read"},
		"who the card is": {func(s *inventory.Snapshot) { s.Cards[0].NodeGUID = 0x0002c9000100d050 },
			finding.CardUndecided, "(it was not read), and its node GUID 0x0002c9000100d050 is not that of one card alone"},
		"operating system": {func(s *inventory.Snapshot) { s.OS = inventory.OS{} }, finding.PortUnsupported, "not supported"},
		"our unit": {func(s *inventory.Snapshot) { s.Denied = map[string]bool{UnitPath(address(t), 1): true} },
			finding.FileUnmanaged, "could not be read"},
	} {
		s := testHost(c.change)
		d := Request{Host: "intel9", Card: address(t), Number: 1}
		found := Check(s, d, Observe(s, d.Card, 1), PlanFacts{})
		switch {
		case c.rule == nil && len(found) > 0:
			t.Errorf("%s: %+v", name, found)
		case c.rule != nil && (len(found) != 1 || found[0].Rule != c.rule || found[0].Severity != c.rule.Severity ||
			!strings.Contains(found[0].Evidence, c.says)):
			t.Errorf("%s: want %s with %q: %+v", name, c.rule.Code, c.says, found)
		}
	}
}

// A port that another resource of the plan makes InfiniBand is checked at apply.
func TestCheck_port_that_the_plan_makes_InfiniBand(t *testing.T) {
	d := Request{Host: "intel9", Card: address(t), Number: 1}
	for rule, change := range map[*finding.Rule]func(*inventory.Port){
		finding.PortEthernet: func(p *inventory.Port) { p.LinkLayer = "Ethernet" },
		finding.PortUnknown:  func(p *inventory.Port) { p.State = "" },
	} {
		s := testHost(func(s *inventory.Snapshot) { change(&s.Cards[0].Ports[0]) })
		if found := Check(s, d, Observe(s, d.Card, 1), PlanFacts{InfiniBand: true}); len(found) > 0 {
			t.Errorf("%s: %+v", rule.Code, found)
		}
		if found := Check(s, d, Observe(s, d.Card, 1), PlanFacts{}); len(found) != 1 || found[0].Rule != rule {
			t.Errorf("%s: %+v", rule.Code, found)
		}
	}
}

// A card without GUIDs of its own is named by those that the plan makes run.
func TestCheck_name_of_the_card(t *testing.T) {
	s := testHost(func(s *inventory.Snapshot) { s.Cards[0].NodeGUID = 0 })
	d := Request{Host: "intel9", Card: address(t), Number: 1, Enabled: true}
	for _, restarts := range []bool{true, false} {
		found := Check(s, d, Observe(s, d.Card, 1), PlanFacts{Restarts: restarts})
		if refused := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Rule == finding.CardUndecided }); refused == restarts {
			t.Errorf("the card restarts: %v: %+v", restarts, found)
		}
	}
}

// A port of which nobody knows whether it is enabled may carry what a change would cut.
func TestCheck_may_be_enabled(t *testing.T) {
	s := testHost(func(s *inventory.Snapshot) {
		s.Cards[0].Ports[0].Physical, s.Cards[0].Ports[0].IsSM = "", fact.Known(true)
	})
	for _, enabled := range []bool{true, false} {
		d := Request{Host: "intel9", Card: address(t), Number: 1, Enabled: enabled}
		found := Check(s, d, Observe(s, d.Card, 1), PlanFacts{})
		if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Rule == finding.SubnetManagerOnCard }) {
			t.Errorf("enabled = %v: %+v", enabled, found)
		}
	}
}

func TestDifferences(t *testing.T) {
	widths, _ := ParseWidths([]string{"4X"})
	d := Request{Card: address(t), Number: 1, Enabled: true, Widths: widths}
	right := Observation{Present: true, Physical: "LinkUp", Stored: true, AtBoot: true, Setting: d,
		Link: &Link{WidthsEnabled: widths}}
	for name, c := range map[string]struct {
		change func(*Observation)
		want   string
	}{
		"as asked":     {func(*Observation) {}, ""},
		"disabled":     {func(o *Observation) { o.Physical = "Disabled" }, "it is disabled"},
		"unread":       {func(o *Observation) { o.Physical = "" }, "whether it is enabled is not known: its phys_state cannot be read"},
		"another":      {func(o *Observation) { o.Link = &Link{WidthsEnabled: 1} }, "it may negotiate 1X"},
		"not stored":   {func(o *Observation) { o.Stored = false }, "nothing sets it at boot"},
		"not at boot":  {func(o *Observation) { o.AtBoot = false }, "infiniband-port-0000:01:00.0-1.service is not enabled"},
		"other stored": {func(o *Observation) { o.Setting.Enabled = false }, "another setting is stored for the next boot"},
	} {
		o := right
		c.change(&o)
		if got := strings.Join(o.Differences(d), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Without the program that our script runs, no unit sets the port, and nobody has asked the port for
// its speeds. Where nobody has looked for it, neither is said: that it is there, or that it is not.
func TestCheck_without_ibportstate(t *testing.T) {
	speeds, _ := ParseSpeeds([]string{"SDR", "DDR"})
	set := Request{Host: "intel9", Card: address(t), Number: 1, Enabled: true, Speeds: speeds}
	for name, c := range map[string]struct {
		change func(*inventory.Snapshot)
		want   []string // the differences
		says   string   // packages that are to be installed
	}{
		"there": {func(*inventory.Snapshot) {}, nil, ""},
		"gone": {func(s *inventory.Snapshot) { s.Commands["ibportstate"] = false },
			[]string{"its speeds and widths cannot be read: ibportstate is not installed",
				"its unit cannot set it at boot: ibportstate is not installed"},
			"infiniband-diags"},
		"nobody looked": {func(s *inventory.Snapshot) { s.Commands = nil },
			[]string{"its speeds and widths cannot be read: nobody has looked for ibportstate",
				"its unit cannot set it at boot: nobody has looked for ibportstate"}, ""},
	} {
		s := testHost(func(s *inventory.Snapshot) {
			s.Files = map[string]inventory.File{
				scriptPath: {Content: script, Mode: "755"}, systemctl.BootLink(UnitName(set.Card, 1)): {},
				"/etc/modules-load.d/terraform-infiniband.conf": {Content: "ib_umad\nmlx4_ib\n"},
			}
			c.change(s)
		})
		d := set
		d.card = Observe(s, d.Card, 1).name
		s.Files[UnitPath(d.Card, 1)] = inventory.File{Content: unit(d, true)}
		o := Observe(s, d.Card, 1)
		if got := o.Differences(d); !slices.Equal(got, c.want) || o.AtBoot != (c.want == nil) {
			t.Errorf("%s: %q, at boot: %v", name, got, o.AtBoot)
		}
		if says := strings.Join(o.Packages, " "); says != c.says || !slices.Equal(o.Seen().Packages, o.Packages) {
			t.Errorf("%s: installs %q", name, says)
		}
		if text := d.Announce(o.Seen()); strings.HasPrefix(text, "installs ") != (c.says != "") ||
			!strings.HasSuffix(text, "writes "+scriptPath+", "+UnitPath(d.Card, 1)+"; enables "+UnitName(d.Card, 1)) {
			t.Errorf("%s: announced %q", name, text)
		}
		const list = "/etc/modules-load.d/terraform-infiniband.conf"
		s.Files[list] = inventory.File{Content: "ib_umad\n"}
		fresh := testHost(func(other *inventory.Snapshot) { other.Files = s.Files })
		if text := d.Announce(Observe(fresh, d.Card, 1).Seen()); !strings.Contains(text, UnitPath(d.Card, 1)+", "+list+"; enables ") {
			t.Errorf("%s: a list without a module: %q", name, text)
		}
	}
}
