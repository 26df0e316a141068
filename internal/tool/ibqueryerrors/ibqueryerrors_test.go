package ibqueryerrors

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
)

func TestParse_refusals(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"ibqueryerrors: iberror: failed: Failed to open port; foo:1\n",
			"no summary in the report of ibqueryerrors: the output is cut, or the counters were not read"},
		{"   GUID 0x2c902004a1b00 port 1: none\n", `line 1: a port without counters: "   GUID 0x2c902004a1b00 port 1: none"`},
	} {
		if _, err := Parse(c.output); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestAgainstTheRealTool(t *testing.T) {
	const pve1 = "H-e41d2d0300e44ed0"
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	f.StartSM(pve1, ibsimtest.SM{}).Wait("SUBNET UP")
	run := func() []Port {
		t.Helper()
		r := f.Run(pve1, "ibqueryerrors", "-C", "ibsim0", "-P", "1", "--threshold-file", "/dev/null", "--skip-sl")
		ports, err := Parse(r.Stdout)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, r.Stdout, r.Stderr)
		}
		return ports
	}
	if ports := run(); len(ports) != 0 {
		t.Errorf("%+v", ports)
	}
	for _, c := range []string{`"S-0002c902004a1b00"[2] PortCounters.SymbolErrorCounter=70`,
		`"S-0002c902004a1b00"[2] PortCounters.LinkDownedCounter=2`, `"H-e41d2d0300e44f10"[1] PortCounters.PortRcvErrors=3`} {
		f.Console("PerformanceSet " + c)
	}
	want := []Port{
		{GUID: 0xe41d2d0300e44f11, Number: 1, Counters: map[string]uint64{"PortRcvErrors": 3}},
		{GUID: 0x2c902004a1b00, Number: 2, Counters: map[string]uint64{"SymbolErrorCounter": 70, "LinkDownedCounter": 2}},
	}
	if diff := cmp.Diff(want, run()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
