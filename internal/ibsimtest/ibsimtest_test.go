package ibsimtest

import (
	"strings"
	"testing"
)

const pve1, pve2 = "H-e41d2d0300e44ed0", "H-e41d2d0300e44f10"

func TestFabric_ofTwoHosts(t *testing.T) {
	f := Start(t, Net(t, "two-hca-one-switch"))
	if r := f.Run(pve1, "sminfo"); r.Status != 255 || r.Stdout != "sminfo: iberror: failed: query\n" ||
		Normal(r.Stderr) != "ibwarn: [PID] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0)\n" {
		t.Errorf("without a subnet manager: %+v", r)
	}
	f.StartSM(pve2, SM{Priority: 14, PortGUID: "0xe41d2d0300e44f11"}).Wait("SUBNET UP")
	if r := f.Run("pve1 mlx4_0", "sminfo"); r.Status != 0 || !strings.Contains(r.Stdout, "sm guid 0xe41d2d0300e44f11, ") ||
		!strings.Contains(r.Stdout, " priority 14 state 3 SMINFO_MASTER\n") {
		t.Errorf("%+v", r)
	}
	if r := f.Shell(pve1, "ibstat -p; ibhosts\n"); r.Stdout != "0xe41d2d0300e44ed1\n"+
		"Ca\t: 0xe41d2d0300e44f10 ports 2 \"pve2 mlx4_0\"\nCa\t: 0xe41d2d0300e44ed0 ports 2 \"pve1 mlx4_0\"\n" {
		t.Errorf("%+v", r)
	}
	f.Console(`Unlink "` + pve2 + `"[1]`)
	if r := f.Run(pve1, "iblinkinfo", "-l"); !strings.Contains(r.Stdout,
		" 2    2[  ] ==(                Down/ Polling)==>  ") {
		t.Errorf("after pulling the cable: %+v", r)
	}
}

func TestFabric_opensmExitsZeroWhenItCannotBind(t *testing.T) {
	f := Start(t, Net(t, "two-hca-one-switch"))
	sm := f.StartSM(pve1, SM{PortGUID: "0xe41d2d0300e4ffff"})
	if status := sm.Status(); status != 0 || !strings.Contains(sm.Output(), "Error from osm_opensm_bind (0x2A)") {
		t.Errorf("status %d\n%s", status, sm.Output())
	}
}

func TestGenerate_comesUp(t *testing.T) {
	f := Start(t, Generate(64))
	f.StartSM(AdapterID(0), SM{}).Wait("SUBNET UP")
	r := f.Run(AdapterID(63), "ibhosts")
	if n := strings.Count(r.Stdout, "Ca\t: "); n != 64 {
		t.Errorf("%d adapters\n%s", n, r.Stdout)
	}
}
