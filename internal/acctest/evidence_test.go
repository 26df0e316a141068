package acctest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Two hosts of different systems on one switch.
const (
	oneEnd, otherEnd = "debian12", "debian13"
	switchPort       = "0x0002c902004a1b00/"
	theSwitch        = "0x0002c90300112200" // of a lab of real kernels
)

// evidence is a fabric that is up, and what shows that it is.
type evidence struct {
	*Lab
	t      *testing.T
	ws     *Workspace
	base   Config   // of fabric and interfaces
	ends   []string // of its cables, in the order of the ports of the switch
	socket string   // begins the name of a port of the switch
}

// TestEvidence has two hosts on a fabric measured in every way, with real programs and real
// kernels on machines; then everything is broken that one of them can show.
func TestEvidence(t *testing.T) {
	t.Parallel()
	one, other := labs.Server(oneEnd, labsim.Debian12, "192.0.2.20", 0), labs.Server(otherEnd, labsim.Debian13,
		"192.0.2.21", 1)
	e := &evidence{t: t, ends: []string{oneEnd + "/1", oneEnd + "/2", otherEnd + "/1", otherEnd + "/2"}, socket: switchPort}
	if OnKernels() {
		// Hosts with a stack of their own get a gate, whose subnet manager would rule. Of a card
		// one port has a cable.
		e.ends, e.socket = []string{oneEnd + "/1", otherEnd + "/1"}, theSwitch+"/"
	} else {
		one.Stack, other.Stack = labsim.StackNetplan, labsim.StackNetworkManager
	}
	for _, h := range []*labs.Host{&one, &other} {
		h.Cmdline = "mlx4_core.port_type_array=1,1"
	}
	e.Lab = Start(t, Options{Hosts: []labs.Host{one, other}})
	drivers(e.Lab)
	e.ws = e.Workspace()
	e.base = Config{
		{Type: "infiniband_opensm", Name: "it",
			Attrs: map[string]any{"host": oneEnd, "port_guid": "0xe41d2d0300e44ed1", "priority": 14}},
		e.ipoib(oneEnd, "0xe41d2d0300e44ed1", 20), e.ipoib(otherEnd, "0xe41d2d0300e44ee1", 21),
	}
	mustApply(t, e.ws, e.base)
	emptyPlan(t, e.ws, e.base)
	t.Run("connectivity", e.on((*evidence).checkReach))
	t.Run("fabric", e.on((*evidence).checkFabric))
	t.Run("benchmark", e.on((*evidence).checkBenchmarks))
	t.Run("limits", e.on((*evidence).checkLimits))
	t.Run("servers", e.on((*evidence).checkNoServer))
	t.Run("broken", e.on((*evidence).checkBreakages))
}

// on makes a part of the scenario a test of its own.
func (e *evidence) on(part func(*evidence)) func(*testing.T) {
	return func(t *testing.T) {
		own := *e
		own.t = t
		part(&own)
	}
}

func (e *evidence) ipoib(host, guid string, last int) Resource {
	return Resource{Type: "infiniband_ipoib_interface", Name: host, After: []string{"infiniband_opensm.it"},
		Attrs: map[string]any{
			"host": host, "port_guid": guid, "mode": "connected", "mtu": 65520, "addresses": []any{e.address(last) + "/24"},
		}}
}

func (e *evidence) address(last int) string { return fmt.Sprintf("%s.%d", e.Subnet(oneEnd), last) }

// ping is infiniband_connectivity from one end to the other, and its problems.
func (e *evidence) ping(attrs map[string]any) (any, string) {
	e.t.Helper()
	all := map[string]any{"from": oneEnd, "to": otherEnd, "packets": 2}
	for k, v := range attrs {
		all[k] = v
	}
	return measurePing(e.t, e.ws, all)
}

