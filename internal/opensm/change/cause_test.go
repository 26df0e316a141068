package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
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
	return func(s *Symptoms) { s.Log = tool.ParseLog(text) }
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
			s.View = found.View{Ruled: fact.Known(true), Master: saquery.Manager{GUID: 9, Priority: 15, State: 3}}
		}), CauseOtherSM, []string{"priority 15", "0x0000000000000009"}},
		{"P_Keys", initialize(func(s *Symptoms) {
			s.Wrong = []Mismatch{{Port: testPort, Where: "intel9 0000:01:00.0 port 1",
				Wrong: []string{`is declared a limited (0x0001) member of partition "storage" and is a full (0x8001) one`},
				Have:  []uint16{0xffff, 0x8001}}}
		}, withLog("PARSE ERROR: line 2: no partition definition found\n")), CausePKey,
			[]string{`intel9 0000:01:00.0 port 1 (0xe41d2d0300e44ed1) is declared a limited (0x0001) member of partition "storage" and is a full`, "it has 0xffff, 0x8001", "PARSE ERROR: line 2", "systemctl cat opensm@0xe41d2d0300e44ed1.service"}},
		{"no answers", initialize(withLog("sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(SMInfo)\n")), CauseTimeouts, []string{"IB_TIMEOUT"}},
		// 0x1234 is what ibportstate leaves as SM LID; it is no subnet manager.
		{"placeholder of ibportstate", initialize(func(s *Symptoms) { s.Sysfs.SMLID = 0x1234 }), CauseSM,
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

// What sminfo says decides only what it proves, and for how much of the fabric.
func TestReadMaster(t *testing.T) {
	const failed = "sminfo: iberror: failed: query\n"
	refused := func(lid int) string {
		return fmt.Sprintf("ibwarn: [9] mad_rpc: MAD completed with error status 0xc; dport (Lid %d)\n", lid) + failed
	}
	silent := func(dport string) string {
		return "ibwarn: [9] mad_rpc: _do_madrpc failed; dport (" + dport + ")\n" + failed
	}
	own, other := found.PortState{LID: 3, SMLID: 3, IsSM: fact.Known(false)}, found.PortState{LID: 3, SMLID: 7}
	for name, c := range map[string]struct {
		port          found.PortState
		out           string
		ruled, listed string // "no", "yes", or why it is not known
	}{
		"never set up":               {found.PortState{}, silent("DR path slid 0; dlid 0; 0"), "no", "yes"},
		"own manager has ended":      {own, refused(3), "no", "yes"},
		"own manager, no answer":     {own, silent("Lid 3"), "no", "yes"},
		"another's has ended":        {other, refused(7), "no", "LID 7 has no subnet manager any more, so nobody"},
		"another's does not answer":  {other, silent("Lid 7"), "nobody answers sminfo at the SM LID", "yes"},
		"another's gives no reason":  {other, failed, "sminfo ended with status 255", "yes"},
		"another's has other errors": {other, strings.Replace(refused(7), "0xc", "0x1c", 1), "the error 0x1c", "yes"},
	} {
		v := found.View{Listed: fact.Known(true)}
		readMaster(&v, 255, c.out, c.port)
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
