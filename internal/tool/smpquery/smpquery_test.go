package smpquery

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
)

const pve1, pve2 = "H-e41d2d0300e44ed0", "H-e41d2d0300e44f10"

// fdr is a port of a ConnectX-3 Pro as smpquery and ibportstate print it; the
// values follow PortInfo of the IBA specification, the layout the real tool.
const fdr = `# Port info: Lid 7 port 1
Lid:.............................7
SMLid:...........................1
CapMask:.........................0x259486a
				IsSM
				IsTrapSupported
LinkWidthEnabled:................1X or 4X
LinkWidthSupported:..............1X or 4X
LinkWidthActive:.................4X
LinkSpeedSupported:..............2.5 Gbps or 5.0 Gbps or 10.0 Gbps
LinkState:.......................Active
PhysLinkState:...................LinkUp
LMC:.............................0
LinkSpeedActive:.................10.0 Gbps
LinkSpeedEnabled:................2.5 Gbps or 5.0 Gbps or 10.0 Gbps
NeighborMTU:.....................4096
MtuCap:..........................4096
LinkSpeedExtActive:..............14.0625 Gbps
LinkSpeedExtSupported:...........14.0625 Gbps
LinkSpeedExtEnabled:.............14.0625 Gbps
# MLNX ext Port info: Lid 7 port 1
StateChangeEnable:...............0x00
LinkSpeedSupported:..............0x01
LinkSpeedEnabled:................0x01
LinkSpeedActive:.................0x00
`

func TestParsePort_extendedSpeeds(t *testing.T) {
	got, err := ParsePort("ibwarn: [1] something\n" + fdr)
	if err != nil {
		t.Fatal(err)
	}
	all := []ib.Speed{ib.SDR, ib.DDR, ib.QDR, ib.FDR10, ib.FDR}
	want := Port{
		Number: 1, CapMask: 0x259486a, MTU: 4096,
		MTUCap:       4096,
		WidthEnabled: []int{1, 4}, WidthSupported: []int{1,
			4}, SpeedActive: ib.FDR, SpeedsEnabled: all, SpeedsSupported: all,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.IsSM() {
		t.Error("the port has an SM")
	}
}

func TestParsePort_refusals(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"smpquery: iberror: failed: operation portinfo: port info query failed\n",
			"want the information of one port, got 0"},
		{fdr[:strings.Index(fdr, "LinkSpeedExtActive")],
			"the answer about port 1 has no LinkSpeedExtActive: the output is cut"},
		{strings.ReplaceAll(fdr, "0x01", "one"), `line 23: invalid number "one": "LinkSpeedSupported:..............one"`},
	} {
		if got, err := ParsePort(c.output); err == nil || err.Error() != c.want {
			t.Errorf("got %v, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestParsePKeys(t *testing.T) {
	keys, err := ParsePKeys("   0: 0xffff 0x8001 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000\n   8: 0x0000 0x0002 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000\n16 pkeys capacity for this port\n")
	if diff := cmp.Diff([]uint16{0xffff, 0x8001, 2}, keys); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := ParsePKeys("   0: 0xffff 0x0000\n"); err == nil ||
		err.Error() != "no P_Key table in the answer: the output is cut, or nobody answered" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCommands(t *testing.T) {
	for want, c := range map[string]interface {
		String() string
		Changing() bool
		Root() bool
	}{
		"smpquery -C mlx4_0 -P 2 pkeys 9 1":        PKeys("mlx4_0", 2, Target{LID: 9}, 1),
		"smpquery -C mlx4_0 -P 2 -D pkeys 0,1,3 1": PKeys("mlx4_0", 2, Target{Route: "0,1,3"}, 1),
	} {
		if c.String() != want || c.Changing() || !c.Root() {
			t.Errorf("got %s\nwant %s", c, want)
		}
	}
}

func TestAgainstTheRealTool(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	run := func(c interface{ Argv() []string }) string {
		argv := c.Argv()
		r := f.Run(pve1, argv[0], argv[1:]...)
		return r.Stdout + r.Stderr
	}
	const ca = "ibsim0"
	down, err := ParsePort(run(query(ca, 1, "portinfo", Target{Route: "0,1"}, "3")))
	if err != nil || down.Number != 3 || down.SpeedActive > ib.SDR {
		t.Errorf("%+v %v", down, err)
	}
	f.StartSM(pve2, ibsimtest.SM{Partitions: "Default=0x7fff, ipoib : ALL=full;\nstorage=0x8001 : 0xe41d2d0300e44ed1=limited, 0xe41d2d0300e44f11=full;\n"}).Wait("SUBNET UP")
	text := run(query(ca, 1, "portinfo", Target{Route: "0"}, "0"))
	up, err := ParsePort(text)
	if err != nil {
		t.Fatal(err)
	}
	if up.IsSM() || up.SpeedActive != ib.QDR || up.MTU != 2048 ||
		!cmp.Equal(up.WidthSupported, []int{1, 2, 4, 8, 12}) ||
		!cmp.Equal(up.SpeedsEnabled, []ib.Speed{ib.SDR, ib.DDR, ib.QDR}) {
		t.Errorf("%+v", up)
	}
	if sm, bad := ParsePort(run(query(ca, 1, "portinfo", Target{LID: lid(t, text, "SMLid")}, "1"))); bad != nil || !sm.IsSM() {
		t.Errorf("%+v %v", sm, bad)
	}
	if keys, bad := ParsePKeys(run(PKeys(ca, 1, Target{LID: lid(t, text, "Lid")}, 1))); bad != nil ||
		!cmp.Equal(keys, []uint16{0xffff, 0x0001}) {
		t.Errorf("%#x %v", keys, bad)
	}
}

// lid is one that PortInfo has, which the package does not read.
func lid(t *testing.T, text, name string) uint16 {
	t.Helper()
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	n, err := strconv.ParseUint(strings.TrimLeft(strings.SplitN(rest, "\n", 2)[0], "."), 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("%s: %v in\n%s", name, err, text)
	}
	return uint16(n)
}
