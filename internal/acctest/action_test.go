package acctest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A benchmark is measured by an action: its result is progress, and a missed limit is an error.
func TestAction_runBenchmark(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	mustApply(t, ws, w.BothHosts())
	const kind = "infiniband_run_benchmark"
	with := func(more map[string]any) map[string]any {
		all := map[string]any{"server": labs.Xeon2zfs, "client": labs.Intel9, "test": "iperf3", "duration": "2s"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	invoke := func(attrs map[string]any) (progress string, said Diags) {
		t.Helper()
		events, said, err := ws.Invoke(t.Context(), kind, attrs)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(events, "\n"), said
	}
	measured := regexp.MustCompile(`(?m)^measuring iperf3 from intel9 to 172\.16\.0\.10 for 2s$[\s\S]*` +
		`^iperf3 from intel9 to xeon2zfs: [0-9.]+ Gb/s`)
	before := w.Count(labs.Intel9, "iperf3", "-c")
	progress, said := invoke(with(nil))
	if said.HasError() || !measured.MatchString(progress) {
		t.Errorf("progress:\n%s\n%s", progress, said)
	}
	if n := strings.Count(progress, "measuring"); n != 1 || w.Count(labs.Intel9, "iperf3", "-c") == before {
		t.Errorf("it measured %d times:\n%s", n, progress)
	}
	if notes := w.Run(labs.Intel9, "cat "+stateDir+"/benchmarks"); !strings.HasPrefix(notes, "verified\t") ||
		!strings.Contains(notes, "\twhat=benchmark\tobject=iperf3\t") {
		t.Errorf("the notes of the client are %q", notes)
	}
	for _, c := range []struct {
		name  string
		attrs map[string]any
		error bool
		says  []string
	}{
		{"a missed limit", map[string]any{"min_gbps": 500}, true,
			[]string{"BM004 benchmark intel9/xeon2zfs/iperf3", "Finding: BM004", "less than min_gbps = 500"}},
		{"a missed limit that warns", map[string]any{"min_gbps": 500, "on_miss": "warn"}, false, []string{"Finding: BM004"}},
		{"one host", map[string]any{"client": labs.Xeon2zfs}, true,
			[]string{"Invalid value for server", "the same host"}},
		{"an unknown host", map[string]any{"client": "nobody"}, true,
			[]string{"Unable to measure benchmark nobody/xeon2zfs/iperf3", "known hosts: intel9, xeon2zfs"}},
		{"no such program", map[string]any{"test": "tcp_lat"}, true, []string{"Finding: BM001", "has no qperf"}},
	} {
		runs := w.Count(labs.Intel9, "iperf3", "-c")
		_, said = invoke(with(c.attrs))
		if said.HasError() != c.error {
			t.Errorf("%s: error %t\n%s", c.name, said.HasError(), said)
		}
		for _, want := range c.says {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: want %q in\n%s", c.name, want, said)
			}
		}
		if measures := strings.Contains(c.name, "limit"); (w.Count(labs.Intel9, "iperf3", "-c") > runs) != measures {
			t.Errorf("%s: measured: %t", c.name, !measures)
		}
	}
	ws.Provider["hosts"].(map[string]any)[labs.Intel9].(map[string]any)["mode"] = "observe"
	runs := w.Count(labs.Intel9, "iperf3", "-c")
	if _, said = invoke(with(nil)); !said.HasError() || w.Count(labs.Intel9, "iperf3", "-c") > runs {
		t.Errorf("measured on a host in mode observe:\n%s", said)
	}
}
