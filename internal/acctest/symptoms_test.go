package acctest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

// shown are the tests that show what no plan shows: by what the provider says, the
// file, the test, and a word that the test holds it by.
var shown = map[string][3]string{
	"cause link type": {"../opensm/change/cause_test.go", "TestFindCause", "CauseEthernet"},
	"cause not running": {"../ipoib/change/opensm_lab_test.go", "TestLab_OpenSM_namesWhatOpensmSays",
		"change.CauseNotRunning"},
	"cause not bound": {"../ipoib/change/opensm_lab_test.go", "TestLab_OpenSM_namesWhatOpensmSays",
		"change.CauseNotBound"},
	"cause kernel": {"../ipoib/change/opensm_lab_test.go", "TestLab_OpenSM_namesWhatOpensmSays",
		"change.CauseKernel"},
	"cause cache": {"../opensm/change/real_test.go", "TestReal_causes", "CauseCache"},
	"cause umad": {"../ipoib/change/opensm_lab_test.go", "TestLab_OpenSM_namesWhatOpensmSays",
		"change.CauseUMAD"},
	"cause zero GUID":      {"../opensm/change/cause_test.go", "TestFindCause", "CauseZeroGUID"},
	"SM005":                {"twosm_test.go", "TestTwoManagers_equalPriority", `"SM005"`},
	"SM026":                {"isolation_test.go", "TestSM_subnet_prefix", `"SM026"`},
	"cause SM":             {"../opensm/change/cause_test.go", "TestFindCause", "CauseSM"},
	"cause cable":          {"twosm_test.go", "TestSM_repeated_without_a_cable", "cause: cable"},
	"cause disabled":       {"kernels_oddfabric_test.go", "TestKernels_odd_fabric", "cause: disabled"},
	"cause training":       {"../opensm/change/cause_test.go", "TestFindCause", "CauseTraining"},
	"cause other SM":       {"../opensm/change/cause_test.go", "TestFindCause", "CauseOtherSM"},
	"cause duplicate GUID": {"../opensm/change/real_test.go", "TestReal_causes", "CauseDuplicate"},
	"cause duplicate GUID, back to back": {"../ipoib/change/opensm_lab_test.go", "TestLab_OpenSM_namesWhatOpensmSays",
		"change.CauseBackToBack"},
	"cause P_Key":                          {"isolation_test.go", "TestSM_isolation_that_is_not_in_force", "cause: P_Key"},
	"infiniband_connectivity no_interface": {"symptoms_test.go", "TestSymptoms_of_a_pair", "no_interface"},
	"infiniband_connectivity no_sm":        {"symptoms_test.go", "TestSymptoms_of_a_pair", "no_sm"},
	"infiniband_connectivity no_carrier":   {"symptoms_test.go", "TestSymptoms_of_a_pair", "no_carrier"},
	"infiniband_connectivity mode":         {"symptoms_test.go", "TestSymptoms_of_a_pair", "mode: "},
	"infiniband_connectivity mtu":          {"symptoms_test.go", "TestSymptoms_of_a_pair", "mtu: "},
	"infiniband_connectivity oversized":    {"connectivity_test.go", "TestConnectivity_of_the_two_hosts", "oversized"},
	"infiniband_connectivity partition":    {"isolation_test.go", "TestConnectivity_of_a_partition", "partition"},
	"infiniband_connectivity loss": {"../connectivity/connectivity_test.go", "TestJudge_names_the_cause",
		`"loss"`},
	"infiniband_fabric no_sm":  {"symptoms_test.go", "TestSymptoms_of_a_fabric", "no_sm"},
	"infiniband_fabric silent": {"../fabric/ibsim_test.go", "TestObserve_duplicateAndZeroGUIDs", "silent"},
	"infiniband_fabric duplicate_guid": {"../fabric/ibsim_test.go", "TestObserve_duplicateAndZeroGUIDs",
		"duplicate_guid"},
	"infiniband_fabric no_link":  {"fabric_test.go", "TestFabric_through_a_port_without_a_link", "no_link: "},
	"infiniband_fabric missing":  {"fabric_test.go", "TestFabric_of_the_two_hosts", "missing: "},
	"infiniband_fabric degraded": {"symptoms_test.go", "TestSymptoms_of_a_fabric", "degraded"},
	"infiniband_fabric errors":   {"fabric_test.go", "TestFabric_of_the_two_hosts", "errors: "},
	"infiniband_fabric growing":  {"fabric_test.go", "TestFabric_of_the_two_hosts", "growing: "},
	"BM004":                      {"benchmark_test.go", "TestBenchmark_life", "BM004"},
	"SM034":                      {"smrunning_test.go", "TestSM_runs_with_something_else", "SM034"},
}

// Every symptom of the troubleshooting guide leads to what the provider says of
// it, and a test shows that it does.
func TestSymptoms_each_is_named(t *testing.T) {
	t.Parallel()
	inPlan := map[string]bool{}
	for _, c := range findings() {
		inPlan[c.code] = true
	}
	used := map[string]bool{}
	rows, named, quiet := 0, 0, 0
	for _, part := range symptom.Parts() {
		for _, r := range part.Rows {
			rows++
			switch {
			case r.Named():
				named++
			case r.Quiet != "":
				quiet++ // TestSymptoms_new_hardware_address
			default:
				t.Errorf("row %d (%s) leads nowhere", r.Number, r.Seen)
			}
			for _, lead := range leads(r) {
				used[lead] = true
				if !inPlan[lead] && !holds(t, shown[lead]) {
					t.Errorf("row %d: no test shows %s", r.Number, lead)
				}
			}
		}
	}
	for lead := range shown {
		if !used[lead] {
			t.Errorf("%s belongs to no symptom", lead)
		}
	}
	t.Logf("%d of %d symptoms are named, %d need no message", named, rows, quiet)
}

