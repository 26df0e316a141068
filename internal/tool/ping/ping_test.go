package ping

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

func TestParseRun(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      Run
	}{
		{"answers", "PING 127.0.0.1 (127.0.0.1) 1472(1500) bytes of data.\n1480 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms\n\n--- 127.0.0.1 ping statistics ---\n" +
			"3 packets transmitted, 3 received, 0% packet loss, time 407ms\nrtt min/avg/max/mdev = 0.045/0.180/0.441/0.184 ms\n",
			Run{Sent: 3, Received: 3, Min: 0.045, Avg: 0.18, Max: 0.441}},
		{"too long", "PING 127.0.0.1 (127.0.0.1) 65508(65536) bytes of data.\nping: local error: message too long, mtu=65535\nping: local error: message too long, mtu=65535\n\n" +
			"--- 127.0.0.1 ping statistics ---\n2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 204ms\n\n",
			Run{Sent: 2, Said: "ping: local error: message too long, mtu=65535"}},
		{"router", "From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms\n",
			Run{Sent: 1, Said: "From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1400)"}},
		{"unreachable", "From 172.16.0.20 icmp_seq=1 Destination Host Unreachable\n2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 1003ms\npipe 2\n",
			Run{Sent: 2, Said: "From 172.16.0.20 icmp_seq=1 Destination Host Unreachable"}},
		{"silence", "2 packets transmitted, 0 received, 100% packet loss, time 203ms\n", Run{Sent: 2}},
		{"no interface", "ping: SO_BINDTODEVICE ib77: No such device\n",
			Run{Said: "ping: SO_BINDTODEVICE ib77: No such device"}},
		{"warning", "ping: Warning: source address might be selected on device other than: lo\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\nrtt min/avg/max/mdev = 1.000/1.000/1.000/0.000 ms\n",
			Run{Sent: 1, Received: 1, Min: 1, Avg: 1, Max: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := parseRun(c.out); err != nil || got != c.want {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, got, c.want)
			}
		})
	}
	if _, err := parseRun("something else\n"); err == nil || err.Error() != "no statistics of ping" {
		t.Errorf("got %v", err)
	}
}

// The real ping, over the loopback interface, whose MTU of 65536 is more than an
// IPv4 packet can have: 65535 is then the path MTU that is found.
func TestProbe_real_ping(t *testing.T) {
	realtool.Path(t, "ping")
	for _, c := range []struct {
		to        string
		mtu, path int
	}{{"127.0.0.1", 1500, 1500}, {"127.0.0.1", 65536, 65535}, {"::1", 1500, 1500}} {
		p := Probe{To: netip.MustParseAddr(c.to), MTU: c.mtu, Count: 2, Sizes: []int{1000}, Interface: "lo"}
		out, err := exec.CommandContext(t.Context(), "sh",
			append([]string{"-c", answer.Functions + probe, "probe"}, p.Command().Argv()[1:]...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		a, err := Parse(string(out))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if a.PathMTU != c.path || a.Default.Received != 2 || a.Default.Avg == 0 || a.Sizes[1000].Received != 2 ||
			a.Fragmented.Received != 2 && c.mtu == 1500 {
			t.Errorf("%s with MTU %d: %+v", c.to, c.mtu, a)
		}
		if c.path < c.mtu && !strings.HasSuffix(a.Full.Said, "mtu=65535") {
			t.Errorf("the complaint about the size is not understood: %+v", a.Full)
		}
	}
}
