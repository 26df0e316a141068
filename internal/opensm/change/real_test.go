package change

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

// The two adapters of ibsim's fabrics.
const (
	nodeA, nodeB = "H-e41d2d0300e44ed0", "H-e41d2d0300e44f10"
	portB        = 0xe41d2d0300e44f11
)

// realSM runs opensm with the files that Apply would write.
func realSM(f *ibsimtest.Fabric, node string, d opensm.Request) *ibsimtest.RunningSM {
	c := d.File()
	c.PartitionFile = "" // the rig names it on the command line
	sm := ibsimtest.SM{Priority: d.Priority, PortGUID: d.PortGUID.String(), Conf: c.Text(found.Header())}
	if len(d.Partitions) > 0 {
		sm.Partitions = tool.PartitionsText(found.Header(), d.Partitions)
	}
	return f.StartSM(node, sm)
}

func realPartitions() []opensm.Partition {
	all := []opensm.Partition{
		{Name: "Default", PKey: opensm.DefaultPKey, IPoIB: true, MTU: 4096, Rate: 400, SL: -1, Scope: -1,
			Members: []opensm.Member{{Port: "ALL", Membership: opensm.Full}}},
		{Name: "storage", PKey: 1, IPoIB: true, SL: -1, Scope: -1,
			Members: []opensm.Member{{Port: testPort.String(), Membership: opensm.Full}, {Port: "ALL_CAS", Membership: opensm.Limited}}},
	}
	opensm.SortPartitions(all)
	return all
}

