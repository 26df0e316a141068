package fabric

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// node runs the scripts on a node of ibsim, as the transport would.
type node struct {
	f  *ibsimtest.Fabric
	id string
}

func (n node) Name() string { return n.id }

func (n node) Run(_ context.Context, cmd shellcmd.Command) (host.Result, error) {
	argv := cmd.Argv()
	text := map[string]string{"fabric-walk": walkScript, "fabric-ports": portsScript,
		"fabric-clear": clearScript}[argv[0]]
	if !cmd.IsScript() {
		r := n.f.Run(n.id, argv[0], argv[1:]...)
		return host.Result{Stdout: []byte(r.Stdout), Stderr: []byte(r.Stderr)}, nil
	}
	r := n.f.Shell(n.id, "set -- "+shellcmd.Join(argv[1:])+"\n"+answer.Functions+text)
	return host.Result{Stdout: []byte(r.Stdout), Stderr: []byte(r.Stderr)}, nil
}

func look(t *testing.T, f *ibsimtest.Fabric, id string, details bool) *Fabric {
	t.Helper()
	began := time.Now()
	found, err := Observe(t.Context(), node{f, id}, Through{"ibsim0", 1}, details)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes and %d links read in %v", len(found.Nodes), len(found.Links),
		time.Since(began).Round(time.Millisecond))
	return found
}

func TestObserve_realTools(t *testing.T) {
	ibsimtest.Need(t, "ibnetdiscover", "opensm")
	f := ibsimtest.Start(t, ibsimtest.Net(t, "one-switch-three-hca"))
	const pve1, pve2 = "H-e41d2d0300e44ed0", "H-e41d2d0300e44f10"
	without := look(t, f, pve1, true)
	if without.Master() != nil || without.Counted || !without.Detailed || len(without.Links) != 3 ||
		without.Links[0].A.SpeedsSupported == nil {
		t.Errorf("without a subnet manager: %+v", without)
	}
	f.StartSM(pve2, ibsimtest.SM{Priority: 14,
		Partitions: "Default=0x7fff, ipoib : ALL=full;\nstorage=0x8001 : 0xe41d2d0300e44ed1=limited, 0xe41d2d0300e44f11=full;\n"}).Wait("SUBNET UP")
	f.StartSM(pve1, ibsimtest.SM{Priority: 5}).Wait("Entering STANDBY state")
	f.Console(`PerformanceSet "S-0002c902004a1b00"[3] PortCounters.SymbolErrorCounter=70`)
	got := look(t, f, pve1, true)
	if len(got.SMs) != 2 || got.SMs[0].GUID != 0xe41d2d0300e44f11 || got.SMs[0].Priority != 14 ||
		got.SMs[1].State != "standby" || got.SMs[1].Priority != 5 {
		t.Errorf("%+v", got.SMs)
	}
	parts := got.Partitions()
	if len(parts) != 2 || parts[1].PKey != 1 || len(parts[1].Full) != 1 || len(parts[1].Limited) != 1 ||
		len(parts[0].Full) != 3 {
		t.Errorf("%+v", parts)
	}
	var slow []string
	for _, l := range got.Links {
		if l.Degraded() {
			slow = append(slow, l.Slow()...)
		}
	}
	// ibsim enables on both ends what the link in the net file has.
	want := "DDR instead of QDR: 16 Gb/s instead of 32 Gb/s; pve3 qib0 port 1 allows SDR, DDR only"
	if strings.Join(slow, "|") != want {
		t.Errorf("slow: %q", slow)
	}
	if c := got.Counters()["0x0002c902004a1b00/3"]; c["SymbolErrorCounter"] != 70 {
		t.Errorf("%v", got.Counters())
	}
}

// The real perfquery clears the counters of errors, and those of data stay.
func TestClear_realTools(t *testing.T) {
	ibsimtest.Need(t, "ibnetdiscover", "opensm", "perfquery")
	f := ibsimtest.Start(t, ibsimtest.Net(t, "one-switch-three-hca"))
	const pve1, pve2 = "H-e41d2d0300e44ed0", "H-e41d2d0300e44f10"
	f.StartSM(pve1, ibsimtest.SM{}).Wait("SUBNET UP")
	for _, c := range []string{`"S-0002c902004a1b00"[3] PortCounters.SymbolErrorCounter=70`,
		`"S-0002c902004a1b00"[3] PortCounters.PortXmitWait=7`, `"S-0002c902004a1b00"[2] PortCounters.VL15Dropped=3`,
		`"` + pve2 + `"[1] PortCounters.LinkDownedCounter=2`} {
		f.Console("PerformanceSet " + c)
	}
	const switch2, switch3 = "0x0002c902004a1b00/2", "0x0002c902004a1b00/3"
	before := look(t, f, pve1, false)
	ports, err := before.Counting([]string{"0x0002c902004a1b00/3", "pve2 mlx4_0"})
	if err != nil || len(ports) != 2 {
		t.Fatalf("%v, %v", ports, err)
	}
	failed, err := Clear(t.Context(), node{f, pve1}, Through{"ibsim0", 1}, ports)
	if err != nil || len(failed) > 0 {
		t.Fatalf("%q, %v", failed, err)
	}
	now := look(t, f, pve1, false).Counters()
	if now[switch3] != nil || now[switch2]["VL15Dropped"] != 3 || len(now) != 1 {
		t.Errorf("%v", now)
	}
	data := f.Run(pve1, "perfquery", strconv.Itoa(ports[0].Node.LID), "3").Stdout
	if strings.Contains(data, "PortXmitData:....................0\n") {
		t.Errorf("the counters of data are cleared:\n%s", data)
	}
	ports[0].Node.LID, ports[0].LID = 99, 99
	if failed, err = Clear(t.Context(), node{f, pve1}, Through{"ibsim0", 1}, ports[:1]); err != nil || len(failed) != 1 ||
		!strings.Contains(failed[0], "perfquery ended with status 255: ") {
		t.Errorf("nobody there: %q, %v", failed, err)
	}
	for end, want := range map[string]string{"nobody/1": "nobody/1 names 0 nodes of the fabric. It has ",
		"pve2 mlx4_0/9": "pve2 mlx4_0 has no port 9 on this fabric"} {
		if _, err = before.Counting([]string{end}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", end, err)
		}
	}
}

