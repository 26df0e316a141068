package acctest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/network"
)

func measurement(attrs map[string]any) Config {
	return Config{Resource{Type: "infiniband_benchmark", Name: "it", Attrs: map[string]any{
		"server": labs.Xeon2zfs, "client": labs.Intel9, "test": "iperf3", "streams": 4, "duration": "2s",
	}}.With(attrs)}
}

func benchmarkFindings() []findingCase {
	wants := func(attrs map[string]any) func(*Lab) Config {
		return func(*Lab) Config { return measurement(attrs) }
	}
	return []findingCase{
		{code: "BM001", at: "test", says: []string{"TrueNAS", "has no qperf"}, prepare: drivers,
			config: wants(map[string]any{"test": "tcp_lat", "streams": 1})},
		{code: "PF003", says: []string{"The package iperf3 will be installed", "intel9 has no iperf3."}, prepare: drivers,
			config: wants(nil)},
	}
}

// A measurement is made once, kept, and made again by a trigger; a limit that is
// missed is an error that says what was reached, or a warning.
func TestBenchmark_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	lab := w.BothHosts()
	mustApply(t, ws, lab)
	with := func(attrs map[string]any) Config { return append(append(Config{}, lab...), measurement(attrs)...) }
	first := with(map[string]any{"min_gbps": 20})
	mustApply(t, ws, first)
	emptyPlan(t, ws, first)
	runs := w.Count(labs.Intel9, "iperf3", "-c")
	if out := w.Run(labs.Xeon2zfs,
		"systemctl list-units --all 2>/dev/null | grep benchmark || true"); strings.Contains(out, "benchmark") {
		t.Errorf("the server is left: %s", out)
	}

	// Timeouts alone are stored, and the time of a measurement ends it.
	mustApply(t, ws, with(map[string]any{"min_gbps": 20, "timeouts": map[string]any{"update": "1ns"}}))
	if now := w.Count(labs.Intel9, "iperf3", "-c"); now != runs {
		t.Errorf("timeouts measured: %d runs before, %d now", runs, now)
	}
	over := with(map[string]any{"min_gbps": 21, "timeouts": map[string]any{"update": "1ns"}})
	if said, applyErr := ws.Apply(context.Background(), cleanPlan(t, ws, over)); applyErr != nil ||
		len(said.Errors().Find("timeouts.update = 1ns is over")) == 0 {
		t.Errorf("%v\n%s", applyErr, said)
	}

	missed := with(map[string]any{"min_gbps": 50})
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, missed))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Finding: BM004", "Gb/s, less than min_gbps = 50",
		"From intel9 to xeon2zfs (172.16.0.10)", "has MTU 9216"} {
		if !strings.Contains(diags.String(), want) {
			t.Errorf("want %q in\n%s", want, diags)
		}
	}
	of := func(fdr int) Config {
		return with(map[string]any{"min_gbps": 90,
			"limits": []any{map[string]any{"link": "QDR", "min_gbps": 80}, map[string]any{"link": "4X FDR", "min_gbps": fdr}}})
	}
	if diags, err = ws.Apply(context.Background(), cleanPlan(t, ws, of(70))); err != nil ||
		!strings.Contains(diags.String(), "less than min_gbps = 70 of limits for 4X FDR") {
		t.Errorf("%v\n%s", err, diags)
	}
	mustApply(t, ws, of(1))
	emptyPlan(t, ws, of(1))
	agreed := with(map[string]any{"min_gbps": 50, "on_miss": "warn"})
	if diags = mustApply(t, ws, agreed); !strings.Contains(diags.String(), "Finding: BM004") {
		t.Errorf("no warning:\n%s", diags)
	}
	emptyPlan(t, ws, agreed)
	again := with(map[string]any{"min_gbps": 50, "on_miss": "warn", "triggers": map[string]any{"firmware": "2"}})
	mustApply(t, ws, again)
	if now := w.Count(labs.Intel9, "iperf3", "-c"); now <= runs {
		t.Errorf("a trigger measured nothing: %d runs before, %d now", runs, now)
	}

	// Each result is a line of the notes of the client, also one that failed the apply; nothing else is.
	const notes = stateDir + "/benchmarks"
	lines := strings.Split(strings.TrimSpace(w.Run(labs.Intel9, "cat "+notes)), "\n")
	line := regexp.MustCompile(`^(verified|failed)\ttime=\S+\tid=\w+\tby=[^\t]+\twhat=benchmark\tobject=iperf3, 4 streams\t` +
		`from=intel9, ibp1s0\tto=xeon2zfs, 172\.16\.0\.10\ttext=[0-9.]+ Gb/s, min_gbps = ([0-9]+); connected MTU \d+, ` +
		`56 Gb/sec \(4X FDR\)\t\.$`)
	var noted []string
	for _, l := range lines {
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("not a result: %q", l)
		}
		noted = append(noted, m[1]+" "+m[2])
	}
	if want := []string{"verified 20", "failed 50", "failed 70", "verified 1", "failed 50", "failed 50"}; !slices.Equal(noted, want) {
		t.Errorf("noted %q, want %q", noted, want)
	}
	w.Run(labs.Intel9, "rm "+notes+" && mkdir "+notes)
	unnoted := with(map[string]any{"triggers": map[string]any{"firmware": "unnoted"}})
	if diags = mustApply(t, ws, unnoted); !strings.Contains(diags.String(),
		"Not noted: result of benchmark intel9/xeon2zfs/iperf3") {
		t.Errorf("no warning of a note that cannot be written:\n%s", diags)
	}
	emptyPlan(t, ws, unnoted)
	w.Run(labs.Intel9, "rmdir "+notes)

	// A provider that was killed leaves a server; it ends by itself.
	w.Run(labs.Xeon2zfs, "systemd-run --quiet --collect --unit=infiniband-benchmark.service --property=RuntimeMaxSec=36000 -- iperf3 -s -1 -B 172.16.0.10 -p 5201")
	third := with(map[string]any{"triggers": map[string]any{"firmware": "3"}})
	if diags, err = ws.Apply(context.Background(), cleanPlan(t, ws, third)); err != nil ||
		!strings.Contains(diags.String(), "Another benchmark runs on xeon2zfs") {
		t.Errorf("%v\n%s", err, diags)
	}
	w.Clock.Skip(11 * time.Hour)
	time.Sleep(time.Second)
	mustApply(t, ws, third)

	network.SetFirewall(w.Machine(labs.Xeon2zfs), true)
	blocked := with(map[string]any{"triggers": map[string]any{"firmware": "4"}})
	diags, err = ws.Apply(context.Background(), cleanPlan(t, ws, blocked))
	if err != nil || !strings.Contains(diags.String(), "does not answer at 172.16.0.10") ||
		!strings.Contains(diags.String(), "which has to let TCP 5201 through") {
		t.Errorf("%v\n%s", err, diags)
	}
}

