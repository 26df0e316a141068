// Package benchmark holds iperf3, qperf and perftest of a simulated host.
//
// It must not carry data: what a test measures follows from the link and the mode of
// the interface. A flag that it does not model is refused and recorded as a violation.
package benchmark

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/network"
)

// state is what the programs of one machine share.
type state struct {
	m *labsim.Machine

	mu        sync.Mutex
	listeners map[int]*listener // by port
}

func stateOf(m *labsim.Machine) *state {
	s, _ := m.Value("benchmark", func() any { return &state{m: m, listeners: map[int]*listener{}} }).(*state)
	return s
}

// versions are what programs of Debian 12 and 13 say that they are.
type versions struct{ iperf3, perftest string }

func versionsOf(m *labsim.Machine) versions {
	if m.OS == labsim.Debian13 {
		return versions{"3.18", "6.24"}
	}
	return versions{"3.12", "6.06"}
}

// listener is a server of a benchmark that waits for clients.
type listener struct {
	program string
	addr    netip.Addr // invalid: any
	served  chan struct{}
}

// InstallPerftest installs the programs of perftest.
func InstallPerftest(m *labsim.Machine) {
	for _, name := range []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat",
		"ib_send_lat"} {
		m.Install("/usr/bin/"+name, perftest)
	}
}

// serve waits for a client, or until it is stopped; a server of one test ends
// after it.
func (s *state) serve(ctx context.Context, p *labsim.Proc, port int, l *listener, once bool) int {
	s.mu.Lock()
	if s.listeners[port] != nil {
		s.mu.Unlock()
		p.Errorf("%s: error - unable to start listener for connections: Address already in use\n", l.program)
		return 1
	}
	l.served = make(chan struct{}, 1)
	s.listeners[port] = l
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, port)
	}()
	for {
		select {
		case <-l.served:
			if once {
				return 0
			}
		case <-ctx.Done():
			return labsim.SignalStatus(ctx)
		}
	}
}

// connection is a client's way to a server.
type connection struct {
	dev, peer labsim.Netdev
	server    *listener
	problem   string // why there is none
}

// connect finds who listens at an address.
func (s *state) connect(dst netip.Addr, port int, program string) connection {
	dev, src, _, ok := network.Of(s.m).Route(dst)
	if !ok {
		return connection{problem: "Network is unreachable"}
	}
	switch network.Of(s.m).Reaches(&dev, src, dst, 100) {
	case network.Reached:
	case network.Unreachable:
		return connection{problem: "No route to host"}
	case network.Lost:
		return connection{problem: "Connection timed out"}
	}
	for _, m := range s.m.Lab.Machines() {
		for _, d := range m.Netdevs() {
			if !network.HasAddr(&d, dst) {
				continue
			}
			other := stateOf(m)
			other.mu.Lock()
			l := other.listeners[port]
			other.mu.Unlock()
			if l == nil || l.program != program || l.addr.IsValid() && l.addr != dst {
				return connection{problem: "Connection refused"}
			}
			return connection{dev: dev, peer: d, server: l}
		}
	}
	return connection{problem: "No route to host"}
}

// run lets the time of a test pass and tells the server that it is over.
func (c connection) run(ctx context.Context, m *labsim.Machine, seconds int) {
	_ = m.Lab.Clock.Sleep(ctx, time.Duration(seconds)*time.Second)
	select {
	case c.server.served <- struct{}{}:
	default:
	}
}

// linkGbps is what the slower of two ports carries after its encoding; 10 for
// what is not InfiniBand.
func linkGbps(a, b *labsim.Port) float64 {
	best := 10.0
	for i, p := range []*labsim.Port{a, b} {
		if p == nil {
			continue
		}
		v := p.View()
		lane := map[string]float64{"SDR": 2, "DDR": 4, "QDR": 8, "FDR": 13.64, "EDR": 25, "HDR": 50,
			"NDR": 100}[v.Trained.Name()]
		if rate := lane * float64(v.Trained.Lanes()); i == 0 || rate < best {
			best = rate
		}
	}
	return best
}

// tcpGbps: connected mode fills most of a link; datagram mode is bound by the
// CPU, a single stream more so (features.md 3.6 says that it is expected; the
// numbers are the lab's own).
func (c connection) tcpGbps(streams int) float64 {
	rate := 0.9 * linkGbps(c.dev.Port, c.peer.Port)
	if c.dev.Mode == "datagram" || c.peer.Mode == "datagram" {
		return min(rate, float64(min(streams, 4))*5)
	}
	return min(rate, float64(streams)*20)
}

