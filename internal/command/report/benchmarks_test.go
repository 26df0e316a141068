package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/history"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// measured is a line of the notes of a host.
func measured(outcome, time, object, to, text string) string {
	return outcome + "\ttime=" + time + "\tid=" + time + object + to + text + "\tby=alice@desk pid 7\twhat=benchmark\tobject=" +
		object + "\tfrom=node001, ibp1s0\tto=" + to + "\ttext=" + text + "\t.\n"
}

// benchmarks are the notes of node001: three results that one host wrote, and what only a liar writes.
var benchmarks = measured("verified", "2026-01-02T03:04:05Z", "iperf3", "node000, 172.16.0.20", "40 Gb/s, min_gbps = 35; connected MTU 65520") +
	measured("failed", "2026-01-04T03:04:05Z", "iperf3", "node000, 172.16.0.20", "30.125 Gb/s, min_gbps = 35; 2 segments sent again") +
	measured("verified", "2026-01-03T03:04:05Z", "iperf3", "node000, 172.16.0.20", "41.5 Gb/s") +
	measured("verified", "2026-01-03T04:04:05Z", "iperf3, 4 streams", "node000, 172.16.0.20", "44 Gb/s") +
	measured("verified", "2026-01-05T03:04:05Z", "tcp_lat", hostileServer+", 172.16.0.20", `12.5 µs; "><img src=x onerror=alert(5)>`) +
	measured("verified", "2026-01-06T03:04:05Z", "iperf3", "node000, 172.16.0.20", "NaN Gb/s") +
	measured("verified", "2026-01-06T03:04:06Z", "iperf3", "node000, 172.16.0.20", "1e999 Gb/s") +
	measured("verified", "2026-01-06T03:04:07Z", "iperf3", "node000, 172.16.0.20", "-1 Gb/s") +
	measured("verified", "2026-01-06T03:04:08Z", "iperf3", "node000, 172.16.0.20", "13 µs") +
	measured("verified", "2026-01-06T03:04:09Z", "iperf3", "node000", "13 Gb/s") +
	measured("verified", "2026-01-06T03:04:10Z", "rm_rf", "node000, 172.16.0.20", "13 Gb/s") +
	measured("verified", "soon", "iperf3", "node000, 172.16.0.20", "13 Gb/s")

// The page has the results between each pair of ends, and the file of metrics the last one.
func TestReport_shows_benchmarks_over_time(t *testing.T) {
	w, hosts := troubled(t)
	r := run(t, w, hosts)
	d := parse(t, r.page)
	pairs := d.rows(t, "benchmarks")
	if len(pairs) != 3 || pairs[0]["Last"] != "30.125 Gb/s" || pairs[0]["Over time"] !=
		"30.125 Gb/s to 41.5 Gb/s, 2026-01-02 03:04 UTC to 2026-01-04 03:04 UTC" {
		t.Errorf("the pairs of ends: %v", pairs)
	}
	d.has(t, "benchmarks", map[string]string{"From": "node001", "To": "node000, 172.16.0.20", "Test": "iperf3",
		"Limit": "at least 35 Gb/s", "Best": "41.5 Gb/s", "When": "2026-01-04 03:04 UTC"})
	d.has(t, "benchmarks", map[string]string{"Test": "iperf3, 4 streams", "Last": "44 Gb/s"})
	d.has(t, "benchmarks", map[string]string{"To": hostileServer, "Test": "tcp_lat", "Last": "12.5 µs", "Best": "12.5 µs"})
	if rows := d.rows(t, "results"); len(rows) != 5 || rows[0]["Result"] != "30.125 Gb/s" || rows[1]["Result"] != "41.5 Gb/s" ||
		rows[2]["With"] != "connected MTU 65520" || rows[2]["By"] != "alice@desk pid 7" {
		t.Errorf("the results: %v", rows)
	}
	for _, row := range d.rows(t, "changes") {
		if row["What"] == "benchmark" {
			t.Errorf("a result is among the changes: %v", row)
		}
	}
	drawn := 0
	for part := range strings.SplitSeq(r.page, `<svg class="over"`) {
		if svg, _, found := strings.Cut(part, "</svg>"); found && drawn >= 0 && !strings.HasPrefix(part, "<!DOCTYPE") {
			drawn++
			wellFormed(t, `<svg class="over"`+svg+"</svg>")
		}
	}
	want := `<path d="M5.0 6.1L90.0 5.0L175.0 13.2"/>`
	if !strings.Contains(r.page, want) || drawn != 3 || strings.Count(r.page, `<circle class="warn"`) != 1 ||
		!strings.Contains(r.page, `<path class="limit" d="M5 9.7H175"/>`) {
		t.Errorf("%d lines are drawn, or not as the results are:\n%s", drawn, r.page[strings.Index(r.page, `<svg class="over"`):][:700])
	}
	checkHarmless(t, d)
	checkMetrics(t, r.metrics)
	const of = `{host="node001",server="node000",address="172.16.0.20",test="iperf3",streams=`
	for _, want := range []string{"infiniband_benchmark_bytes_per_second" + of + `"1"} 3765625000`,
		"infiniband_benchmark_bytes_per_second" + of + `"4"} 5500000000`,
		"infiniband_benchmark_timestamp_seconds" + of + `"1"} 1767495845`,
		`infiniband_benchmark_latency_seconds{host="node001",server="` + hostileServer + `",address="172.16.0.20",` +
			`test="tcp_lat",streams="1"} 0.0000125`} {
		if !strings.Contains(r.metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, r.metrics)
		}
	}
}

