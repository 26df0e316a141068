package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

var sample = regexp.MustCompile(`^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\\\|\\")*",?)*)\})? (-?[0-9]+(?:\.[0-9]+)?)$`)

// checkMetrics holds a file of metrics to the format and the conventions of Prometheus, and has
// promtool read it where that is installed.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	if text == "" || !strings.HasSuffix(text, "\n") {
		t.Fatalf("no metrics, or no end of the last line: %q", text)
	}
	kinds, seen := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.SplitN(line, " ", 4); words[0] == "#" {
			if words[1] == "TYPE" {
				kinds[words[2]] = words[3]
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no sample: %s", line)
		}
		if kind := kinds[m[1]]; kind == "" || (kind == "counter") != strings.HasSuffix(m[1], "_total") {
			t.Errorf("%s is of kind %q", m[1], kind)
		}
		if series := m[1] + m[2]; seen[series] {
			t.Errorf("twice: %s", line)
		} else {
			seen[series] = true
		}
	}
	path := realtool.Find("promtool")
	if path == "" {
		return // TestMetrics_as_promtool_reads_them says so
	}
	cmd := exec.CommandContext(t.Context(), path, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Prometheus' own program takes the metrics of a lab with one of each trouble, and they say what is wrong.
func TestMetrics_as_promtool_reads_them(t *testing.T) {
	realtool.Path(t, "promtool")
	w, hosts := troubled(t)
	backUp(t, w, "node000")
	r := run(t, w, hosts, "-backup-dir", w.Backups)
	checkMetrics(t, r.metrics)
	lines := strings.Split(r.metrics, "\n")
	const at = `{host="node002",pci_address="0000:01:00.0"`
	for _, want := range []string{
		`infiniband_host_seen{host="node000"} 1`, `infiniband_host_seen{host="dead"} 0`,
		`infiniband_card_firmware_pending` + at + `} 0`,
		`infiniband_card_differs` + at + `,fact="firmware in flash"} 1`,
		`infiniband_port_link_up` + at + `,port="1",link_layer="InfiniBand"} 1`,
		`infiniband_port_active` + at + `,port="1",link_layer="InfiniBand"} 1`,
		`infiniband_fabric_subnet_managers{fabric="0x0002c902004a0000",state="master"} 1`,
		`infiniband_fabric_subnet_managers{fabric="0x0002c902004a0000",state="standby"} 3`,
		`infiniband_fabric_nodes{fabric="0x0002c902004a0000",kind="adapter"} 4`,
		`infiniband_fabric_errors_counted{fabric="0x0002c902004a0000"} 1`,
		`infiniband_port_errors_total{fabric="0x0002c902004a0000",port="0xe41d2d0300e44ef0/1",` +
			`name="node002 ibp1s0 port 1",counter="SymbolErrorCounter"} 99`,
		`infiniband_findings{host="node003",severity="missing",step="card",code="FW051"} 1`,
		`infiniband_fabric_differences{fabric="0x0002c902004a0000",kind="degraded"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, part := range []string{`infiniband_card_info{host="node001",`, `serial_number="MT\"><script>`,
		`infiniband_card_backup_timestamp_seconds{host="node000",pci_address="0000:01:00.0"} 1`,
		`infiniband_link_rate_bytes_per_second{`, `infiniband_link_width_lanes{`, `infiniband_report_timestamp_seconds 1`} {
		if !strings.Contains(r.metrics, part) {
			t.Errorf("no %s in\n%s", part, r.metrics)
		}
	}
	if strings.Contains(r.metrics, `infiniband_card_firmware_pending{host="node003"`) {
		t.Error("what is not known has a sample")
	}
}

const monitoring = "../../../examples/monitoring/"

// dashboard are the queries of the dashboard of the example.
func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, monitoring+"dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	if len(queries) < 10 {
		t.Fatalf("%d queries", len(queries))
	}
	return queries
}

// everyMetric is a file with all metrics that the command knows.
func everyMetric(t *testing.T) string {
	t.Helper()
	w, hosts := troubled(t)
	backUp(t, w, "node000")
	return run(t, w, hosts, "-backup-dir", w.Backups).metrics + warm(t).metrics
}

var named = regexp.MustCompile(`infiniband_[a-z_]+`)

// Alerts and dashboard ask for metrics, and for labels in them, that the command writes.
func TestMonitoring_asks_for_what_is_written(t *testing.T) {
	metrics := everyMetric(t)
	for _, text := range append(dashboard(t), read(t, monitoring+"infiniband.rules.yaml")) {
		for _, name := range named.FindAllString(text, -1) {
			if name != "infiniband_firmware_backup" && !strings.Contains(metrics, "# TYPE "+name+" ") {
				t.Errorf("%s is written by no report:\n%s", name, text)
			}
		}
		for _, m := range regexp.MustCompile(`(?:\$labels\.|\{\{)([a-z_]+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(metrics, m[1]+`="`) {
				t.Errorf("no metric has a label %s:\n%s", m[1], text)
			}
		}
	}
}

// The alerts fire when they should, and the queries of the dashboard are understood.
func TestMonitoring_as_promtool_reads_it(t *testing.T) {
	promtool := realtool.Path(t, "promtool")
	if out, status := realtool.Run(t, promtool, "test", "rules", monitoring+"infiniband.rules.test.yaml"); status != 0 {
		t.Error(out)
	}
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	for i, query := range dashboard(t) {
		rules += fmt.Sprintf("      - {record: panel%d, expr: %q}\n", i, query)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := realtool.Run(t, promtool, "check", "rules", file); status != 0 {
		t.Error(out)
	}
}

// Two cards whose ports are cabled one to one are on two fabrics, of which each has a label of its own: else the subnet
// manager of one would hide that the other has none.
func TestMetrics_two_fabrics_without_a_switch(t *testing.T) {
	t.Parallel()
	hosts := labs.OEM()
	for i := range hosts {
		hosts[i].Packages = append(hosts[i].Packages, "infiniband-diags")
	}
	w := acctest.Start(t, acctest.Options{Hosts: hosts})
	for _, name := range w.Names() {
		w.Run(name, "for p in 1 2; do echo ib >/sys/bus/pci/devices/0000:04:00.0/mlx4_port$p; done; modprobe mlx4_ib; modprobe ib_umad")
	}
	metrics := run(t, w, w.Names()).metrics
	checkMetrics(t, metrics)
	of := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^infiniband_fabric_errors_counted\{fabric="(0x\w+)"\}`).FindAllStringSubmatch(metrics, -1) {
		of[m[1]] = true
	}
	if len(of) != 2 || !of["0x248a070300a1b201"] || !of["0x248a070300a1b202"] {
		t.Errorf("labels %v, expected those of the first host's ports:\n%s", of, metrics)
	}
}
