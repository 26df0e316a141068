package safety

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

var guidCases = []struct {
	code     string
	severity finding.Severity
	name     string
	change   func(*GUIDInput)
}{
	{"GU001", finding.Refuse, "zero", func(in *GUIDInput) { in.Request.Want.Node = 0 }},
	{"GU001", finding.Refuse, "all ones", func(in *GUIDInput) { in.Request.Want.Port2 = ^ib.GUID(0) }},
	{"GU001", finding.Refuse, "multicast", func(in *GUIDInput) { in.Request.Want.Port1 |= 1 << 56 }},
	{"GU004", finding.Refuse, "base wraps", func(in *GUIDInput) { in.Request.BaseGUID = ^ib.GUID(0) - 1 }},
	{"GU004", finding.Refuse, "base MAC wraps", func(in *GUIDInput) { in.Request.BaseMAC = 0xfffffffffffe }},
	{"GU005", finding.Refuse, "digits are missing", func(in *GUIDInput) { in.Request.Want.Port1 = 1 }},
	{"GU005", finding.Warn, "invented prefix", func(in *GUIDInput) { in.Request.Want.Port1 = 0xe61d2dfffee44ed0 }},
	{"GU006", finding.Refuse, "port GUID of another card", func(in *GUIDInput) {
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: guidSet(in.Request.Want.Port1, 0)}}
	}},
	{"GU006", finding.Refuse, "MAC of a planned card", func(in *GUIDInput) {
		in.Lab.Cards = []clash.Holder{{Host: "intel9", PCI: there, Planned: true,
			GUIDs: ib.GUIDSet{MAC2: in.Request.Want.MAC1}}}
	}},
	{"GU016", finding.Refuse, "node GUID that another card still uses", func(in *GUIDInput) {
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: guidSet(in.Request.Want.Node, 0), Running: true}}
	}},
	{"GU016", finding.Refuse, "held, and a restart would use what another card uses", func(in *GUIDInput) {
		in.Request.Want, in.Waits, in.Request.Activation = in.Card.Flash.GUIDs, true, ActivationReboot
		in.Host.RebootAllowed = true
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: guidSet(in.Request.Want.Node, 0), Running: true}}
	}},
	{"GU016", finding.Warn, "held, while another card uses them", func(in *GUIDInput) {
		in.Request.Want = in.Card.Flash.GUIDs
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: guidSet(in.Request.Want.Node, 0), Running: true}}
	}},
	{"GU006", finding.Refuse, "bases too near", func(in *GUIDInput) {
		in.Request.BaseGUID = in.Request.Want.Node
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: ib.GUIDSet{Node: in.Request.Want.Node - 3}}}
	}},
	{"GU001", finding.Refuse, "group MAC", func(in *GUIDInput) { in.Request.Want.MAC1 = 0x010203040506 }},
	{"GU009", finding.Refuse, "ports equal", func(in *GUIDInput) { in.Request.Want.Port2 = in.Request.Want.Port1 }},
	{"GU010", finding.Refuse, "blank card, GUIDs only",
		func(in *GUIDInput) { in.Card.Flash.BlankGUIDs, in.Request.HasMACs = true, false }},
	{"GU011", finding.Note, "replaces", func(*GUIDInput) {}},
	{"GU005", finding.Warn, "invented MAC prefix", func(in *GUIDInput) { in.Request.Want.MAC1 = 0x020000000001 }},
	{"GU014", finding.Refuse, "ConnectX-4 that mstflint writes", func(in *GUIDInput) { laterGUIDs(in, 0x1013, "Legacy") }},
	{"GU014", finding.Refuse, "ConnectX-6 that mstflint writes", func(in *GUIDInput) { laterGUIDs(in, 0x101b, "Legacy") }},
	{"GU014", finding.Refuse, "ConnectX-7", func(in *GUIDInput) { laterGUIDs(in, 0x1021, "fw_ctrl") }},
	{"FW059", finding.Refuse, "ConnectX-4 of which nobody knows", func(in *GUIDInput) { laterGUIDs(in, 0x1013, "") }},
	{"FW059", finding.Refuse, "ConnectX-4 whose firmware is not reached", func(in *GUIDInput) {
		laterGUIDs(in, 0x1013, "fw_ctrl, but mstflint does not reach the running firmware")
	}},
	{"FW042", finding.Refuse, "secure ConnectX-4", func(in *GUIDInput) {
		laterGUIDs(in, 0x1013, "fw_ctrl")
		in.Card.Flash.SecurityAttrs = "secure-fw"
	}},
	{"GU006", finding.Refuse, "one that port 2 of a ConnectX-4 gets is near another's", func(in *GUIDInput) {
		laterGUIDs(in, 0x1013, "fw_ctrl")
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: ib.GUIDSet{Node: in.Request.Want.Node + 2}}}
	}},
	{"GU015", finding.Refuse, "one that port 2 of a ConnectX-4 gets is in the fabric", func(in *GUIDInput) {
		laterGUIDs(in, 0x1013, "fw_ctrl")
		in.Lab.Fabric = fact.Known([]clash.Node{{Name: "switch", Via: "a", GUIDs: []ib.GUID{in.Request.Want.Node + 1}}})
	}},
	{"FW046", finding.Warn, "MACs alone, on zero GUIDs", func(in *GUIDInput) {
		in.Request.HasGUIDs, in.Card.Flash.GUIDs.Node = false, 0
	}},
	{"FW049", finding.Warn, "MACs alone, on the GUIDs of another card", func(in *GUIDInput) {
		in.Request.HasGUIDs = false
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: ib.GUIDSet{Node: in.Card.Flash.GUIDs.Node}}}
	}},
	{"FW045", finding.Refuse, "image staged by somebody", func(in *GUIDInput) { runsVersion(&in.Card, fw242) }},
	{"FW045", finding.Refuse, "image staged by somebody, with GUIDs that wait for a restart", func(in *GUIDInput) {
		runsVersion(&in.Card, fw242)
		in.Request.Want, in.Waits, in.Request.Activation = in.Card.Flash.GUIDs, true, ActivationReboot
		in.Host.RebootAllowed = true
	}},
	{"FW055", finding.NeedsConsent, "what runs is not known", func(in *GUIDInput) { driverless(&in.Card) }},
	{"GU011", finding.Warn, "the same image with other GUIDs", func(in *GUIDInput) {
		in.Card.NodeGUID = in.Card.Flash.GUIDs.Node + 0x100
	}},
	{"GU011", finding.Warn, "the same image with another system image GUID", func(in *GUIDInput) {
		in.Card.NodeGUID, in.Card.SystemGUID = in.Card.Flash.GUIDs.Node, in.Card.Flash.GUIDs.Node
	}},
	{"FW025", finding.Refuse, "no PSID", func(in *GUIDInput) { in.Card.Flash.PSID = ""; runsPSID(&in.Card, "") }},
	{"GU015", finding.Refuse, "GUID of a node in the fabric", func(in *GUIDInput) {
		in.Lab.Fabric = fact.Known([]clash.Node{{Name: "printer", Via: "intel9 mlx4_0/1",
			GUIDs: []ib.GUID{in.Request.Want.Port2}}})
	}},
	{"GU015", finding.Refuse, "nobody could look at the fabric",
		func(in *GUIDInput) { in.Lab.Fabric = fact.Unknown[[]clash.Node]("ibnetdiscover hung") }},
	{"BK001", finding.Refuse, "no proven backup", func(in *GUIDInput) { in.Backup = &BackupFacts{} }},
	{"HO007", finding.Refuse, "reboot not allowed", func(in *GUIDInput) { in.Host.RebootAllowed = false }},
	{"HO008", finding.Refuse, "observe", func(in *GUIDInput) { in.Host.Observe = true }},
}