// Iperf3 is iperf 3.12: one TCP test with JSON output, or its server. With -J it
// exits 0 whatever happened.
func Iperf3(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "s", "1", "B=", "p=", "c=",
		"t=", "P=", "J", "connect-timeout=", "version")
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("form of iperf3 " + bad)
	}
	if o.Has("version") {
		p.Printf("iperf %s (cJSON 1.7.15)\nLinux %s %s\n", versionsOf(p.Machine).iperf3, p.Machine.Name, p.Machine.Kernel)
		return 0
	}
	s := stateOf(p.Machine)
	port, errPort := strconv.Atoi(o.Or("p", "5201"))
	if o.Has("s") {
		addr, err := netip.ParseAddr(o.Or("B", "0.0.0.0"))
		if err != nil || errPort != nil || !o.Has("1") || addr.IsUnspecified() {
			return p.Unknown("form of iperf3 -s")
		}
		if !network.Of(s.m).LocalAddr(addr) {
			p.Errorf("iperf3: error - unable to start listener for connections: Cannot assign requested address\n")
			return 1
		}
		return s.serve(ctx, p, port, &listener{program: "iperf3", addr: addr}, true)
	}
	dst, err := netip.ParseAddr(o.Or("c", ""))
	seconds, errTime := strconv.Atoi(o.Or("t", "10"))
	streams, errStreams := strconv.Atoi(o.Or("P", "1"))
	if err != nil || errPort != nil || errTime != nil || errStreams != nil || !o.Has("J") {
		return p.Unknown("form of iperf3 -c")
	}
	c := s.connect(dst, port, "iperf3")
	if c.problem != "" {
		p.Printf("{\n\t\"start\":\t{\n\t\t\"connected\":\t[],\n\t\t\"version\":\t\"iperf "+
			"3.12\"\n\t},\n\t\"intervals\":\t[],\n\t\"end\":\t{\n\t},\n\t\"error\":\t\"unable to connect to server: %s\"\n}\n",
			c.problem)
		return 0
	}
	c.run(ctx, p.Machine, seconds)
	connected := strings.TrimSuffix(strings.Repeat(`{"socket":5},`, streams), ",")
	p.Printf("{\"start\":{\"connected\":[%s],\"version\":\"iperf "+
		"3.12\"},\"intervals\":[],\"end\":{\"sum_sent\":{\"retransmits\":0},\"sum_received\":{\"bits_per_second\":%.0f}}}\n",
		connected, c.tcpGbps(streams)*1e9)
	return 0
}

// Qperf is qperf 0.4.11. Its flags have several letters behind one dash.
func Qperf(ctx context.Context, p *labsim.Proc) int {
	args, port, seconds := p.Args[1:], 19765, 2
	if slices.Equal(args, []string{"--version"}) {
		p.Printf("qperf 0.4.11\n")
		return 0
	}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		value := 0
		if args[0] == "-uu" {
			args = args[1:]
			continue
		}
		if len(args) > 1 {
			value, _ = strconv.Atoi(args[1])
		}
		switch {
		case value <= 0:
			return p.Unknown("option " + args[0])
		case args[0] == "-lp":
			port = value
		case args[0] == "-t":
			seconds = value
		case args[0] != "-ip":
			return p.Unknown("option " + args[0])
		}
		args = args[2:]
	}
	s := stateOf(p.Machine)
	if len(args) == 0 {
		return s.serve(ctx, p, port, &listener{program: "qperf"}, false)
	}
	dst, err := netip.ParseAddr(args[0])
	if err != nil || len(args) != 2 || !slices.Contains([]string{"tcp_bw", "tcp_lat", "udp_lat"}, args[1]) {
		return p.Unknown("form of qperf")
	}
	p.Printf("%s:\n", args[1])
	c := s.connect(dst, port, "qperf")
	if c.problem != "" {
		p.Errorf("%s: failed to connect\n", dst)
		return 1
	}
	c.run(ctx, p.Machine, seconds)
	switch args[1] {
	case "tcp_bw":
		p.Printf("    bw  =  %.0f bytes/sec\n", c.tcpGbps(1)*1e9/8)
	case "tcp_lat":
		p.Printf("    latency  =  13200 ns\n")
	default:
		p.Printf("    latency  =  11800 ns\n")
	}
	return 0
}

// perftest is perftest 4.5 with a duration.
func perftest(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "F", "d=", "i=", "p=", "D=",
		"report_gbits", "version")
	bandwidth := strings.HasSuffix(p.Name(), "_bw")
	if bad != "" || len(o.Args) > 1 || o.Has("report_gbits") && !bandwidth {
		return p.Unknown("form of " + p.Name() + " " + bad)
	}
	if o.Has("version") {
		p.Printf("Version: %s\n", versionsOf(p.Machine).perftest)
		return 0
	}
	port, err := strconv.Atoi(o.Or("p", "18515"))
	seconds, errTime := strconv.Atoi(o.Or("D", ""))
	if err != nil || errTime != nil {
		return p.Unknown("form of " + p.Name())
	}
	s := stateOf(p.Machine)
	if !s.hasRDMA(o.Or("d", ""), o.Or("i", "1")) {
		p.Errorf(" Unable to find the Infiniband/RoCE device\n")
		return 1
	}
	if len(o.Args) == 0 {
		return s.serve(ctx, p, port, &listener{program: p.Name()}, true)
	}
	dst, err := netip.ParseAddr(o.Args[0])
	if err != nil {
		return p.Unknown("address " + o.Args[0])
	}
	c := s.connect(dst, port, p.Name())
	if c.problem != "" {
		p.Errorf("Couldn't connect to %s:%d\n Unable to open file descriptor for socket connection Unable to init the "+
			"socket connection\n", dst, port)
		return 1
	}
	c.run(ctx, p.Machine, seconds)
	if !bandwidth {
		p.Printf(" #bytes        #iterations       t_avg[usec]    tps average\n 2             %d          1.21           "+
			"826446.28\n", seconds*413223)
		return 0
	}
	p.Printf(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      %d          "+
		"0.00               %.2f  \t\t   0.057199\n",
		seconds*57199, 0.97*linkGbps(c.dev.Port, c.peer.Port))
	return 0
}

func (s *state) hasRDMA(device, number string) bool {
	for _, card := range s.m.Cards() {
		if card.RDMA == device && device != "" {
			n, err := strconv.Atoi(number)
			return err == nil && n >= 1 && n <= len(card.Ports)
		}
	}
	return false
}
