package ibportstate

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
)

func TestQuery(t *testing.T) {
	if q := Query("mlx4_0", 2, 2); q.String() != "ibportstate -C mlx4_0 -P 2 -D 0 2 query" || q.Changing() || !q.Root() {
		t.Errorf("got %s", q)
	}
}

func TestParse_refusals(t *testing.T) {
	if got, err := Parse("ibportstate: iberror: failed: smp query nodeinfo failed\n"); err == nil ||
		err.Error() != `line 1: no information about a port: "ibportstate: iberror: failed: smp query nodeinfo failed"` {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The real tool understands Query, and Parse what it answers. A port without a LID
// gets a stand-in for one by any set.
func TestAgainstTheRealTool(t *testing.T) {
	const pve1 = "H-e41d2d0300e44ed0"
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	run := func(args ...string) string {
		t.Helper()
		r := f.Run(pve1, "ibportstate", args...)
		if r.Status != 0 {
			t.Fatalf("%v: %d %s %s", args, r.Status, r.Stdout, r.Stderr)
		}
		return r.Stdout
	}
	query := Query("ibsim0", 1, 1).Argv()[1:]
	if p, err := Parse(run(query...)); err != nil || p.SpeedActive == 0 {
		t.Errorf("%+v %v", p, err)
	}
	run("-C", "ibsim0", "-P", "1", "-D", "0", "1", "disable")
	if text := run(query...); !strings.Contains(text, "Disabled") {
		t.Error(text)
	}
	// The tool looks for a peer only of a port that is Active.
	run("-C", "ibsim0", "-P", "1", "-D", "0", "1", "enable")
	f.StartSM(pve1, ibsimtest.SM{}).Wait("SUBNET UP")
	r := f.Run("H-e41d2d0300e44f10", "ibportstate", "-D", "0,1", "1")
	if p, err := Parse(r.Stdout); err != nil || p.Number != 1 {
		t.Errorf("%+v %v\n%s", p, err, r.Stdout)
	}
}