func TestGUIDs_findings(t *testing.T) {
	for _, c := range guidCases {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			in := goodGUIDs()
			c.change(&in)
			in.Request.Change = in.replaced()
			v := GUIDs(in)
			expectFinding(t, v.Findings, c.code, c.severity)
			if c.severity.Blocks() != v.Blocked() {
				t.Errorf("blocked is %t; findings %+v", v.Blocked(), v.Findings)
			}
		})
	}
}

// A fabric that nobody could look at matters only where GUIDs change.
func TestGUIDs_fabric_unseen(t *testing.T) {
	for name, change := range map[string]func(*GUIDInput){
		"nothing is written": func(in *GUIDInput) { in.Request.Want = in.Card.Flash.GUIDs },
		"MACs alone":         func(in *GUIDInput) { in.Request.HasGUIDs = false },
		"MACs, and GUIDs as they are": func(in *GUIDInput) {
			mac1, mac2 := in.Request.Want.MAC1, in.Request.Want.MAC2
			in.Request.Want = in.Card.Flash.GUIDs
			in.Request.Want.MAC1, in.Request.Want.MAC2 = mac1, mac2
		},
	} {
		in := goodGUIDs()
		change(&in)
		in.Request.Change = in.replaced()
		in.Lab.Fabric = fact.Unknown[[]clash.Node]("ibnetdiscover hung")
		if v := GUIDs(in); v.Blocked() {
			t.Errorf("%s: %+v", name, v.Blockers())
		}
	}
}

func TestGUIDs_keeps_the_half_not_asked_for(t *testing.T) {
	in := goodGUIDs()
	in.Request.HasMACs, in.Request.Want.MAC1, in.Request.Want.MAC2 = false, 0, 0
	in.Backup = goodBackup()
	v := GUIDs(in)
	if v.Blocked() || v.GUIDs.MAC1 != in.Card.Flash.GUIDs.MAC1 || v.GUIDs.Node != in.Request.Want.Node {
		t.Fatalf("verdict %+v", v)
	}
	if !v.Permits(ActionSetGUIDs, "intel9/0000:01:00.0") || len(v.Answers) != 1 || v.Answers[0] != QuestionGUIDs {
		t.Errorf("verdict %+v", v)
	}
}

func TestGUIDs_nothing_to_do(t *testing.T) {
	in := goodGUIDs()
	in.Request.Want = in.Card.Flash.GUIDs
	if v := GUIDs(in); v.Action != ActionNone || v.Blocked() {
		t.Errorf("verdict %+v", v)
	}
}