// qperf and perftest between two Debian hosts with a cable between them: packages
// come from the distribution, and RDMA goes from port to port.
func TestBenchmark_of_the_other_tools(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: labs.PointToPoint()})
	const a, b = "debian1", "debian2"
	for i, host := range []string{a, b} {
		w.Run(host, "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q rdma-core && modprobe ib_ipoib")
		if i == 0 {
			w.Run(host, "DEBIAN_FRONTEND=noninteractive apt-get install -y -q opensm")
		}
	}
	for i, host := range []string{a, b} {
		for _, d := range w.Machine(host).Netdevs() {
			if d.Port != nil && d.Port.Number == 1 && d.Parent == "" {
				w.Run(host, "ip link set dev "+d.Name+" up && ip addr add 10.77.0."+string(rune('1'+i))+"/24 dev "+d.Name)
			}
		}
	}
	ws := w.Workspace()
	for test, want := range map[string][2]string{
		"tcp_lat": {"latency_us", "13.2"}, "tcp_bw": {"gbps", "5"}, "ib_write_bw": {"gbps",
			"15.52"}, "ib_send_lat": {"latency_us", "1.21"},
	} {
		cfg := measurement(map[string]any{"server": b, "client": a, "test": test, "streams": 1})
		mustApply(t, ws, cfg)
		if got := fmt.Sprint(ws.Get("infiniband_benchmark.it", want[0])); got != want[1] {
			t.Errorf("%s: %s is %s, expected %s", test, want[0], got, want[1])
		}
	}
	if got := fmt.Sprint(ws.Get("infiniband_benchmark.it", "client_rate"), ", ",
		ws.Get("infiniband_benchmark.it", "client_version")); !strings.HasPrefix(got, "20 Gb/sec (4X DDR), ") {
		t.Errorf("got %s", got)
	}
	// perftest of Debian 12, on a host without a driver of user space for the card.
	w.Machine(a).Faults.Trap("ib_send_bw -F", 1, labsim.ProgramFault{Lie: true, Status: 1,
		Says: func(*labsim.Proc, string) string { return " Unable to find the Infiniband/RoCE device" }})
	diags, err := ws.Apply(t.Context(), cleanPlan(t, ws, measurement(map[string]any{"server": b, "client": a,
		"test": "ib_send_bw", "streams": 1})))
	if says := "erftest cannot open the RDMA device mthca0 of debian1"; err != nil ||
		!strings.Contains(diags.String(), says) || !strings.Contains(diags.String(), "module ib_uverbs") {
		t.Errorf("%v\n%s", err, diags)
	}
}

// A link has just come up, and the subnet manager has not swept yet: the measurement waits.
func TestBenchmark_waits_for_a_sweep(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: labs.PointToPoint()})
	const a, b = "debian1", "debian2"
	for i, host := range []string{a, b} {
		w.Run(host, "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q rdma-core && modprobe ib_ipoib")
		for _, d := range w.Machine(host).Netdevs() {
			if d.Port != nil && d.Port.Number == 1 && d.Parent == "" {
				w.Run(host, "ip link set dev "+d.Name+" up && ip addr add 10.77.0."+string(rune('1'+i))+"/24 dev "+d.Name)
			}
		}
	}
	w.Machine(a).Faults.Trap("/ports/1/state", 2, labsim.ProgramFault{Do: func() {
		w.AddSM(&labsim.SM{Port: w.Machine(a).Cards()[0].Ports[0]})
	}})
	mustApply(t, w.Workspace(), measurement(map[string]any{"server": b, "client": a, "streams": 1}))
}
