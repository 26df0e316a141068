package ibportstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func built(t *testing.T) map[string]shellcmd.Command {
	t.Helper()
	all := map[string]shellcmd.Command{
		"enable": Enable("mlx4_0", 2), "disable": Disable("mlx4_0", 2), "reset": Reset("mlx4_0", 2),
		"fdr10 1": FDR10("mlx4_0", 2, true), "fdr10 0": FDR10("mlx4_0", 2, false),
	}
	add := func(want string) func(shellcmd.Command, error) {
		return func(c shellcmd.Command, err error) {
			if err != nil {
				t.Fatal(err)
			}
			all[want] = c
		}
	}
	add("speed 7")(Speeds("mlx4_0", 2, ib.SDR, ib.DDR, ib.QDR))
	add("espeed 3")(ExtendedSpeeds("mlx4_0", 2, ib.FDR, ib.EDR))
	add("espeed 30")(ExtendedSpeeds("mlx4_0", 2))
	add("width 3")(Widths("mlx4_0", 2, 1, 4))
	return all
}

func TestCommands(t *testing.T) {
	for op, c := range built(t) {
		if got := c.String(); got != "ibportstate -C mlx4_0 -P 2 -D 0 2 "+op || !c.Changing() || !c.Root() {
			t.Errorf("%s: got %s", op, got)
		}
	}
	if q := Query("mlx4_0", 2); q.String() != "ibportstate -C mlx4_0 -P 2 -D 0 2 query" || q.Changing() {
		t.Errorf("got %s", q)
	}
	for want, err := range map[string]error{
		"no speed to enable":              second(Speeds("mlx4_0", 2)),
		"ibportstate has no code for FDR": second(Speeds("mlx4_0", 2, ib.FDR)),
		"ibportstate has no code for QDR": second(ExtendedSpeeds("mlx4_0", 2, ib.QDR)),
		"ibportstate has no code for 3":   second(Widths("mlx4_0", 2, 3)),
		"no width to enable":              second(Widths("mlx4_0", 2)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func second(_ shellcmd.Command, err error) error { return err }

func TestParse_refusals(t *testing.T) {
	if got, err := Parse("ibportstate: iberror: failed: smp query nodeinfo failed\n"); err == nil ||
		err.Error() != `line 1: no information about a port: "ibportstate: iberror: failed: smp query nodeinfo failed"` {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The real tool understands every command line, and Parse what it answers.
func TestAgainstTheRealTool(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	run := runner(t, f)
	must := func(c shellcmd.Command, err error) shellcmd.Command {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const ca = "ibsim0"
	if a := run(Query(ca, 1)); a.Before.State != "Initialize" || a.After != nil || a.Before.Of.Route != "0" {
		t.Errorf("%+v", a)
	}
	for _, c := range []shellcmd.Command{FDR10(ca, 1, false), must(ExtendedSpeeds(ca, 1)), must(Speeds(ca, 1, ib.SDR, ib.DDR))} {
		if a := run(c); a.After == nil {
			t.Errorf("%s: %+v", c, a)
		}
	}
	if a := run(must(Widths(ca, 1, 1))); a.After == nil || !cmp.Equal(a.After.WidthEnabled, []int{1}) || !cmp.Equal(a.Before.WidthEnabled, []int{1, 4}) {
		t.Errorf("%+v", a)
	}
	// The tool looks for a peer only of a port that is Active.
	f.StartSM(pve1, ibsimtest.SM{}).Wait("SUBNET UP")
	r := f.Run("H-e41d2d0300e44f10", "ibportstate", "-D", "0,1", "1")
	if a, err := Parse(r.Stdout); err != nil || a.Peer == nil || a.Peer.Of.Route != "0,1,1" || a.After != nil {
		t.Errorf("%+v %v", a, err)
	}
}

// A port without a LID gets a stand-in for one by any set.
func TestAgainstTheRealTool_standInLID(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	const ca = "ibsim0"
	run := runner(t, f)
	if a := run(Disable(ca, 1)); a.After == nil || a.After.Physical != "Disabled" || a.After.SMLID != 0x1234 {
		t.Errorf("%+v", a)
	}
	if a := run(Enable(ca, 1)); a.After == nil || a.After.Physical != "Polling" {
		t.Errorf("%+v", a)
	}
}

const pve1 = "H-e41d2d0300e44ed0"

func runner(t *testing.T, f *ibsimtest.Fabric) func(shellcmd.Command) Answer {
	return func(c shellcmd.Command) Answer {
		t.Helper()
		r := f.Run(pve1, "ibportstate", c.Argv()[1:]...)
		a, err := Parse(r.Stdout)
		if err != nil || r.Status != 0 {
			t.Fatalf("%s: %d %s %s %v", c, r.Status, r.Stdout, r.Stderr, err)
		}
		return a
	}
}