func TestGUIDs_do_not_clash_with_the_card_itself(t *testing.T) {
	in := goodGUIDs()
	in.Lab.Cards = []clash.Holder{{Host: "intel9", PCI: here, GUIDs: in.Request.Want},
		{Host: "xeon2zfs", PCI: here, GUIDs: guidSet(0xe41d2d0300e44ef0, 0xe41d2de44ef0)}}
	if v := GUIDs(in); v.Blocked() {
		t.Errorf("verdict %+v", v)
	}
}

// Valid values of this card alone become others with the consent that names them, and with no
// other one.
func TestGUIDs_replace_valid_values(t *testing.T) {
	flash, wish := goodCard().Flash.GUIDs, goodGUIDs().Request.Want
	all := GUIDChange{}
	for _, c := range flash.Changes(wish) {
		all.From, all.To = append(all.From, c.From), append(all.To, c.To)
	}
	for name, tt := range map[string]struct {
		change func(*GUIDInput)
		asks   int // how many values need consent
	}{
		"all of them":                 {func(*GUIDInput) {}, 6},
		"the MACs":                    {func(in *GUIDInput) { in.Request.HasGUIDs = false }, 2},
		"one GUID":                    {func(in *GUIDInput) { in.Request.Want = flash; in.Request.Want.Port2++ }, 1},
		"zero":                        {func(in *GUIDInput) { in.Card.Flash.GUIDs.Node = 0 }, 5},
		"all ones":                    {func(in *GUIDInput) { in.Card.Flash.GUIDs.SystemImage = ^ib.GUID(0) }, 5},
		"of no card":                  {func(in *GUIDInput) { in.Card.Flash.GUIDs.Node = 0x0002c9000100d050 }, 5},
		"node and system image equal": {func(in *GUIDInput) { in.Card.Flash.GUIDs.SystemImage = flash.Node }, 6},
		"equal ports":                 {func(in *GUIDInput) { in.Card.Flash.GUIDs.Port2 = in.Card.Flash.GUIDs.Port1 }, 4},
		"a broadcast":                 {func(in *GUIDInput) { in.Card.Flash.GUIDs.MAC2 = 1<<48 - 1 }, 5},
		"another card's":              {func(in *GUIDInput) { in.Lab.Cards = []clash.Holder{{Host: "x", PCI: here, GUIDs: flash}} }, 0},
		"planned for another card": {func(in *GUIDInput) {
			in.Lab.Cards = []clash.Holder{{Host: "x", PCI: here, GUIDs: flash, Planned: true}}
		}, 6},
		"of what may be the same card": {func(in *GUIDInput) {
			in.Lab.Cards = []clash.Holder{{Host: "x", PCI: here, GUIDs: flash}}
			in.Lab.SameMachine = func(string, string) fact.Bool { return fact.Unknown[bool]("no boot id") }
		}, 6},
		"our own": {func(in *GUIDInput) { in.Card.Writes = []IdentityWrite{{After: flash}} }, 0},
		"our own GUIDs, and the factory's MACs": {func(in *GUIDInput) {
			in.Card.Writes = []IdentityWrite{{Before: ib.GUIDSet{MAC1: flash.MAC1, MAC2: flash.MAC2}, After: flash}}
		}, 2},
		"put back after a hand": {func(in *GUIDInput) { in.Card.Writes = []IdentityWrite{{After: wish}} }, 0},
		"put back":              {func(in *GUIDInput) { in.Card.Writes = []IdentityWrite{{Before: wish, After: guidSet(1, 1)}} }, 0},
		"the factory's, put back by us": {func(in *GUIDInput) {
			in.Card.Writes = []IdentityWrite{{Before: flash, After: guidSet(1, 1)}, {Before: guidSet(1, 1), After: flash}}
		}, 6},
		"of an other job": {func(in *GUIDInput) { in.Card.Writes = []IdentityWrite{{After: guidSet(1, 1)}} }, 6},
		"after our burn":  {func(in *GUIDInput) { in.Card.Writes = []IdentityWrite{{Before: flash, After: flash}} }, 6},
	} {
		in := goodGUIDs()
		tt.change(&in)
		in.Request.Change = GUIDChange{}
		if got := len(in.replaced().From); got != tt.asks {
			t.Errorf("%s: %d values need consent, expected %d: %v", name, got, tt.asks, in.replaced())
		}
		if tt.asks > 0 {
			f := expectFinding(t, GUIDs(in).Findings, "GU011", finding.NeedsConsent)
			if f.Consent == "" {
				t.Errorf("%s: no line to add", name)
			}
		}
		twice := GUIDChange{From: append(slices.Clip(all.From), flash.Node.String()),
			To: append(slices.Clip(all.To), wish.SystemImage.String())}
		one := in.Card.InFlash().GUIDs.SystemImage == flash.Node // else the node has the choice between two
		for _, consent := range []GUIDChange{all, twice} {
			in.Request.Change = consent
			refused := slices.ContainsFunc(GUIDs(in).Findings, func(f finding.Finding) bool {
				return f.Rule == finding.GUIDsWouldChange && f.Severity.Blocks()
			})
			chooses := slices.Contains(in.replaced().From, flash.Node.String()) && one != (len(consent.From) > len(all.From))
			if tt.asks > 1 && refused != chooses {
				t.Errorf("%s: refused %t with %d pairs", name, refused, len(consent.From))
			}
		}
	}
}