func realKeys(t *testing.T, f *ibsimtest.Fabric, lid string) []uint16 {
	t.Helper()
	keys, err := smpquery.ParsePKeys(f.Run(nodeA, "smpquery", "pkeys", lid, "1").Stdout)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// The real opensm takes our files without a complaint, and the fabric has what
// they say, also after a change that is only signalled.
func TestReal_partitions(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	d := opensm.Request{Host: "a", PortGUID: testPort, Priority: 14, Partitions: realPartitions(), Tuning: opensm.Tuning{
		RoutingEngine: "updn", LogLevel: "info", LogMaxSize: 5, PollingTimeout: 1000, PollingRetries: 2,
		SubnetPrefix: 0xfec0000000000001,
	}}
	sm := realSM(f, nodeA, d).Wait("SUBNET UP")
	log := tool.ParseLog(sm.Output() + sm.Log())
	if len(log.Options) > 0 || log.Partitions != "" || log.Group != "" || len(log.States) == 0 ||
		log.States[len(log.States)-1] != "MASTER" {
		t.Errorf("opensm complains: %+v", log)
	}
	for _, option := range []string{"sm_priority = 14", "routing_engine = updn", "subnet_prefix = 0xfec0000000000001",
		"log_max_size = 5"} {
		if !strings.Contains(sm.Output(), option) {
			t.Errorf("opensm did not take %q:\n%s", option, sm.Output())
		}
	}
	// A is full member of both by its own entry, B limited by the keyword.
	for lid, want := range map[string][]uint16{"1": keysFor(d, testPort.String(), "SELF"),
		"3": keysFor(d, "0xe41d2d0300e44f11")} {
		if got := realKeys(t, f, lid); !slices.Equal(sortedKeys(got), want) {
			t.Errorf("LID %s: %04x, expected %04x", lid, got, want)
		}
	}
	groups, err := saquery.ParseGroups(f.Run(nodeA, "saquery", "-g").Stdout)
	if len(groups) != 2 || groups[0].MTU != 2048 || groups[1].MTU != 4096 || groups[1].Rate != 7 || err != nil {
		t.Errorf("groups: %+v, %v", groups, err)
	}

	after := d
	after.Partitions = slices.Clone(d.Partitions)
	after.Partitions[1].Members = []opensm.Member{{Port: "ALL", Membership: opensm.Full}}
	after.Priority = 9
	if tool.NeedsRestart(d.Conf(), after.Conf()) || !tool.SameGroups(d.Partitions, after.Partitions) {
		t.Fatal("the change is said to need a restart")
	}
	sm.Write("opensm.conf", "force_log_flush TRUE\n"+after.Conf().Text(found.Header()))
	sm.Write("partitions.conf", tool.PartitionsText(found.Header(), after.Partitions))
	sm.Signal(syscall.SIGHUP)
	sm.WaitFor("second sweep", func() bool { return strings.Count(sm.Log(), "SUBNET UP") == 2 })
	if got := realKeys(t, f, "3"); !slices.Equal(sortedKeys(got), []uint16{0x8001, 0xffff}) {
		t.Errorf("after SIGHUP B has %04x", got)
	}
	if info, err := sminfo.Parse(f.Run(nodeA, "sminfo").Stdout); err != nil || info.Priority != 9 {
		t.Errorf("after SIGHUP: %+v %v", info, err)
	}
}

// keysFor are the keys that an adapter's port is to have.
func keysFor(d opensm.Request, port string, more ...string) []uint16 {
	return tool.KeysOf(d.Partitions, port, append(more, "ALL", "ALL_CAS")...)
}

func sortedKeys(keys []uint16) []uint16 {
	slices.Sort(keys)
	return keys
}

// The real opensm takes all lines of a file with keys, and its log says what the proof of a change of keys rests on:
// the fabric is up, the standby with the same keys stands by, and one with another sm_key does not. No text of ours that
// is read from it has a key. What ports do with an M_Key ibsim does not show.
func TestReal_keys(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	keys := opensm.FabricKeys{Version: 3, Known: true, M: 0xa1b2c3d4e5000001, SM: 0xf6a7b8c9d0000001, SA: 0x1357924680000001,
		Protection: 1, Lease: 60}
	d := opensm.Request{PortGUID: testPort, Priority: 14, Keys: keys}
	master := realSM(f, nodeA, d).WaitLog("SUBNET UP")
	if log := tool.ParseLog(master.Output()); len(log.Options) > 0 {
		t.Errorf("opensm does not take: %q", log.Options)
	}
	for _, option := range []string{"m_key = 0xa1b2c3d4e5000001", "sm_key = 0xf6a7b8c9d0000001", "sa_key = 0x1357924680000001",
		"m_key_protection_level = 1", "m_key_lease_period = 0x003c"} {
		if !strings.Contains(master.Output(), option) {
			t.Errorf("opensm did not take %q:\n%s", option, master.Output())
		}
	}
	if text := tool.LogWithoutKeys(master.Output()); strings.Contains(text, "a1b2c3") || strings.Contains(text, "f6a7b8") ||
		strings.Contains(text, "135792") || !strings.Contains(text, "m_key = (value not shown)") {
		t.Errorf("a log with keys:\n%s", text)
	}
	standby := d
	standby.PortGUID, standby.Priority = portB, 5
	if log := tool.ParseLog(realSM(f, nodeB, standby).WaitLog("Entering STANDBY state").Log()); log.OtherKey {
		t.Error("the standby has the same key")
	}
	if info, err := sminfo.Parse(f.Run(nodeB, "sminfo").Stdout); err != nil || info.GUID != testPort {
		t.Errorf("the fabric does not answer: %+v %v", info, err)
	}
}

func TestReal_keys_differ(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	d := opensm.Request{PortGUID: testPort, Priority: 14, Keys: opensm.FabricKeys{Version: 1, Known: true, SM: 0xf6a7b8c9d0000001, SA: 1}}
	realSM(f, nodeA, d).WaitLog("SUBNET UP")
	d.PortGUID, d.Priority, d.Keys.SM = portB, 5, 0xf6a7b8c9d0000002
	log := tool.ParseLog(realSM(f, nodeB, d).WaitLog("non-matching sm_key").Log())
	if !log.OtherKey || slices.Contains(log.States, "STANDBY") {
		t.Errorf("%+v", log)
	}
	for _, line := range log.Errors {
		if strings.Contains(line, "f6a7b8") {
			t.Errorf("a key in %q", line)
		}
	}
}

// A standby takes over within the time that the plan states.
func TestReal_handOver(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	tuning := opensm.Tuning{PollingTimeout: 500, PollingRetries: 2}
	master := realSM(f, nodeB, opensm.Request{PortGUID: portB, Priority: 14, Tuning: tuning}).Wait("SUBNET UP")
	d := opensm.Request{PortGUID: testPort, Priority: 5, Tuning: tuning}
	standby := realSM(f, nodeA, d).Wait("Entering STANDBY state")
	died := time.Now()
	master.Kill()
	standby.Wait("Entering MASTER state")
	gap := time.Since(died)
	t.Logf("took over after %s; the plan says %s at most", gap.Round(10*time.Millisecond), d.HandOver())
	// The machine that runs this may be slow; twice is still the same order.
	if gap > 2*d.HandOver() {
		t.Errorf("took over after %s, stated are %s", gap, d.HandOver())
	}
}

func TestReal_causes(t *testing.T) {
	t.Run("duplicate", func(t *testing.T) {
		f := ibsimtest.Start(t, ibsimtest.Net(t, "duplicate-guid"))
		out := f.Run(nodeA, "ibnetdiscover")
		if m := duplicatePort.FindStringSubmatch(out.Stdout + out.Stderr); m == nil || m[1] != testPort.String() {
			t.Errorf("ibnetdiscover does not name the duplicate:\n%s%s", out.Stdout, out.Stderr)
		}
		sm := realSM(f, nodeA, opensm.Request{PortGUID: testPort}).WaitLog("is reachable from remote node")
		if got := findCause(initialize(withLog(sm.Log()))); got.Kind != CauseDuplicate {
			t.Errorf("%+v from\n%s", got, sm.Log())
		}
	})
	t.Run("zero", func(t *testing.T) {
		f := ibsimtest.Start(t, ibsimtest.Net(t, "zero-guid"))
		sm := realSM(f, nodeA, opensm.Request{PortGUID: testPort}).WaitLog("Got Zero Node GUID")
		if !tool.ParseLog(sm.Log()).ZeroGUID {
			t.Errorf("not seen in\n%s", sm.Log())
		}
	})
	t.Run("second on a port", func(t *testing.T) {
		f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
		sm := realSM(f, nodeA, opensm.Request{PortGUID: 0x42})
		if status := sm.Status(); status != 0 {
			t.Errorf("status %d", status)
		}
		if got := findCause(initialize(unbound, unit("activating"), withLog(sm.Output()))); got.Kind != CauseNotBound {
			t.Errorf("%+v from\n%s", got, sm.Output())
		}
	})
	t.Run("partitions with an error", func(t *testing.T) {
		f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
		sm := f.StartSM(nodeA, ibsimtest.SM{PortGUID: testPort.String(),
			Partitions: "Default=0x7fff, ipoib : ALL=limited ;\nbroken ;\n"}).Wait("SUBNET UP")
		if log := tool.ParseLog(sm.Output() + sm.Log()); !strings.Contains(log.Partitions, "PARSE ERROR") {
			t.Errorf("%+v\n%s", log, sm.Output())
		}
		if got := realKeys(t, f, "1"); !slices.Equal(got, []uint16{0xffff}) {
			t.Errorf("%04x: the file is dropped as a whole", got)
		}
	})
	t.Run("damaged cache", func(t *testing.T) {
		f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
		first := realSM(f, nodeA, opensm.Request{PortGUID: testPort}).Wait("SUBNET UP")
		first.Kill()
		first.Write("guid2lid", strings.Repeat("\x00", 40))
		again := f.StartSM(nodeA, ibsimtest.SM{PortGUID: testPort.String(), Dir: first.Dir}).Wait("FATAL")
		if got := findCause(initialize(unbound, unit("activating"), withLog(again.Output()))); got.Kind != CauseCache {
			t.Errorf("%+v from\n%s", got, again.Output())
		}
	})
}