// A GUID twice keeps a subnet manager from its work, and one of zero only keeps its own port
// from it.
func TestObserve_duplicateAndZeroGUIDs(t *testing.T) {
	ibsimtest.Need(t, "ibnetdiscover", "opensm")
	const host, label = "H-e41d2d0300e44ed0", "Infiniscale-IV Mellanox Technologies"
	const twice = "duplicate_guid 0xe41d2d0300e44ed1; no_sm fabric; silent " + label + " port 2"
	for _, c := range []struct {
		net, without, logged string
		loops                bool
		with                 string
	}{
		{"duplicate-guid", twice, "ERR 0D01: Found duplicated node GUID", true, twice},
		{"zero-guid", "zero_guid pve2 mlx4_0; no_sm fabric", "SUBNET UP", false,
			"zero_guid pve2 mlx4_0; inactive pve2 mlx4_0 port 1 - " + label + " port 2"},
	} {
		f := ibsimtest.Start(t, ibsimtest.Net(t, c.net))
		if got := kinds(look(t, f, host, true)); got != c.without {
			t.Errorf("%s without a subnet manager: %s", c.net, got)
		}
		sm := f.StartSM(host, ibsimtest.SM{PortGUID: "0xe41d2d0300e44ed1"}).WaitLog(c.logged)
		// One that loops sends as fast as it can. The simulator of a busy machine then answers nobody
		// else. What it did to the fabric stays after its end.
		if c.loops {
			sm.Kill()
		}
		if got := kinds(look(t, f, host, true)); got != c.with {
			t.Errorf("%s with one: %s", c.net, got)
		}
	}
}

// kinds are the differences that a fabric shows by itself.
func kinds(f *Fabric) string {
	var list []string
	for _, d := range f.Compare(nil, nil, nil) {
		list = append(list, d.Kind+" "+d.Where)
	}
	return strings.Join(list, "; ")
}

// Large fabrics: what matters is that they are read whole, and the time.
func TestObserve_large(t *testing.T) {
	ibsimtest.Need(t, "ibnetdiscover", "opensm")
	for _, c := range []struct{ adapters, nodes, links int }{{64, 86, 136}, {512, 559, 1034}} {
		f := ibsimtest.Start(t, ibsimtest.Generate(c.adapters))
		f.StartSM(ibsimtest.AdapterID(0), ibsimtest.SM{}).Wait("SUBNET UP")
		got := look(t, f, ibsimtest.AdapterID(c.adapters-1), false)
		if len(got.Nodes) != c.nodes || len(got.Links) != c.links || got.Master() == nil || !got.Counted {
			t.Errorf("%d adapters: %d nodes, %d links", c.adapters, len(got.Nodes), len(got.Links))
		}
		n, through := node{f, ibsimtest.AdapterID(c.adapters - 1)}, Through{"ibsim0", 1}
		began := time.Now()
		ports, err := AdapterPorts(t.Context(), n, through)
		if err != nil || len(ports) != c.adapters {
			t.Fatalf("%d ports of %d adapters, %v", len(ports), c.adapters, err)
		}
		walked := time.Since(began).Round(time.Millisecond)
		ports = ports[:min(len(ports), 256)] // as many as an apply compares
		tables, err := PKeyTables(t.Context(), n, through, ports)
		if err != nil || len(tables) != len(ports) || !slices.Equal(tables[ports[0].GUID], []uint16{0xffff}) {
			t.Errorf("%d tables of %d ports, the first %04x, %v", len(tables), len(ports), tables[ports[0].GUID], err)
		}
		t.Logf("%d adapters found in %v, with %d P_Key tables in %v", c.adapters, walked, len(ports),
			time.Since(began).Round(time.Millisecond))
	}
}