var linkCases = []struct {
	code     string
	severity finding.Severity
	name     string
	change   func(*LinkTypeInput)
}{
	{"LT001", finding.Refuse, "EN by configuration", func(in *LinkTypeInput) { in.HasTypes = fact.Known(false) }},
	{"LT001", finding.Refuse, "EN by PSID", func(in *LinkTypeInput) {
		in.Served, in.HasTypes, in.StoredIn = fact.Known(false), fact.Unknown[bool]("no tool"), "modprobe.d"
		runsPSID(&in.Card, psidEN)
	}},
	{"LT001", finding.Refuse, "planned PSID is EN", func(in *LinkTypeInput) { in.PlannedPSID = psidEN }},
	{"FW041", finding.Refuse, "recovery mode", func(in *LinkTypeInput) { in.Card.Livefish = true }},
	{"LT002", finding.Refuse, "eth,ib", func(in *LinkTypeInput) { in.Request.Ports[1] = ib.LinkTypeETH }},
	{"LT002", finding.Refuse, "eth before a port that is ib", func(in *LinkTypeInput) { eth1(in, "ib", "ib") }},
	{"LT002", finding.Refuse, "eth before a port that has sensed ib", func(in *LinkTypeInput) { eth1(in, "auto (ib)", "auto") }},
	{"LT002", finding.Refuse, "eth before a port that is ib at boot", func(in *LinkTypeInput) { eth1(in, "eth", "ib") }},
	{"LT002", finding.Refuse, "as asked, and ib at boot", func(in *LinkTypeInput) {
		eth1(in, "eth", "eth")
		in.Current[1], in.Persisted = "eth", map[int]ib.LinkType{1: ib.LinkTypeETH, 2: ib.LinkTypeIB}
	}},
	{"LT002", finding.Refuse, "ib behind a port that is eth", func(in *LinkTypeInput) {
		delete(in.Request.Ports, 1)
		in.Unnamed = map[int]UnnamedPort{1: {AtBoot: ib.LinkTypeETH}}
	}},
	{"LT008", finding.Refuse, "eth before a port of no shown type", func(in *LinkTypeInput) {
		eth1(in, "", "")
		delete(in.Current, 2)
	}},
	{"LT003", finding.Refuse, "auto without mstconfig",
		func(in *LinkTypeInput) { in.Request.Ports[2], in.StoredIn = ib.LinkTypeAuto, "modprobe.d" }},
	{"LT004", finding.Refuse, "single port", func(in *LinkTypeInput) { delete(in.Current, 2) }},
	{"LT004", finding.Refuse, "port 3", func(in *LinkTypeInput) { in.Request.Ports[3] = ib.LinkTypeIB }},
	{"LT005", finding.Refuse, "qib",
		func(in *LinkTypeInput) { in.Card.Chip, in.Card.VendorID, in.Card.DeviceID = ib.Chip{}, 0x1077, 0x7322 }},
	{"LT001", finding.Refuse, "mlx5 without types", func(in *LinkTypeInput) { mlx5(in, nil) }},
	{"LT003", finding.Refuse, "mlx5 auto", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH})
		in.Request.Ports[1] = ib.LinkTypeAuto
	}},
	{"LT004", finding.Refuse, "mlx5 with one port", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH})
		in.Request.Ports[2] = ib.LinkTypeIB
	}},
	{"LT001", finding.Refuse, "mlx5 without types", func(in *LinkTypeInput) { mlx5(in, nil) }},
	{"LT005", finding.Refuse, "mlx5 without types, and InfiniBand", func(in *LinkTypeInput) {
		mlx5(in, nil)
		in.Current[1], in.Request.Ports[1] = "ib", ib.LinkTypeETH
	}},
	{"LT013", finding.Refuse, "mlx5 unread",
		func(in *LinkTypeInput) { mlx5(in, nil); in.HasTypes = fact.Unknown[bool]("no tool") }},
	{"LT013", finding.Refuse, "no answer", func(in *LinkTypeInput) { silenceMstconfig(in) }},
	{"LT013", finding.Refuse, "no answer, and all is as asked", func(in *LinkTypeInput) {
		silenceMstconfig(in)
		in.Current, in.Persisted = map[int]string{1: "ib", 2: "ib"}, in.Request.Ports
	}},
	{"LT008", finding.Refuse, "no answer and no driver", func(in *LinkTypeInput) {
		silenceMstconfig(in)
		in.Current = nil
	}},
	{"HO045", finding.Refuse, "no answer beside a burn by hand", func(in *LinkTypeInput) {
		silenceMstconfig(in)
		in.Card.InUse = []string{"mstflint"}
	}},
	{"LT008", finding.Refuse, "mlx5 to restart, not shown", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH})
		in.Current, in.Request.Activation = nil, ActivationReboot
	}},
	{"LT008", finding.Refuse, "mlx5 stored and to restart, not shown", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeIB})
		in.Current, in.Request.Activation = nil, ActivationReboot
	}},
	{"HO011", finding.Warn, "mlx5 waits", func(in *LinkTypeInput) { mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH}) }},
	{"HO007", finding.Refuse, "mlx5 may not restart", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH})
		in.Request.Activation, in.Host.RebootAllowed = ActivationReboot, false
	}},
	{"LT015", finding.Warn, "run time only", func(in *LinkTypeInput) {
		in.Current, in.Persisted = map[int]string{1: "ib", 2: "ib"}, map[int]ib.LinkType{1: ib.LinkTypeETH, 2: ib.LinkTypeIB}
	}},
	{"HO045", finding.Refuse, "burn by hand", func(in *LinkTypeInput) { in.Card.InUse = []string{"mstflint"} }},
	{"HO045", finding.Refuse, "burn by hand, mlx5", func(in *LinkTypeInput) {
		mlx5(in, nil)
		in.HasTypes, in.Card.InUse = fact.Unknown[bool]("busy: mstflint"), []string{"mstflint"}
	}},
	{"LT018", finding.Warn, "interface and subnet manager", loses},
	{"LT018", finding.Warn, "mlx5", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeIB})
		loses(in)
	}},
	{"HO009", finding.Warn, "subnet manager", func(in *LinkTypeInput) { in.Host.Cards = managedOn(1) }},
	{"HO009", finding.Warn, "subnet manager, mlx5 restarts", func(in *LinkTypeInput) {
		mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH})
		in.Request.Activation, in.Host.RebootAllowed, in.Host.Cards = ActivationReboot, true, managedOn(1)
	}},
	{"LT007", finding.NeedsConsent, "other card differs", func(in *LinkTypeInput) {
		in.StoredIn, in.Host.Cards = "modprobe.d", beside("eth", "eth")
	}},
	{"LT008", finding.Refuse, "no types", func(in *LinkTypeInput) { in.Current = nil }},
	{"LT007", finding.NeedsConsent, "other card differs on a port that is not named", func(in *LinkTypeInput) {
		eth1(in, "eth", "eth")
		in.StoredIn, in.Host.Cards = "modprobe.d", beside("eth", "ib")
	}},
	{"LT017", finding.Warn, "older copy in the initial RAM disk", func(in *LinkTypeInput) { in.StaleInitramfs = fact.Known(true) }},
	{"LT016", finding.Refuse, "kernel command line",
		func(in *LinkTypeInput) { in.Overrides = fact.Known([]string{"kernel command line has eth on port 1"}) }},
	{"LT016", finding.Refuse, "a line is not understood, and all is as asked", func(in *LinkTypeInput) {
		in.Current, in.Persisted = map[int]string{1: "ib", 2: "ib"}, in.Request.Ports
		in.Overrides = fact.Unknown[[]string]("a line of modprobe.d is not understood")
	}},
	{"HO035", finding.Refuse, "a file of others", func(in *LinkTypeInput) {
		in.StoredIn, in.NotOurs = "modprobe.d", "/etc/modprobe.d/terraform-infiniband.conf"
	}},
	{"LT020", finding.Warn, "a parameter over the card", overCard},
	{"LT007", finding.NeedsConsent, "other card differs, a parameter over the card", func(in *LinkTypeInput) {
		overCard(in)
		in.Host.Cards = beside("eth", "eth")
	}},
	{"HO034", finding.Warn, "a file with other lines", func(in *LinkTypeInput) {
		in.Current, in.Persisted = map[int]string{1: "ib", 2: "ib"}, in.Request.Ports
		in.StoredIn, in.Edited = "modprobe.d", "/etc/modprobe.d/terraform-infiniband.conf also has: a line"
	}},
	{"LT011", finding.Refuse, "nothing lasts", func(in *LinkTypeInput) { in.StoredIn, in.WhyNotStored = "", "no place" }},
	{"HO001", finding.NeedsConsent, "SSH on the other port",
		func(in *LinkTypeInput) { in.Host.SSH.Devs = fact.Known([]string{"enp1s0d1"}) }},
	{"HO002", finding.NeedsConsent, "default route", func(in *LinkTypeInput) {
		in.Host.Routes.Default = []inventory.DefaultRoute{{Dev: "enp1s0"}}
	}},
	{"HO008", finding.Refuse, "observe", func(in *LinkTypeInput) { in.Host.Observe = true }},
}

