package perftest

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

func TestParse(t *testing.T) {
	const line = "---------------------------------------------------------------------------------------\n"
	for _, c := range []struct {
		out  string
		want Result
	}{
		{line + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      1143920          0.00               29.99  \t\t   0.057199\n" + line, Result{Gbps: 29.99}},
		{line + " #bytes        #iterations       t_avg[usec]    tps average\n 2             4421023          1.13           884203.10\n" + line, Result{LatencyUS: 1.13}},
		{" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n" +
			" 2       1000          1.05           7.52         1.08     \t       1.10        \t0.10   \t\t1.30    \t\t7.52   \n", Result{LatencyUS: 1.1}},
	} {
		if r, err := Parse(c.out); err != nil || r != c.want {
			t.Errorf("%v %+v", err, r)
		}
	}
	if _, err := Parse("Unable to find the Infiniband/RoCE device\n"); err == nil ||
		err.Error() != "no table of perftest" {
		t.Errorf("got %v", err)
	}
}

// The real programs take the options; there is no device to go on with.
func TestClient_real_perftest(t *testing.T) {
	for _, program := range []string{"ib_write_bw", "ib_send_lat"} {
		realtool.Path(t, program)
		c := Client(program, Port{"mlx4_77", 1}, netip.MustParseAddr("127.0.0.1"), 28515, time.Second)
		out, err := exec.CommandContext(t.Context(), c[0], c[1:]...).CombinedOutput()
		if text := string(out); err == nil || strings.Contains(text, "Usage") || strings.Contains(text, "invalid") ||
			!strings.Contains(text, "device") {
			t.Errorf("%v: %v\n%s", c, err, text)
		}
	}
}