// What the resource measures is on the page, whether its limit was met or missed, and history prints it.
func TestReport_after_benchmarks(t *testing.T) {
	w := fleet(t, 2, func(int, *labs.Host) {})
	for i, host := range w.Names() {
		address(w, host, "ibp1s0", netip.MustParsePrefix(fmt.Sprintf("172.16.0.2%d/24", i)))
	}
	ws := w.Workspace()
	for i, limit := range []int{1, 500} {
		plan, err := ws.Plan(t.Context(), acctest.Config{{Type: "infiniband_benchmark", Name: "it", Attrs: map[string]any{
			"client": "node000", "server": "node001", "test": "tcp_bw", "duration": "1s", "min_gbps": limit, "on_miss": "warn",
			"triggers": map[string]any{"run": fmt.Sprint(i)}}}})
		if err != nil || plan.Diags.HasError() {
			t.Fatalf("%v\n%s", err, plan.Diags)
		}
		if diags, err := ws.Apply(t.Context(), plan); err != nil || diags.HasError() {
			t.Fatalf("%v\n%s", err, diags)
		}
	}
	r := run(t, w, w.Names())
	d := parse(t, r.page)
	last := strings.TrimSuffix(fmt.Sprint(ws.Get("infiniband_benchmark.it", "gbps")), ".0") + " Gb/s"
	d.has(t, "benchmarks", map[string]string{"From": "node000", "To": "node001, 172.16.0.21", "Test": "tcp_bw", "Last": last,
		"Limit": "at least 500 Gb/s"})
	if rows := d.rows(t, "results"); len(rows) != 2 || rows[0]["Limit"] != "at least 500 Gb/s" || rows[1]["Limit"] !=
		"at least 1 Gb/s" || !strings.Contains(rows[0]["With"], "MTU 2044, 56 Gb/sec (4X FDR)") {
		t.Errorf("the results: %v", rows)
	}
	if n := strings.Count(r.page, `<td class="warn">`+last); n != 2 || !strings.Contains(r.metrics,
		`infiniband_benchmark_bytes_per_second{host="node000",server="node001",address="172.16.0.21",test="tcp_bw",streams="1"} `) {
		t.Errorf("%d results are marked; the metrics are\n%s", n, r.metrics)
	}
	var out strings.Builder
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(w.SSHConfig(nil)), 0o600); err != nil {
		t.Fatal(err)
	}
	history.Command.Run(t.Context(), []string{"-config-file", config, "node000"}, command.Streams{Out: &out, Err: &out})
	said := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(said, " node000 tcp_bw benchmark node000, ibp1s0 node001, 172.16.0.21 ") ||
		!strings.Contains(said, " verified: ") || !strings.Contains(said, " failed: "+last+", min_gbps = 500; ") {
		t.Errorf("history prints\n%s", said)
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
	}
}

// A host that lies has a bounded part of the page and of the metrics.
func TestReport_bounds_the_benchmarks_of_a_host(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()})
	var lines strings.Builder
	for i := range 1000 {
		lines.WriteString(measured("verified", "2026-01-02T03:04:05Z", "iperf3", fmt.Sprintf("node%d, 172.16.0.20", i), "1 Gb/s"))
	}
	w.Put(labs.Intel9, inventory.StateDir+"/benchmarks", lines.String())
	r := run(t, w, w.Names())
	if r.status != command.OK {
		t.Errorf("status %d: %s", r.status, r.errs)
	}
	if rows := parse(t, r.page).rows(t, "results"); len(rows) != 200 {
		t.Errorf("%d results", len(rows))
	}
	if n := strings.Count(r.metrics, "infiniband_benchmark_bytes_per_second{"); n != 200 || !strings.Contains(r.metrics, `"node999"`) {
		t.Errorf("%d results, or not the newest", n)
	}
}