// overCard has a parameter of the driver that overrides what is stored in the card.
func overCard(in *LinkTypeInput) {
	in.StoredIn = "mstconfig"
	in.Parameter = LinkTypeParameter{Place: "kernel_extra_options", Has: "kernel_extra_options has eth on port 1"}
}

// eth1 asks for Ethernet on port 1 and does not name port 2.
func eth1(in *LinkTypeInput, two string, atBoot ib.LinkType) {
	in.Request.Ports = map[int]ib.LinkType{1: ib.LinkTypeETH}
	in.Current = map[int]string{1: "ib", 2: two}
	in.Unnamed = map[int]UnnamedPort{2: {AtBoot: atBoot}}
}

func TestLinkTypes_of_ports_that_are_not_named(t *testing.T) {
	for name, change := range map[string]func(*LinkTypeInput){
		"the other is Ethernet": func(in *LinkTypeInput) { eth1(in, "eth", "eth") },
		"there is no other": func(in *LinkTypeInput) {
			eth1(in, "", "")
			in.Unnamed, in.Current = nil, map[int]string{1: "ib"}
		},
		"the other was Ethernet at boot only, and is stored": func(in *LinkTypeInput) {
			eth1(in, "eth", "eth")
			in.Persisted = map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}
		},
		"the firmware is not there yet": func(in *LinkTypeInput) {
			eth1(in, "ib", "ib")
			in.PlannedPSID = psidVPI
			runsPSID(&in.Card, psidEN)
		},
	} {
		in := goodLink()
		change(&in)
		if v := LinkTypes(in); v.Blocked() || v.Action != ActionLinkTypes {
			t.Errorf("%s: %s %+v", name, v.Action, v.Findings)
		}
	}
}