func (e *evidence) checkReach() {
	got, problems := e.ping(map[string]any{"packets": 3, "packet_sizes": []any{1500, 2044}})
	for key, want := range map[string]string{
		"reachable": "true", "mtu_ok": "true", "path_mtu": "65520", "mtu": "65520", "loss_percent": "0", "mode": "connected",
		"interface": "ibp1s0", "target": e.address(21), "id": oneEnd + "/" + otherEnd,
	} {
		if s := fmt.Sprint(field(e.t, got, key)); s != want {
			e.t.Errorf("%s is %s, expected %s", key, s, want)
		}
	}
	for _, part := range [][]string{{"small"}, {"full"}, {"fragmented"}, {"sizes", "1500"}, {"sizes", "2044"}} {
		if n := fmt.Sprint(field(e.t, field(e.t, got, part...), "received")); n != "3" {
			e.t.Errorf("of 3 packets, %s %s came back", n, strings.Join(part, " "))
		}
	}
	if problems != "" {
		e.t.Errorf("problems:\n%s", problems)
	}
}

// look is infiniband_fabric as one end sees it.
func (e *evidence) look(attrs map[string]any) any {
	e.t.Helper()
	all := map[string]any{"host": oneEnd}
	for k, v := range attrs {
		all[k] = v
	}
	v, diags, err := e.ws.Data(context.Background(), "infiniband_fabric", all)
	if err != nil || diags.HasError() {
		e.t.Fatalf("%v %v", err, diags)
	}
	return v
}

func cables(ends ...string) []any { return cablesTo(switchPort, ends...) }

// cablesTo are cables from ends to the ports of a switch, in their order.
func cablesTo(socket string, ends ...string) []any {
	var all []any
	for i, end := range ends {
		all = append(all, map[string]any{"a": end, "b": fmt.Sprint(socket, i+1), "min_width": "4X", "min_speed": "QDR"})
	}
	return all
}

func (e *evidence) checkFabric() {
	got := e.look(map[string]any{"expected_links": cablesTo(e.socket, e.ends...)})
	if m := messages(e.t, got); m != "" {
		e.t.Errorf("differences:\n%s", m)
	}
	svg, _ := field(e.t, got, "svg").(string)
	for _, want := range []string{fmt.Sprintf("2 hosts, 2 cards, 1 switch, %d links", len(e.ends)), "SM " + oneEnd + ", priority 14"} {
		if !strings.Contains(svg, want) {
			e.t.Errorf("want %q in\n%s", want, svg)
		}
	}
	crossed := cablesTo(e.socket, otherEnd+"/1", oneEnd+"/2")
	if m := messages(e.t, e.look(map[string]any{"expected_links": crossed})); !strings.Contains(m,
		"missing: The cable "+otherEnd+"/1 - "+e.socket+"1 is not there.") {
		e.t.Errorf("differences:\n%s", m)
	}
}

// with adds a measurement of a second to the fabric.
func (e *evidence) with(cfg Config, test string, attrs map[string]any) Config {
	r := Resource{Type: "infiniband_benchmark", Name: test,
		After: []string{"infiniband_ipoib_interface." + oneEnd, "infiniband_ipoib_interface." + otherEnd}}
	r.Attrs = map[string]any{"server": otherEnd, "client": oneEnd, "test": test, "duration": "1s"}
	for k, v := range attrs {
		r.Attrs[k] = v
	}
	return append(slices.Clone(cfg), r)
}

func (e *evidence) result(test, key string) any { return e.ws.Get("infiniband_benchmark."+test, key) }

// measured is what a benchmark of the evidence has to give.
type measured struct {
	test, key   string
	least, most float64
	versions    [2]string // of client and server
}

