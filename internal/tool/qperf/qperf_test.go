package qperf

import (
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParse(t *testing.T) {
	for out, want := range map[string]Result{
		"tcp_lat:\n    latency  =  4119 ns\n":       {LatencyNS: 4119},
		"tcp_bw:\n    bw  =  818544640 bytes/sec\n": {BytesPerSecond: 818544640},
	} {
		if r, err := Parse(out); err != nil || r != want {
			t.Errorf("%v %+v", err, r)
		}
	}
	if _, err := Parse("tcp_lat:\n127.0.0.1: failed to connect\n"); err == nil ||
		err.Error() != "neither a latency nor a bandwidth of qperf" {
		t.Errorf("got %v", err)
	}
}

// The real program over the loopback interface.
func TestClient_real_qperf(t *testing.T) {
	realtool.Path(t, "qperf")
	const port = 29765
	server := Server(port)
	run := exec.CommandContext(t.Context(), server[0], server[1:]...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill(); _ = run.Wait() }()
	time.Sleep(300 * time.Millisecond)
	for _, test := range []string{"tcp_lat", "udp_lat", "tcp_bw"} {
		c := Client(netip.MustParseAddr("127.0.0.1"), port, time.Second, test)
		out, err := exec.CommandContext(t.Context(), c[0], c[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", test, err, out)
		}
		r, err := Parse(string(out))
		if err != nil || (test == "tcp_bw") != (r.BytesPerSecond > 0) {
			t.Errorf("%s: %v %+v\n%s", test, err, r, out)
		}
	}
}