// loses has port 1 go from InfiniBand to Ethernet under an interface.
func loses(in *LinkTypeInput) {
	in.Current[1], in.Request.Ports[1] = "auto (ib)", ib.LinkTypeETH
	delete(in.Request.Ports, 2)
	in.Uses = map[int][]string{1: {"IPoIB interface ibp1s0"}}
}

// A subnet manager is named once: by LT018 on a port that becomes Ethernet, by HO009 on the
// other one.
func TestLinkTypes_managersNamedOnce(t *testing.T) {
	in := goodLink()
	loses(&in)
	in.Host.Cards = managedOn(1, 2)
	if f := expectFinding(t, LinkTypes(in).Findings, "HO009", finding.Warn); f.Evidence != "Ports with a subnet manager: 2" {
		t.Errorf("HO009 says %q", f.Evidence)
	}
}

// A board for InfiniBand alone stores no types, and so does a tool that leaves them out. What
// its ports are already is nothing to refuse.
func TestLinkTypes_of_InfiniBand_alone(t *testing.T) {
	for _, change := range []func(*LinkTypeInput){
		func(in *LinkTypeInput) { mlx5(in, nil); in.Current[1] = "ib" },
		func(in *LinkTypeInput) { in.HasTypes, in.Current = fact.Known(false), map[int]string{1: "ib", 2: "ib"} },
	} {
		in := goodLink()
		change(&in)
		if v := LinkTypes(in); v.Blocked() {
			t.Errorf("%+v", v)
		}
	}
}

// silenceMstconfig has mstconfig give no answer.
func silenceMstconfig(in *LinkTypeInput) {
	in.Served, in.HasTypes = fact.Unknown[bool]("mstconfig did not answer in time"),
		fact.Unknown[bool]("mstconfig did not answer in time")
	in.StoredIn, in.WhyNotStored = "", "mstconfig did not answer in time"
}

// mlx5 makes the card a ConnectX-4 with one port that is Ethernet, and is wanted
// as InfiniBand.
func mlx5(in *LinkTypeInput, stored map[int]ib.LinkType) {
	in.Card.Chip, _ = ib.ChipByPCI(0x1013)
	in.Current, in.Persisted = map[int]string{1: "eth"}, stored
	in.HasTypes = fact.Known(stored != nil)
	in.Request.Ports = map[int]ib.LinkType{1: ib.LinkTypeIB}
}

func TestLinkTypes_ofAConnectX4(t *testing.T) {
	for name, c := range map[string]struct {
		current    string
		stored     ib.LinkType
		activation Activation
		action     Action
		how        Activation
	}{
		"as asked":                  {"ib", ib.LinkTypeIB, ActivationReboot, ActionNone, ActivationNone},
		"waits for a restart":       {"eth", ib.LinkTypeIB, ActivationNone, ActionNone, ActivationNone},
		"waits, and is to restart":  {"eth", ib.LinkTypeIB, ActivationReboot, ActionLinkTypes, ActivationReboot},
		"to store":                  {"eth", ib.LinkTypeETH, ActivationNone, ActionLinkTypes, ActivationNone},
		"to store and restart":      {"eth", ib.LinkTypeETH, ActivationReboot, ActionLinkTypes, ActivationReboot},
		"set back for the next one": {"ib", ib.LinkTypeETH, ActivationReboot, ActionLinkTypes, ActivationNone},
		"stored, not shown":         {"", ib.LinkTypeIB, ActivationNone, ActionNone, ActivationNone},
		"to store, not shown":       {"", ib.LinkTypeETH, ActivationNone, ActionLinkTypes, ActivationNone},
	} {
		in := goodLink()
		mlx5(&in, map[int]ib.LinkType{1: c.stored})
		if in.Current = nil; c.current != "" {
			in.Current = map[int]string{1: c.current}
		}
		in.Request.Activation, in.Host.RebootAllowed = c.activation, true
		v := LinkTypes(in)
		if v.Blocked() || v.Action != c.action || v.Activation != c.how && (c.how != ActivationNone || v.Activation != "") {
			t.Errorf("%s: action %v, activation %q, findings %+v", name, v.Action, v.Activation, v.Findings)
		}
	}
}

