package opensm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// initialize is a port with a link that nobody has set up, with an SM bound.
func initialize(change ...func(*Symptoms)) Symptoms {
	s := Symptoms{Port: testPort, Unit: "active", HasUMAD: true, Kernel: "6.8.0-90-generic", Version: "3.3.23-3",
		Sysfs: sysfs.Port{State: "INIT", Physical: "LinkUp", LinkLayer: "InfiniBand", IsSM: true}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func withLog(text string) func(*Symptoms) {
	return func(s *Symptoms) { s.Log = opensm.ParseLog(text) }
}

func unbound(s *Symptoms) { s.Sysfs.IsSM = false }

func unit(state string) func(*Symptoms) { return func(s *Symptoms) { s.Unit = state } }

func physical(state string) func(*Symptoms) {
	return func(s *Symptoms) { s.Sysfs.Physical, s.Sysfs.State = state, "DOWN" }
}

// Each failure that users report leads to its cause: the texts are those of
// opensm 3.3.23 and of the port's state machine.
func TestFindCause(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Symptoms
		kind CauseKind
		text []string
	}{
		{"port in Ethernet mode", initialize(func(s *Symptoms) { s.Sysfs.LinkLayer = "Ethernet" }), CauseEthernet,
			[]string{"infiniband_link_type"}},
		{"kernel 6.11", initialize(unbound, unit("activating"),
			withLog("x -> osm_vendor_bind: ERR 5426: Unable to register class 129 version 1\nExiting SM\n")), CauseKernel,
			[]string{"Unable to register class 129", "Linux 6.8.0-90-generic", "3.3.23-3"}},
		{"cache after a power cut", initialize(unbound, unit("activating"),
			withLog("FATAL: Error restoring Guid-to-Lid persistent database\n")), CauseCache,
			[]string{"Guid-to-Lid", "mv /var/cache/opensm", "opensm@0xe41d2d0300e44ed1.service"}},
		{"keys after a power cut", initialize(unbound, unit("inactive"),
			withLog("FATAL: Error restoring Guid-to-Mkey persistent database\n")), CauseCache, []string{"Guid-to-Mkey"}},
		{"neighbours after a power cut",
			initialize(unbound, unit("inactive"),
				withLog("FATAL: Error restoring neighbor link persistent database\n")), CauseCache, []string{"neighbor"}},
		{"two cards of one image back to back",
			initialize(unbound, unit("activating"),
				withLog("Errors on subnet. Duplicate GUID found by link from a port to itself. See verbose opensm.log\n")),
			CauseBackToBack, []string{"same GUID", "infiniband_guids"}},
		{"ib_umad missing", initialize(unbound, unit("inactive"), func(s *Symptoms) { s.HasUMAD = false }), CauseUMAD,
			[]string{"modprobe ib_umad"}},
		{"umad said so", initialize(unbound, unit("activating"),
			withLog("ibwarn: [1] umad_init: can't read ABI version: is ib_umad module loaded?\n")), CauseUMAD,
			[]string{"/dev/infiniband/umad"}},
		{"another opensm", initialize(unbound, unit("activating"),
			withLog("Error from osm_opensm_bind (0x2A)\nPerhaps another instance of OpenSM is already running\nExiting SM\n")),
			CauseNotBound, []string{"pgrep -a opensm", "status 0"}},
		{"does not run", initialize(unbound, unit("inactive")), CauseNotRunning, []string{`"inactive"`}},
		{"no cable, or Ethernet at the other end", initialize(physical("Polling")), CauseCable,
			[]string{"cable", "Ethernet mode never answers"}},
		{"asleep", initialize(physical("Sleep")), CauseCable, []string{"no link"}},
		{"switched off", initialize(physical("Disabled")), CauseDisabled, []string{"ibportstate"}},
		{"training", initialize(physical("PortConfigurationTraining")), CauseTraining, []string{"PortConfigurationTraining"}},
		{"recovering", initialize(physical("LinkErrorRecovery")), CauseTraining, []string{"worn plug"}},
		{"duplicate GUID on a switch",
			initialize(withLog("ERR 0D01: Found duplicated node GUID.\nNode 0xe41d2d0300e44ed0 port 1 is reachable from remote node 0x1 port 1 and remote node 0x1 port 2.\n")),
			CauseDuplicate, []string{"0xe41d2d0300e44ed0", "ERR 0D01"}},
		{"duplicate seen by ibnetdiscover", initialize(func(s *Symptoms) { s.View.Duplicate = fact.Known([]ib.GUID{7}) }),
			CauseDuplicate, []string{"0x0000000000000007"}},
		{"zero GUID", initialize(withLog("ERR 0D16: Got Zero Node GUID! Found on the directed route:\n")), CauseZeroGUID,
			[]string{"ERR 0D16", "infiniband_guids"}},
		{"runs unbound", initialize(unbound), CauseNotBound, []string{"without being bound"}},
		{"foreign master", initialize(func(s *Symptoms) {
			s.View = View{Ruled: fact.Known(true), Master: saquery.Manager{GUID: 9, Priority: 15, State: 3}}
		}), CauseOtherSM, []string{"priority 15", "0x0000000000000009"}},
		{"P_Keys", initialize(func(s *Symptoms) {
			s.Wrong = []Mismatch{{Port: testPort, Where: "intel9 0000:01:00.0 port 1",
				Wrong: []string{`is declared a limited (0x0001) member of partition "storage" and is a full (0x8001) one`},
				Have:  []uint16{0xffff, 0x8001}}}
		}, withLog("PARSE ERROR: line 2: no partition definition found\n")), CausePKey,
			[]string{`intel9 0000:01:00.0 port 1 (0xe41d2d0300e44ed1) is declared a limited (0x0001) member of partition "storage" and is a full`, "it has 0xffff, 0x8001", "PARSE ERROR: line 2", "systemctl cat opensm@0xe41d2d0300e44ed1.service"}},
		{"no answers", initialize(withLog("sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(SMInfo)\n")), CauseTimeouts, []string{"IB_TIMEOUT"}},
		// 0x1234 is what ibportstate leaves as SM LID; it is no subnet manager.
		{"placeholder of ibportstate", initialize(func(s *Symptoms) { s.Sysfs.SMLID = placeholderLID }), CauseSM,
			[]string{"does not bring the fabric up"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := findCause(tt.s)
			if got.Kind != tt.kind {
				t.Errorf("cause %q, expected %q", got.Kind, tt.kind)
			}
			for _, part := range tt.text {
				if !strings.Contains(got.What+" "+got.Check, part) {
					t.Errorf("want %q in: %s %s", part, got.What, got.Check)
				}
			}
		})
	}
}

func TestObserved_Served(t *testing.T) {
	for _, tt := range []struct {
		o    Observation
		want bool
	}{{Observation{}, false}, {Observation{SMLID: 1}, true}, {Observation{SMLID: placeholderLID, State: "Initializing"}, false},
		{Observation{SMLID: placeholderLID, State: "Active"}, true}} {
		if got := tt.o.Served(); got != tt.want {
			t.Errorf("%+v: %t", tt.o, got)
		}
	}
}

func TestCheckFabric(t *testing.T) {
	d := Request{Host: "intel9", PortGUID: testPort, Priority: 5}
	view := View{Ruled: fact.Known(true), Listed: fact.Known(true), Duplicate: fact.Known[[]ib.GUID](nil),
		Managers: []saquery.Manager{{LID: 1, GUID: testPort, Priority: 5, State: 3}, {LID: 2, GUID: 1, Priority: 5, State: 2},
			{LID: 3, GUID: 2, Priority: 1, State: 2}, {LID: 4, GUID: 3, Priority: 9, State: 2}}}
	found := CheckFabric(d, view, Lab{Known: map[ib.GUID]string{2: "pve1 port 1", 3: "pve2 port 1"},
		Ours: map[ib.GUID]bool{2: true}})
	if len(found) != 2 || found[0].Rule != finding.SubnetManagerCompetes ||
		!strings.Contains(found[0].Evidence, "the other one rules by its lower GUID") {
		t.Errorf("findings: %+v", found)
	}
	// Somebody started it by hand on a managed host.
	if want := "The subnet manager on port 0x0000000000000003 (pve2 port 1, LID 4) has priority 9 and is standby; this one has 5: the other one rules."; found[1].Evidence != want {
		t.Errorf("got %s\nwant %s", found[1].Evidence, want)
	}
	found = CheckFabric(d, View{Ruled: fact.Known(false), Listed: fact.Known(true), Duplicate: fact.Known([]ib.GUID{3})},
		Lab{})
	if len(found) != 1 || found[0].Rule != finding.FabricGUIDTwice || !found[0].Severity.Blocks() {
		t.Errorf("findings: %+v", found)
	}
}

// Only a master hands a fabric over.
func TestCheckFabric_lowerPriority(t *testing.T) {
	for state, want := range map[int]string{2: "is standby; this one has 5: this one rules.",
		3: "is master; this one has 5: this one takes over from it."} {
		found := CheckFabric(Request{PortGUID: testPort, Priority: 5}, View{Ruled: fact.Known(true), Listed: fact.Known(true),
			Duplicate: fact.Known[[]ib.GUID](nil), Managers: []saquery.Manager{{LID: 2, GUID: 1, Priority: 1, State: state}}}, Lab{})
		if len(found) != 1 || !strings.HasSuffix(found[0].Evidence, want) {
			t.Errorf("got %+v, want %q", found, want)
		}
	}
}

// What could not be asked is said, as loud as the answer would have been.
func TestCheckFabric_unknown(t *testing.T) {
	d := Request{Host: "intel9", PortGUID: testPort, Priority: 5}
	none, all := fact.Known(false), fact.Known(true)
	no := fact.Known[[]ib.GUID](nil)
	for name, c := range map[string]struct {
		v          View
		code, text string
		severity   finding.Severity
	}{
		"whether one rules": {View{Ruled: fact.Unknown[bool]("sminfo ended with status 1: sudo: a password is required"),
			Listed: all, Duplicate: no},
			"SM028", "sudo: a password is required", finding.Warn},
		"which others there are": {View{Ruled: all, Master: saquery.Manager{GUID: testPort, State: 3},
			Listed: fact.Unknown[bool]("saquery SMIR ended with status 255: timeout"), Duplicate: no},
			"SM028", "saquery SMIR ended with status 255: timeout", finding.Warn},
		"whether a GUID is there twice": {View{Ruled: none, Listed: all,
			Duplicate: fact.Unknown[[]ib.GUID]("ibnetdiscover ended with status 255: discover failed")},
			"SM019", "ibnetdiscover ended with status 255: discover failed", finding.Refuse},
		"later": {View{NotReady: "infiniband-diags is not installed"}, "SM009", "infiniband-diags is not installed",
			finding.Note},
	} {
		found := CheckFabric(d, c.v, Lab{})
		if len(found) != 1 || found[0].Rule.Code != c.code || found[0].Severity != c.severity ||
			!strings.Contains(found[0].Evidence, c.text) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := CheckFabric(d, View{}, Lab{}); len(found) == 0 || !found[0].Severity.Blocks() {
		t.Errorf("a view that nobody filled: %+v", found)
	}
}

// What sminfo says decides only what it proves, and for how much of the fabric.
func TestView_master(t *testing.T) {
	const failed = "sminfo: iberror: failed: query\n"
	refused := func(lid int) string {
		return fmt.Sprintf("ibwarn: [9] mad_rpc: MAD completed with error status 0xc; dport (Lid %d)\n", lid) + failed
	}
	silent := func(dport string) string {
		return "ibwarn: [9] mad_rpc: _do_madrpc failed; dport (" + dport + ")\n" + failed
	}
	own, other := inventory.Port{LID: 3, SMLID: 3, IsSM: fact.Known(false)}, inventory.Port{LID: 3, SMLID: 7}
	for name, c := range map[string]struct {
		port          inventory.Port
		out           string
		ruled, listed string // "no", "yes", or why it is not known
	}{
		"never set up":               {inventory.Port{}, silent("DR path slid 0; dlid 0; 0"), "no", "yes"},
		"own manager has ended":      {own, refused(3), "no", "yes"},
		"own manager, no answer":     {own, silent("Lid 3"), "no", "yes"},
		"another's has ended":        {other, refused(7), "no", "LID 7 has no subnet manager any more, so nobody"},
		"another's does not answer":  {other, silent("Lid 7"), "nobody answers sminfo at the SM LID", "yes"},
		"another's gives no reason":  {other, failed, "sminfo ended with status 255", "yes"},
		"another's has other errors": {other, strings.Replace(refused(7), "0xc", "0x1c", 1), "the error 0x1c", "yes"},
	} {
		v := View{Listed: fact.Known(true)}
		v.master(255, c.out, &c.port)
		for what, f := range map[string]struct {
			got  fact.Bool
			want string
		}{"ruled": {v.Ruled, c.ruled}, "listed": {v.Listed, c.listed}} {
			got := map[bool]string{true: "yes", false: "no"}[fact.Yes(f.got)]
			if !f.got.Known() {
				got = f.got.Why()
			}
			if !strings.Contains(got, f.want) {
				t.Errorf("%s: %s %q, want %q", name, what, got, f.want)
			}
		}
	}
}

func TestLint(t *testing.T) {
	standard := Partition{Name: "Default", PKey: DefaultPKey, IPoIB: true,
		Members: []Member{{Port: "ALL", Membership: Full}}}
	ports := map[string]MemberPort{"0x1": {Where: "a", MTU: 2048, Rate: 400}}
	for _, tt := range []struct {
		name  string
		all   []Partition
		codes string
		text  string
	}{
		{"none", nil, "", ""},
		{"good", []Partition{standard}, "", ""},
		{"no default", []Partition{{Name: "a", PKey: 1, Members: []Member{{Port: "ALL", Membership: Full}}}}, "SM013",
			"a and no"},
		{"limited default", []Partition{{Name: "Default", PKey: DefaultPKey, IPoIB: true,
			Members: []Member{{Port: "ALL", Membership: Limited}, {Port: "SELF", Membership: Full}}}}, "SM014", "full members"},
		{"one key twice", []Partition{standard, {Name: "a", PKey: 1, Members: []Member{{Port: "ALL", Membership: Full}}},
			{Name: "b", PKey: 1, Members: []Member{{Port: "ALL", Membership: Full}}}}, "SM015", "0x8001"},
		{"one port twice", []Partition{standard,
			{Name: "a", PKey: 1, Members: []Member{{Port: "0x1", Membership: Full}, {Port: "0x1", Membership: Limited}}}},
			"SM015", "twice"},
		{"MTU of a member", []Partition{standard,
			{Name: "a", PKey: 1, IPoIB: true, MTU: 4096, Members: []Member{{Port: "0x1", Membership: Full}}}}, "SM016",
			"IB MTU 2048, the group 4096"},
		{"MTU of somebody", []Partition{{Name: "Default", PKey: DefaultPKey, IPoIB: true, MTU: 4096,
			Members: []Member{{Port: "ALL", Membership: Full}}}}, "SM016", "IB MTU 2048"},
		{"rate", []Partition{standard,
			{Name: "a", PKey: 1, IPoIB: true, Rate: 560, Members: []Member{{Port: "0x1", Membership: Full}}}}, "SM016",
			"40 Gb/s, the group 56"},
		{"limited only", []Partition{standard,
			{Name: "a", PKey: 1, Members: []Member{{Port: "0x1", Membership: Limited}, {Port: "0x2", Membership: Limited}}}},
			"SM017", "0x1 (a), 0x2"},
		{"a single limited one", []Partition{standard,
			{Name: "a", PKey: 1, Members: []Member{{Port: "0x1", Membership: Limited}}}}, "", ""},
	} {
		var codes, text []string
		for _, f := range Lint(tt.all, ports, 0) {
			codes, text = append(codes, f.Rule.Code), append(text, f.Evidence)
		}
		if strings.Join(codes, " ") != tt.codes || !strings.Contains(strings.Join(text, " "), tt.text) {
			t.Errorf("%s: %v %v", tt.name, codes, text)
		}
	}
}