// checkBenchmarks runs some programs in one apply, one at a time. What they measure depends
// on the machine; that they measure, and what with, does not.
func (e *evidence) checkBenchmarks() {
	cfg := e.with(e.with(e.with(e.base, "iperf3", map[string]any{"streams": 4}), "tcp_bw", nil), "tcp_lat", nil)
	all := []measured{
		{"iperf3", "gbps", 0.01, 1000, [2]string{"iperf 3.12 (cJSON 1.7.15)", "iperf 3.18 (cJSON 1.7.15)"}},
		{"tcp_bw", "gbps", 0.01, 1000, [2]string{"qperf 0.4.11", "qperf 0.4.11"}},
		{"tcp_lat", "latency_us", 1, 50000, [2]string{"qperf 0.4.11", "qperf 0.4.11"}},
	}
	if OnKernels() {
		cfg = e.with(cfg, "ib_write_bw", nil)
		all = append(all, measured{"ib_write_bw", "gbps", 0.01, 1000, [2]string{"perftest 6.06", "perftest 6.24"}})
	}
	mustApply(e.t, e.ws, cfg)
	for _, c := range all {
		got, err := strconv.ParseFloat(fmt.Sprint(e.result(c.test, c.key)), 64)
		e.t.Logf("measured: %s %s %.4g", c.test, c.key, got)
		if err != nil || got < c.least || got > c.most {
			e.t.Errorf("%s: %s is %v", c.test, c.key, e.result(c.test, c.key))
		}
		for key, want := range map[string]any{
			"client_version": c.versions[0], "server_version": c.versions[1], "address": e.address(21), "mode": "connected",
			"missed": false,
		} {
			if now := e.result(c.test, key); now != want {
				e.t.Errorf("%s: %s is %v, expected %v", c.test, key, now, want)
			}
		}
		for _, key := range []string{"client_rate", "server_rate"} {
			if rate := fmt.Sprint(e.result(c.test, key)); !strings.Contains(rate, " Gb/sec (4X ") {
				e.t.Errorf("%s: %s is %s", c.test, key, rate)
			}
		}
	}
	emptyPlan(e.t, e.ws, cfg)
	e.idle()
}

// idle: no server of a measurement is left, nor what it listened on.
func (e *evidence) idle() {
	e.t.Helper()
	if state, status := e.Try(otherEnd, "systemctl is-active infiniband-benchmark.service"); status == 0 {
		e.t.Errorf("the server is %s", state)
	}
	if e.testbed == nil {
		return
	}
	if left := e.Run(otherEnd, "ss -Hltn | grep -E ':(5201|18515|1976[56]) ' || :"); left != "" {
		e.t.Errorf("there still listens\n%s", left)
	}
}

// fails applies and expects an error that says all of it, and nothing in the state.
func (e *evidence) fails(cfg Config, says ...string) {
	e.t.Helper()
	diags, err := e.ws.Apply(context.Background(), cleanPlan(e.t, e.ws, cfg))
	if err != nil || !diags.HasError() {
		e.t.Fatalf("%v\n%s", err, diags)
	}
	e.t.Logf("%s", diags.Errors())
	for _, want := range says {
		if !strings.Contains(diags.String(), want) {
			e.t.Errorf("want %q in\n%s", want, diags)
		}
	}
	for address := range e.ws.State {
		if strings.HasPrefix(address, "infiniband_benchmark.") {
			e.t.Errorf("%s is in the state", address)
		}
	}
}

// checkLimits holds that a limit that is missed leaves nothing or warns, and that a
// trigger measures again.
func (e *evidence) checkLimits() {
	mustApply(e.t, e.ws, e.base)
	wants := func(attrs map[string]any) Config { return e.with(e.base, "tcp_lat", attrs) }
	e.fails(wants(map[string]any{"max_latency_us": 1}), "Finding: BM004", " µs, more than max_latency_us = 1.",
		"From "+oneEnd+" to "+otherEnd+" ("+e.address(21)+") tcp_lat took")
	e.idle()
	agreed := map[string]any{"max_latency_us": 1, "on_miss": "warn", "triggers": map[string]any{"firmware": "1"}}
	if diags := mustApply(e.t, e.ws, wants(agreed)); !strings.Contains(diags.String(), "Finding: BM004") {
		e.t.Errorf("no warning:\n%s", diags)
	}
	emptyPlan(e.t, e.ws, wants(agreed))
	before := e.result("tcp_lat", "measured_at")
	time.Sleep(time.Second) // which it counts in
	agreed["triggers"] = map[string]any{"firmware": "2"}
	mustApply(e.t, e.ws, wants(agreed))
	if now := e.result("tcp_lat", "measured_at"); now == before {
		e.t.Errorf("a trigger measured nothing: %v", now)
	}
	e.idle()
}

