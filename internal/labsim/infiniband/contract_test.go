package infiniband_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/shell"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/system"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/unix"
)

// twin is one fabric twice: in the lab, and as real programs on ibsim.
type twin struct {
	t    *testing.T
	lab  *labsim.Lab
	m    *labsim.Machine
	real *ibsimtest.Fabric
	node string // of m, in ibsim
}

// ibsimCaps are what ibsim gives every port, whatever the card.
var (
	ibsimCaps = labsim.LinkCaps{Widths: 31, Speeds: 7}
	ibsimMay  = labsim.LinkCaps{Widths: 3, Speeds: 7}
)

const ibsimMask = 0x50c048

// newTwin builds a lab with one machine called pve1 and what build adds, and
// starts ibsim on the same fabric.
func newTwin(t *testing.T, build func(*labsim.Lab)) *twin {
	t.Helper()
	ibsimtest.Need(t, "ibnetdiscover", "opensm")
	l := labsim.New(labsim.Options{Speed: 200,
		Setup: []func(*labsim.Machine){shell.Install, unix.Install, system.Install, func(m *labsim.Machine) {
			if err := packages.Preinstall(m, "linux-modules-extra", "rdma-core", "infiniband-diags"); err != nil {
				t.Error(err)
			}
		}}})
	m, err := l.AddMachine(labsim.Config{
		Name: "pve1", OS: labsim.Ubuntu, Cmdline: "mlx4_core.port_type_array=1,1",
		Cards: []labsim.CardConfig{{
			BDF: "0000:01:00.0", Link: ibsimCaps, CapMask: ibsimMask, MaxIBMTU: 2048,
			Config: card.Config{Chip: card.ConnectX3Pro, Image: card.VPI(), GUIDs: card.GUIDsFromBase(0xe41d2d0300e44ed0),
				MACs: [2]uint64{0xe41d2de44e01, 0xe41d2de44e02}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Card("0000:01:00.0").Ports {
		p.SetLink(true, &ibsimMay, false)
	}
	build(l)
	tw := &twin{t: t, lab: l, m: m, node: "H-e41d2d0300e44ed0"}
	tw.real = ibsimtest.Start(t, netFile(l, m.Card("0000:01:00.0").Ports[0]))
	return tw
}

func ibsimSwitch(l *labsim.Lab, name string, guid uint64, ports int) {
	s := l.AddSwitch(name, guid, ports)
	s.Link, s.May, s.MaxMTU, s.Desc = ibsimCaps, ibsimMay, 2048, name
}

func ibsimAdapter(l *labsim.Lab, name string, guid uint64, ports int) {
	l.AddAdapter(labsim.Adapter{Name: name, Desc: name, GUID: guid, SystemGUID: guid + 3, Ports: ports, VendorID: 0x2c9,
		DeviceID: 0x1003, Link: ibsimCaps, May: ibsimMay, CapMask: ibsimMask, MaxMTU: 2048})
}

func connect(l *labsim.Lab, a, b labsim.End) {
	if err := l.Connect(a, b); err != nil {
		panic(err)
	}
}

// netFile writes the fabric as ibsim reads it. ibsim's own width and speed are
// those enabled; supported are always 1X to 12X and SDR to QDR.
func netFile(l *labsim.Lab, from *labsim.Port) string {
	var b strings.Builder
	b.WriteString("width=3\nspeed=7\n")
	for _, n := range l.Discover(from).Nodes {
		id := nodeID(n)
		fmt.Fprintf(&b, "\nvendid=0x%x\ndevid=0x%x\nsysimgguid=0x%x\n", n.VendorID, n.DeviceID, n.SystemGUID)
		if n.Switch {
			fmt.Fprintf(&b, "switchguid=0x%x(%x)\nSwitch\t%d \"%s\"\t\t# \"%s\" base port 0 lid 0 lmc 0\n", n.GUID, n.GUID,
				len(n.Ports)-1, id, n.Desc)
		} else {
			fmt.Fprintf(&b, "caguid=0x%x\nCa\t%d \"%s\"\t\t# \"%s\"\n", n.GUID, len(n.Ports)-1, id, n.Desc)
		}
		for _, p := range n.Ports[1:] {
			if p.Peer != nil {
				guid := ""
				if !n.Switch {
					guid = fmt.Sprintf("(%x) ", p.GUID)
				}
				fmt.Fprintf(&b, "[%d]%s\t\"%s\"[%d]\t\t# \"x\" lid 0 %dx%s\n", p.Number, guid, nodeID(p.Peer.Node), p.Peer.Number,
					p.Trained.Lanes(), p.Trained.Name())
			}
		}
	}
	return b.String()
}

func nodeID(n *labsim.Node) string {
	if n.Switch {
		return fmt.Sprintf("S-%016x", n.GUID)
	}
	return fmt.Sprintf("H-%016x", n.GUID)
}

// inIbsim is an answer as ibsim gives it: its adapters hold 64 P_Keys, and nothing in it
// knows the attribute that has FDR10.
func inIbsim(answer string) string {
	answer = lastKeys.ReplaceAllString(ibsimtest.Normal(answer), "")
	return strings.NewReplacer(fmt.Sprintf("%d pkeys capacity", labsim.PKeyCapacity), "64 pkeys capacity",
		fmt.Sprintf(".%d\n", labsim.PKeyCapacity), ".64\n",
		fdr10+"1\n", fdr10+"0\n", fdr10Enabled+"1\n", fdr10Enabled+"0\n").Replace(answer)
}

// What ibportstate says of FDR10, without the last digit.
const (
	fdr10        = "LinkSpeedSupported:..............0x0"
	fdr10Enabled = "LinkSpeedEnabled:................0x0"
)

// lastKeys are the entries of a table of P_Keys from the 64th on.
var lastKeys = regexp.MustCompile(`(?m)^ +(6[4-9]|[7-9]\d|1[012]\d):( 0x0000){8}\n`)

// compare runs a program in both and wants the same answer, byte for byte but
// for process ids, the date of a report, and the size of a table of P_Keys.
func (w *twin) compare(argv ...string) {
	w.t.Helper()
	out, errOut, status := simulate(w.t, w.m, argv...)
	want := w.real.Run(w.node, argv[0], argv[1:]...)
	if diff := cmp.Diff(ibsimtest.Normal(want.Stdout), inIbsim(out)); diff != "" {
		w.t.Errorf("%q: output (-real +simulated):\n%s", argv, diff)
	}
	messages := func(text string) string {
		return staleErrno.ReplaceAllString(kernelTimeout.ReplaceAllString(ibsimtest.Normal(text), ""), "$1")
	}
	if diff := cmp.Diff(messages(want.Stderr), messages(errOut)); diff != "" {
		w.t.Errorf("%q: messages (-real +simulated):\n%s", argv, diff)
	}
	if status != want.Status {
		w.t.Errorf("%q: status %d, the real one %d", argv, status, want.Status)
	}
}

func simulate(t *testing.T, m *labsim.Machine, argv ...string) (out, errOut string, status int) {
	t.Helper()
	var stdout, stderr strings.Builder
	status = m.Exec(t.Context(), &labsim.Proc{Args: argv, User: "root", Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), status
}

// questions are asked on every fabric; the routes and LIDs also lead nowhere.
func (w *twin) questions(extra ...string) {
	w.t.Helper()
	for _, line := range slices.Concat([]string{
		"ibnetdiscover", "ibnetdiscover -p", "iblinkinfo", "iblinkinfo -l", "iblinkinfo --switches-only", "ibhosts",
		"ibswitches", "ibnodes",
		"smpquery -D portinfo 0", "smpquery -D portinfo 0,1", "smpquery -D portinfo 0,1 1", "smpquery -D portinfo 0,1,2,7",
		"smpquery portinfo 99",
		"smpquery -D nodeinfo 0", "smpquery -D nodeinfo 0,1", "smpquery -D pkeys 0", "smpquery -D pkeys 0,1 1",
		"smpquery -D pkeys 0,1",
		"ibportstate -D 0 1", "ibportstate -D 0,1 3", "ibportstate -D 0,1,7 1", "ibportstate -D 0 1 speed 99",
		"ibportstate -D 0 1 sleep", "ibportstate -V",
		"ibnetdiscover -C foo -P 1", "iblinkinfo -l -C foo -P 1", "ibhosts -C foo -P 1", "smpquery -C foo -P 1 -D portinfo 0",
		"ibportstate -C foo -P 1 -D 0 1",
	}, extra) {
		w.compare(strings.Fields(line)...)
	}
}

// startManager starts a subnet manager on pve1 in both, and waits until both agree.
func (w *twin) startManager() {
	w.t.Helper()
	w.real.StartSM(w.node, ibsimtest.SM{PortGUID: "0xe41d2d0300e44ed1"}).Wait("SUBNET UP")
	w.lab.AddSM(&labsim.SM{Port: w.m.Card("0000:01:00.0").Ports[0]})
}

var pve1Port = labsim.CardEnd("pve1", "0000:01:00.0", 1)

// small is a switch with three adapters, one on a cable that does DDR only.
func small(l *labsim.Lab) {
	ibsimSwitch(l, "sw1", 0x2c902004a1b00, 8)
	connect(l, pve1Port, labsim.SwitchEnd("sw1", 1))
	for i, name := range []string{"pve2 mlx4_0", "pve3 qib0"} {
		ibsimAdapter(l, name, 0xe41d2d0300e44f10+0x1000*uint64(i), 2)
		connect(l, labsim.AdapterEnd(name, 1), labsim.SwitchEnd("sw1", 2+i))
	}
}

func TestContract_smallFabric(t *testing.T) {
	w := newTwin(t, small)
	w.questions()
	w.startManager()
	w.questions("smpquery portinfo 1 1", "smpquery portinfo 2 1", "smpquery portinfo 3", "smpquery pkeys 4 1",
		"smpquery nodeinfo 2", "vendstat -N 2")
	w.compare("smpquery", "-D", "portinfo", "0,1", "2")
}

func TestContract_backToBack(t *testing.T) {
	w := newTwin(t, func(l *labsim.Lab) {
		ibsimAdapter(l, "pve2 mlx4_0", 0xe41d2d0300e44f10, 2)
		connect(l, pve1Port, labsim.AdapterEnd("pve2 mlx4_0", 1))
	})
	w.startManager()
	w.questions("smpquery portinfo 2 1")
}

// Counters that ibsim is told, and no datagram astray before, which it counts.
func TestContract_errorCounters(t *testing.T) {
	w := newTwin(t, small)
	w.startManager()
	w.compare("ibqueryerrors", "--threshold-file", "/dev/null", "--skip-sl")
	for _, c := range []struct {
		end     labsim.End
		node    string
		counter string
		n       uint64
	}{
		{labsim.SwitchEnd("sw1", 2), "S-0002c902004a1b00", "SymbolErrorCounter", 70},
		{labsim.SwitchEnd("sw1", 2), "S-0002c902004a1b00", "LinkDownedCounter", 2},
		{labsim.SwitchEnd("sw1", 7), "S-0002c902004a1b00", "SymbolErrorCounter", 5},
		{labsim.AdapterEnd("pve3 qib0", 1), "H-e41d2d0300e45f10", "PortRcvErrors", 3},
	} {
		w.lab.Count(c.end, c.counter, c.n)
		w.real.Console(fmt.Sprintf(`PerformanceSet "%s"[%d] PortCounters.%s=%d`, c.node, c.end.Port, c.counter, c.n))
	}
	w.compare("ibqueryerrors", "--threshold-file", "/dev/null", "--skip-sl")
	for _, reset := range []string{"2 2 0x1", "2 2 0x10fff", "3 1 0x10fff", "2 77 0x10fff", "1 2 0x10fff", "99 1 0x10fff"} {
		w.compare(strings.Fields("perfquery -R " + reset)...)
		if !strings.HasPrefix(reset, "99") { // ibsim counts a datagram that went astray
			w.compare("ibqueryerrors", "--threshold-file", "/dev/null", "--skip-sl")
		}
	}
}

// What ibportstate says to changes of the own port. A lower width or speed is
// left out: ibsim's link takes it at once, a real one when it trains next. ibsim
// leaves a link down for good after a disable, so that is last.
func TestContract_changesOfTheOwnPort(t *testing.T) {
	w := newTwin(t, small)
	for _, op := range []string{"width 3", "speed 7", "query", "disable"} {
		w.compare(strings.Fields("ibportstate -D 0 1 " + op)...)
	}
}

// Two switches with two cables between them.
func TestContract_twoSwitches(t *testing.T) {
	w := newTwin(t, func(l *labsim.Lab) {
		small(l)
		ibsimSwitch(l, "sw2", 0x2c902004a2c00, 12)
		for p := 7; p <= 8; p++ {
			connect(l, labsim.SwitchEnd("sw1", p), labsim.SwitchEnd("sw2", p+1))
		}
		ibsimAdapter(l, "pve4 mlx4_0", 0xe41d2d0300e46610, 1)
		connect(l, labsim.AdapterEnd("pve4 mlx4_0", 1), labsim.SwitchEnd("sw2", 12))
	})
	w.startManager()
	w.questions()
}

// leafSpine is n adapters on 36-port leaves with 18 each, under 18 spines.
func leafSpine(l *labsim.Lab, n int) {
	leaves := (n + 18) / 18
	for i := range leaves {
		ibsimSwitch(l, fmt.Sprintf("leaf%02d", i), 0x2c90300100000+0x10*uint64(i), 36)
	}
	for s := range 18 {
		name := fmt.Sprintf("spine%02d", s)
		ibsimSwitch(l, name, 0x2c90300200000+0x10*uint64(s), 36)
		for i := range leaves {
			connect(l, labsim.SwitchEnd(fmt.Sprintf("leaf%02d", i), 19+s), labsim.SwitchEnd(name, i+1))
		}
	}
	connect(l, pve1Port, labsim.SwitchEnd("leaf00", 1))
	for i := 1; i < n; i++ {
		name := fmt.Sprintf("node%d mlx4_0", i)
		ibsimAdapter(l, name, 0xe41d2d0300100000+0x10*uint64(i), 1)
		connect(l, labsim.AdapterEnd(name, 1), labsim.SwitchEnd(fmt.Sprintf("leaf%02d", i/18), i%18+1))
	}
}

func TestContract_64Adapters(t *testing.T) {
	w := newTwin(t, func(l *labsim.Lab) { leafSpine(l, 64) })
	w.startManager()
	for _, line := range []string{"ibnetdiscover", "ibnetdiscover -p", "iblinkinfo -l", "ibnodes"} {
		w.compare(strings.Fields(line)...)
	}
}