// What the card can store, and what it shows, is judged when the planned firmware runs.
func TestLinkTypes_judged_after_planned_firmware(t *testing.T) {
	for name, change := range map[string]func(in *LinkTypeInput){
		"ConnectX-3": func(*LinkTypeInput) {},
		"ConnectX-4": func(in *LinkTypeInput) { mlx5(in, map[int]ib.LinkType{1: ib.LinkTypeETH}) },
		"no answer":  silenceMstconfig,
	} {
		in := goodLink()
		change(&in)
		in.PlannedPSID = psidVPI
		runsPSID(&in.Card, psidEN)
		if v := LinkTypes(in); v.Blocked() || v.Action != ActionLinkTypes {
			t.Errorf("%s: action %v, findings %+v", name, v.Action, v.Findings)
		}
	}
}

func TestLinkTypes_findings(t *testing.T) {
	for _, c := range linkCases {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			in := goodLink()
			c.change(&in)
			v := LinkTypes(in)
			expectFinding(t, v.Findings, c.code, c.severity)
			if c.severity.Blocks() != v.Blocked() {
				t.Errorf("blocked is %t; findings %+v", v.Blocked(), v.Findings)
			}
		})
	}
}

func TestLinkTypes_nothing_to_do_only_if_it_lasts(t *testing.T) {
	in := goodLink()
	in.Current = map[int]string{1: "ib", 2: "ib"}
	if v := LinkTypes(in); v.Action != ActionLinkTypes {
		t.Errorf("types that do not last are done: %+v", v)
	}
	in.Persisted = map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}
	if v := LinkTypes(in); v.Action != ActionNone || v.Blocked() {
		t.Errorf("verdict %+v", v)
	}
}

// judgedRules are the rules of the catalogue that verdicts are made of.
func judgedRules() []*finding.Rule {
	return slices.DeleteFunc(finding.All(), func(r *finding.Rule) bool {
		return !slices.Contains([]string{"FW", "BK", "GU", "LT", "HO"}, r.Code[:2])
	})
}

// TestCatalogue_every_code_appears holds the tables above against the rules.
func TestCatalogue_every_code_appears(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range firmwareCases {
		seen[c.code] = true
	}
	for _, c := range restoreCases {
		seen[c.code] = true
	}
	for _, c := range guidCases {
		seen[c.code] = true
	}
	for _, c := range linkCases {
		seen[c.code] = true
	}
	seen[clash.Twice("infiniband_firmware", "a/0000:01:00.0", "a/0000:01:00.0", nil).Rule.Code] = true
	for _, r := range []*finding.Rule{
		finding.HostHasTwoNames,         // TestLab_oneMachineUnderTwoNames
		finding.RestartIntoDamagedFlash, // TestRestart_notIntoDamagedFlash
		// Found where the object is, not by a verdict.
		finding.ImageNotAsDeclared, finding.CardWithoutSerialNumber, finding.EarlierCardFailed, finding.ChangedSincePlan, finding.RestoreOfManagedCard,
		finding.FlashNotAsWritten, finding.ResumeOwed,
	} {
		seen[r.Code] = true
	}
	odd := goodImage()
	odd.Remarks = []string{"It is odd."}
	for _, f := range Remarks(odd) {
		seen[f.Rule.Code] = strings.Contains(f.Evidence, "It is odd.")
	}
	for _, r := range judgedRules() {
		if !seen[r.Code] {
			t.Errorf("no test makes %s (%s) appear", r.Code, r.Title)
		}
		if r.Title == "" || r.Meaning == "" || r.Severity.Blocks() && r.WayOut == "" {
			t.Errorf("%s lacks a title, a meaning or a way out", r.Code)
		}
	}
}

// /etc/rdma/mlx4.conf of the RHEL family has a line for each card.
func TestLinkTypes_mlx4_conf_is_per_card(t *testing.T) {
	in := goodLink()
	in.StoredIn, in.Host.Cards = "mlx4.conf", beside("eth", "eth")
	if v := LinkTypes(in); v.Blocked() {
		t.Errorf("%+v", v.Findings)
	}
	for _, f := range LinkTypes(in).Findings {
		if f.Rule == finding.OtherCardWouldChange {
			t.Errorf("%s: %s", f.Rule.Code, f.Evidence)
		}
	}
}

// The consent names the version into which GUIDs go unseen.
func TestGUIDs_without_a_driver(t *testing.T) {
	in := goodGUIDs()
	driverless(&in.Card)
	f := expectFinding(t, GUIDs(in).Findings, "FW055", finding.NeedsConsent)
	if want := `unproven_flash = "` + in.Card.Flash.FW.String() + `"`; f.Consent != want {
		t.Errorf("asks for %q, expected %q", f.Consent, want)
	}
	in.Request.UnprovenFlash = in.Card.Flash.FW.String()
	if v := GUIDs(in); v.Blocked() {
		t.Errorf("refused with the consent: %+v", v.Blockers())
	}
	in.Request.UnprovenFlash = "2.11.500"
	expectFinding(t, GUIDs(in).Findings, "FW055", finding.NeedsConsent)
}

// What a job has staged and somebody has damaged since waits for no restart.
func TestGUIDs_over_a_staged_image_that_is_damaged(t *testing.T) {
	in := goodGUIDs()
	runsVersion(&in.Card, fw242)
	in.Card.StagedBy, in.Card.Verified, in.Card.VerifyError = "20260101T000000Z-01_00.0-aaaaaaaa", VerifyBad, "bad CRC"
	expectFinding(t, GUIDs(in).Findings, "FW043", finding.Refuse)
}