// checkNoServer holds that what keeps a client from its server is named.
func (e *evidence) checkNoServer() {
	mustApply(e.t, e.ws, e.base)
	e.Firewall(otherEnd, true)
	if _, problems := e.ping(nil); !strings.Contains(problems,
		"unreachable: "+e.address(21)+
			" does not answer: 0 of 2 packets came back. Both ends look right. Check a firewall that drops ICMP") {
		e.t.Errorf("problems:\n%s", problems)
	}
	for test, port := range map[string]string{"iperf3": "TCP 5201", "tcp_lat": "TCP 19765, TCP and UDP 19766"} {
		if test != "iperf3" && e.testbed == nil {
			continue // qperf tries for long, in which a simulated server's time is over
		}
		e.fails(e.with(e.base, test, nil), "The server on "+otherEnd+" does not answer at "+e.address(21),
			"which has to let "+port+" through")
		e.idle()
	}
	e.Firewall(otherEnd, false)
	e.Run(otherEnd, "systemd-run --quiet --collect --unit=infiniband-benchmark.service sleep 600")
	e.fails(e.with(e.base, "iperf3", nil), "Another benchmark runs on "+otherEnd)
	e.Run(otherEnd, "systemctl stop infiniband-benchmark.service")
	// A server of the host's own does as well, and is left alone.
	e.Run(otherEnd, "systemd-run --quiet --collect --unit=somebody iperf3 -s -1 -B "+e.address(21)+" -p 5201; sleep 1")
	mustApply(e.t, e.ws, e.with(e.base, "iperf3", nil))
	e.idle()
}

// checkBreakages holds that each thing that keeps packets from passing is named, and
// that an apply mends it.
func (e *evidence) checkBreakages() {
	const dev = "ibp1s0"
	theirs, ours := dev+" of "+otherEnd, dev+" of "+oneEnd
	for name, b := range map[string]breakage{
		"MTU": {"ip link set dev " + dev + " mtu 65500", []int{65520}, []string{
			"mtu: " + theirs + " has MTU 65500 and " + ours +
				" has 65520: packets longer than 65500 may not pass in one piece. Give both the same MTU."}},
		// On real kernels the connection that was there before goes on.
		"mode": {"echo datagram > /sys/class/net/" + dev + "/mode", []int{2044, 65520}, []string{
			"mode: " + ours + " is in connected mode and " + theirs + " in datagram mode: only datagrams are sure to pass " +
				"between them.", "mtu: " + theirs + " has MTU 2044"}},
		"address": {"ip addr del " + e.address(21) + "/24 dev " + dev,
			nil, []string{"no_address: " + theirs + " has no address that could be pinged."}},
		"subnet": {"ip addr del " + e.address(21) + "/24 dev " + dev + " && ip addr add 10.9.9.9/24 dev " + dev, nil, []string{
			"subnet: " + e.address(20) + "/24 of " + ours + " is in another subnet than 10.9.9.9.",
			"unreachable: 10.9.9.9 does not answer: 0 of 2 packets came back."}},
		// A network stack may take the address away some seconds after the link went down.
		"down": {"ip link set dev " + dev + " down", nil, []string{
			"interface_down: " + theirs + " is down",
			"unreachable: " + e.address(21) + " does not answer: 0 of 2 packets came back." + or +
				"no_address: " + theirs + " has no address that could be pinged."}},
	} {
		e.t.Run(name, e.on(func(e *evidence) { e.checkMended(b) }))
	}
	e.t.Run("subnet manager", e.on((*evidence).checkNoManager))
	e.t.Run("cable", e.on((*evidence).checkNoCable))
}

// or stands between two texts of which one is named.
const or = " or "

// breakage is a command on the other end, the path MTU after it, which is one of several or
// none, and what is named.
type breakage struct {
	spoil string
	paths []int
	says  []string
}