func leads(r symptom.Row) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Code)
	}
	for _, c := range r.Causes {
		all = append(all, "cause "+string(c))
	}
	for _, k := range r.Connectivity {
		all = append(all, "infiniband_connectivity "+k)
	}
	for _, k := range r.Fabric {
		all = append(all, "infiniband_fabric "+k)
	}
	return all
}

// holds looks a test up in its file.
func holds(t *testing.T, where [3]string) bool {
	t.Helper()
	if where[0] == "" {
		return false
	}
	text, err := os.ReadFile(where[0])
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(text), "\nfunc "+where[1]+"(")
	body, _, _ = strings.Cut(body, "\n}\n")
	return found && strings.Contains(body, where[2])
}

// The one symptom without a message: another queue number in the hardware
// address, as each load of the driver brings it, is no difference.
func TestSymptoms_new_hardware_address(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	inter := ipoib(labs.Intel9, nil)[0]
	inter.After = []string{"infiniband_opensm.it"}
	cfg := append(sm(labs.Intel9, nil), inter)
	mustApply(t, ws, cfg)
	w.Machine(labs.Intel9).UpdateNetdev("ibp1s0", func(d *labsim.Netdev) { d.Address[3]++ })
	fresh := w.Workspace()
	fresh.State = ws.State
	emptyPlan(t, fresh, cfg)
}

// What a pair of hosts shows, each thing by itself.
func TestSymptoms_of_a_pair(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	const here, there = "ibp1s0", "ibs4"
	up := func(mode string, mtu int) func() {
		return func() {
			w.Run(labs.Intel9, fmt.Sprintf("echo %s > /sys/class/net/%s/mode; ip link set dev %[2]s mtu %d up", mode, here, mtu))
		}
	}
	w.Run(labs.Intel9, "ip addr add 172.16.0.20/24 dev "+here)
	w.Run(labs.Xeon2zfs, "ip addr add 172.16.0.10/24 dev "+there+"; echo connected > /sys/class/net/"+there+
		"/mode; ip link set dev "+there+" mtu 9216 up")
	for _, c := range []struct {
		name    string
		prepare func()
		attrs   map[string]any
		says    string
	}{
		{"no subnet manager", up("connected", 9216), nil,
			"no_sm: Port 1 of card 0000:01:00.0 in intel9 has a link and is Initializing: no subnet manager has set it up."},
		{"renamed", func() { w.Manage(labs.Xeon2zfs, 3) }, map[string]any{"from_interface": "ib0"},
			"no_interface: intel9 has no interface ib0; it has ibp1s0 (port 0xe41d2d0300e44ed1)"},
		{"modes", up("datagram", 2044), nil,
			"mode: ibp1s0 of intel9 is in datagram mode and ibs4 of xeon2zfs in connected mode"},
		{"MTUs", up("connected", 4000), nil, "mtu: ibp1s0 of intel9 has MTU 4000 and ibs4 of xeon2zfs has 9216"},
		{"no cable", func() { w.Disconnect(labsim.CardEnd(labs.Intel9, "0000:01:00.0", 1)) }, nil,
			"no_carrier: Port 1 of card 0000:01:00.0 in intel9 has no link (Polling): cable"},
	} {
		c.prepare()
		attrs := map[string]any{"from_interface": here, "packets": 1}
		for k, v := range c.attrs {
			attrs[k] = v
		}
		if _, problems := measurePing(t, w.Workspace(), attrs); !strings.Contains(problems, c.says) {
			t.Errorf("%s: want %q in\n%s", c.name, c.says, problems)
		}
	}
}

// What a fabric shows of links that are slow, and without a subnet manager.
func TestSymptoms_of_a_fabric(t *testing.T) {
	t.Parallel()
	look := func(t *testing.T, w *Lab) string {
		t.Helper()
		v, diags, err := w.Workspace().Data(context.Background(), "infiniband_fabric", map[string]any{"host": labs.Intel9})
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		return messages(t, v)
	}
	for _, c := range []struct {
		name   string
		change func(*labs.Host)
		manage bool
		says   string
	}{
		{"no subnet manager", func(*labs.Host) {}, false, "no_sm: "},
		{"four lanes", func(h *labs.Host) { h.Cards[0].LinkWidth = 4 }, true,
			"carries x4 at 8.0 GT/s, 31.5 Gb/s, less than the link's 54.5 Gb/s; the card can do x8 at 8.0 GT/s."},
		{"old slot", func(h *labs.Host) { h.Cards[0].SlotSpeed = "5.0 GT/s PCIe" }, true,
			"carries x8 at 5.0 GT/s, 32 Gb/s, less than the link's 54.5 Gb/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi(c.change)})
			drivers(w)
			w.Install(labs.Intel9, "infiniband-diags")
			if c.manage {
				w.Manage(labs.Xeon2zfs, 3)
			}
			kind := cmp.Or(map[bool]string{true: "degraded: "}[c.manage], c.says)
			if m := look(t, w); !strings.Contains(m, c.says) || !strings.Contains(m, kind) {
				t.Errorf("want %q and %q in\n%s", kind, c.says, m)
			}
		})
	}
}