// GUIDs that our own job has staged, that run, or of which nothing is shown, are not called
// somebody else's.
func TestGUIDs_staged_by_nobody_else(t *testing.T) {
	for name, change := range map[string]func(*CardFacts){
		"they run": func(c *CardFacts) { c.NodeGUID, c.SystemGUID = c.Flash.GUIDs.Node, c.Flash.GUIDs.SystemImage },
		"our own job": func(c *CardFacts) {
			c.NodeGUID, c.GUIDsBy = c.Flash.GUIDs.Node+0x100, "20260101T000000Z-0000-01-00-0-beef"
		},
		"the driver shows none": func(c *CardFacts) { c.NodeGUID = 0 },
		"Ethernet-only firmware": func(c *CardFacts) {
			c.NodeGUID, c.Flash.GUIDs.Node, c.Flash.GUIDs.SystemImage = 0xe41d2d0300e44fd0, ^ib.GUID(0), ^ib.GUID(0)
		},
	} {
		in := goodGUIDs()
		change(&in.Card)
		for _, f := range GUIDs(in).Findings {
			if f.Rule == finding.GUIDsWouldChange && f.Severity == finding.Warn {
				t.Errorf("%s: %s", name, f.Evidence)
			}
		}
	}
}

// Somebody may burn another image of the same version after our job, without a driver that shows
// what runs: only equal content is what the job wrote. Equal content is the same firmware,
// whoever burned it last.
func TestGUIDs_content_of_the_job(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wrote, holds, why string
		staged, started   bool
	}{
		"not asked":             {"abc", "", "", true, true},
		"equal":                 {"abc", "abc", "", true, true},
		"another one":           {"abc", "def", "", false, false},
		"unreadable":            {"abc", "", "mstflint checksum: timeout", false, false},
		"the job has not noted": {"", "abc", "", true, false},
	} {
		c := CardFacts{StagedBy: "J", StartedWith: "J", JobChecksum: tt.wrote, Checksum: tt.holds, ChecksumWhy: tt.why}
		if (c.staged() == "J") != tt.staged || (c.started() == "J") != tt.started {
			t.Errorf("%s: staged by %q, started with %q", name, c.staged(), c.started())
		}
	}
	in := goodGUIDs()
	driverless(&in.Card)
	in.Card.StartedWith, in.Card.JobChecksum, in.Card.Checksum = "J", "abc", "abc"
	expectFinding(t, GUIDs(in).Findings, "FW055", finding.Note)
	in.Card.Checksum = "def"
	expectFinding(t, GUIDs(in).Findings, "FW055", finding.NeedsConsent)
}

// laterGUIDs asks for other GUIDs on a later chip, with the consent to them.
func laterGUIDs(in *GUIDInput, device uint16, method string) {
	with := FirmwareInput{Card: in.Card}
	laterCard(&with, device).UpdateMethod = method
	in.Card = with.Card
	const guid, mac = ib.GUID(0xec0d9a030076eaf2), ib.MAC(0xec0d9a76eaf2)
	in.Request.Want = ib.GUIDSet{Node: guid, Port1: guid, SystemImage: guid, MAC1: mac}
	in.Request.OneBase, in.Request.BaseGUID, in.Request.BaseMAC = true, guid, mac
	for _, c := range in.Card.Flash.GUIDs.Changes(in.Request.Want) {
		in.Request.Change.From, in.Request.Change.To = append(in.Request.Change.From, c.From),
			append(in.Request.Change.To, c.To)
	}
}

// A later chip whose firmware takes GUIDs gets them without a question of the tool. The consent
// names the one GUID once.
func TestGUIDs_of_later_chips(t *testing.T) {
	for _, device := range []uint16{0x1013, 0x1015, 0x1017} {
		in := goodGUIDs()
		laterGUIDs(&in, device, "fw_ctrl")
		in.Backup = goodBackup()
		in.Backup.GUIDs = in.Card.Flash.GUIDs
		if v := GUIDs(in); !v.Permits(ActionSetGUIDs, "intel9/"+here.String()) || len(v.Answers) > 0 ||
			v.GUIDs != in.Request.Want {
			t.Errorf("%s: %+v, answers %q, %s", in.Card.Chip.Name, v.Blockers(), v.Answers, v.GUIDs.Text())
		}
		in.Request.Change = GUIDChange{}
		f := expectFinding(t, GUIDs(in).Findings, "GU011", finding.NeedsConsent)
		if want := `{ from = ["0xec0d9a030076eae2", "ec:0d:9a:76:ea:e2"], to = ["0xec0d9a030076eaf2", ` +
			`"ec:0d:9a:76:ea:f2"] }`; !strings.Contains(f.Consent, want) {
			t.Errorf("the consent is %s", f.Consent)
		}
		in.Card.Flash.GUIDs, in.Card.UpdateMethod = in.Request.Want, "Legacy"
		if v := GUIDs(in); v.Blocked() || v.Action != ActionNone {
			t.Errorf("what the card has is refused: %+v", v.Blockers())
		}
	}
}