func (e *evidence) checkMended(b breakage) {
	e.Run(otherEnd, b.spoil)
	got, problems := e.ping(nil)
	e.t.Logf("%s:\n%s", b.spoil, problems)
	path, err := strconv.Atoi(fmt.Sprint(field(e.t, got, "path_mtu")))
	if passes := err == nil; passes != (len(b.paths) > 0) || passes && !slices.Contains(b.paths, path) ||
		fmt.Sprint(field(e.t, got, "mtu_ok")) != strconv.FormatBool(path == 65520) {
		e.t.Errorf("path MTU %d, mtu_ok %v", path, field(e.t, got, "mtu_ok"))
	}
	if cut := strings.Contains(problems, "oversized: "); cut != (path != 65520 && path != 0) {
		e.t.Errorf("path MTU %d:\n%s", path, problems)
	}
	for _, want := range b.says {
		if !slices.ContainsFunc(strings.Split(want, or), func(one string) bool { return strings.Contains(problems, one) }) {
			e.t.Errorf("want %q in\n%s", want, problems)
		}
	}
	mustApply(e.t, e.ws, e.base)
	e.findWay()
	if _, problems = e.ping(nil); problems != "" {
		e.t.Errorf("mended:\n%s", problems)
	}
}

// findWay waits for a first answer: packets may be lost while a subnet manager is asked for the way.
func (e *evidence) findWay() {
	e.t.Helper()
	if e.testbed != nil {
		e.Run(oneEnd, "for i in $(seq 60); do ping -c 1 -W 1 "+e.address(21)+" >/dev/null && exit; done; exit 1")
	}
}

// checkNoManager holds that without a subnet manager what is up stays up, and that the
// fabric says so.
func (e *evidence) checkNoManager() {
	const unit = "opensm@0xe41d2d0300e44ed1.service"
	e.findWay()      // what has no way yet gets none without a subnet manager
	if OnKernels() { // one that hangs has not ended, and its kernel does not answer for it
		e.Run(oneEnd, "systemctl kill -s STOP "+unit)
		if m := messages(e.t, e.look(nil)); !strings.Contains(m,
			"no_sm: Whether a subnet manager rules this fabric is not known: nobody answers sminfo at the SM LID of the port.") {
			e.t.Errorf("a subnet manager that hangs:\n%s", m)
		}
		e.Run(oneEnd, "systemctl kill -s CONT "+unit)
	}
	e.Run(oneEnd, "systemctl stop "+unit)
	// The ports still have the LID of the one that was stopped. The kernel there answers that
	// it has none.
	if m := messages(e.t, e.look(nil)); !strings.Contains(m, "no_sm: No subnet manager rules this fabric") {
		e.t.Errorf("differences:\n%s", m)
	}
	if _, problems := e.ping(nil); problems != "" {
		e.t.Errorf("problems:\n%s", problems)
	}
	mustApply(e.t, e.ws, e.base)
}

// checkNoCable holds that a cable that is out is seen at the interface and in the fabric.
func (e *evidence) checkNoCable() {
	e.Unplug(otherEnd, 1)
	if _, problems := e.ping(nil); !strings.Contains(problems,
		"no_carrier: Port 1 of card 0000:01:00.0 in "+otherEnd+" has no link") {
		e.t.Errorf("problems:\n%s", problems)
	}
	gone := "missing: The cable " + otherEnd + "/1 - " + e.socket + "3 is not there. Port 1 of " + otherEnd + " has no link."
	if OnKernels() { // nothing else connects the host
		gone = "missing: The cable " + otherEnd + "/1 - " + e.socket + "2 is not there: no node of the fabric is called " + otherEnd + "/1."
	}
	if m := messages(e.t, e.look(map[string]any{"expected_links": cablesTo(e.socket, e.ends...)})); !strings.HasPrefix(m, gone) {
		e.t.Errorf("differences:\n%s", m)
	}
	e.fails(e.with(e.base, "iperf3", nil), "There is no way from "+oneEnd+" to "+otherEnd+" to measure")
}
