package report

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/check"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// family is one metric with its samples, in the text format of Prometheus.
type family struct {
	name, kind, help string
	samples          []string
	have             map[string]bool
}

// add adds a sample; labels are names and values by turns. Two ports with one GUID, which is a
// fault of a fabric, would be one series twice, and Prometheus would take none of the file: the first counts.
func (f *family) add(value float64, labels ...string) {
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		text := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(diagnostic.Line(labels[i+1]))
		fmt.Fprintf(&b, "%s%s=\"%s\"", map[bool]string{true: ","}[i > 0], labels[i], text)
	}
	if f.have[b.String()] {
		return
	}
	if f.have == nil {
		f.have = map[string]bool{}
	}
	f.have[b.String()] = true
	f.samples = append(f.samples, fmt.Sprintf("%s{%s} %s", f.name, &b, strconv.FormatFloat(value, 'f', -1, 64)))
}

func gauge(name, help string) *family {
	return &family{name: "infiniband_" + name, kind: "gauge", help: help}
}

// metrics is the file for node_exporter. What is not known has no sample.
func (l *lab) metrics(now time.Time) []byte {
	made := gauge("report_timestamp_seconds", "When the hosts were read, in seconds since 1970.")
	made.samples = []string{fmt.Sprintf("%s %d", made.name, now.Unix())}
	all := slices.Concat([]*family{made}, l.hostMetrics(), l.cardMetrics(), l.portMetrics(), l.fabricMetrics(),
		l.linkMetrics(), l.benchmarkMetrics(), l.issueMetrics())
	var b bytes.Buffer
	for _, f := range all {
		if len(f.samples) > 0 {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s\n", f.name, f.help, f.name, f.kind, strings.Join(f.samples, "\n"))
		}
	}
	return b.Bytes()
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (l *lab) hostMetrics() []*family {
	seen := gauge("host_seen", "Whether the host was reached and read.")
	info := gauge("host_info", "System, kernel and mstflint of the host; always 1.")
	for _, m := range l.Hosts {
		seen.add(one(m.Snap != nil), "host", m.Name)
		if s := m.Snap; s != nil {
			info.add(1, "host", m.Name, "system", cmp.Or(s.OS.PrettyName, s.OS.ID), "kernel", s.OS.Kernel, "mstflint",
				s.MSTFlint.Version)
		}
	}
	return []*family{seen, info}
}

func (l *lab) cardMetrics() []*family {
	info := gauge("card_info", "Who the card is, and its firmware in flash and running; always 1.")
	pending := gauge("card_firmware_pending", "Whether the card runs other firmware than its flash holds.")
	warm := gauge("card_temperature_celsius", "Temperature of the card, by sensor, where the driver shows it.")
	taken := gauge("card_backup_timestamp_seconds", "When the card was backed up last, in seconds since 1970.")
	for _, m := range l.Hosts {
		for _, c := range m.cards() {
			at := []string{"host", m.Name, "pci_address", c.PCI.String()}
			runs, _ := m.running(c)
			info.add(1, append(at, "card", adapter(c), "part_number", c.PartNumber, "serial_number", c.Serial.Or(""),
				"node_guid", guid(c.NodeGUID), "flash_psid", string(c.InFlash().PSID), "flash_version", version(c.InFlash().FW),
				"running_psid", string(runs.PSID), "running_version", version(runs.FW))...)
			for _, sensor := range slices.Sorted(maps.Keys(c.Celsius)) {
				warm.add(c.Celsius[sensor], append(at, "sensor", sensor)...)
			}
			if waits, known := m.waits(c); known {
				pending.add(one(waits), at...)
			}
			if t, ok := m.Backups[c.PCI]; ok {
				taken.add(float64(t.Unix()), at...)
			}
		}
	}
	return []*family{info, pending, taken, warm}
}

func (l *lab) portMetrics() []*family {
	up := gauge("port_link_up", "Whether the port has a link.")
	active := gauge("port_active", "Whether the port is Active: of an InfiniBand port, a subnet manager has set it up.")
	for _, m := range l.Hosts {
		for _, c := range m.cards() {
			for _, p := range c.Ports {
				if p.State == "" {
					continue
				}
				at := []string{"host", m.Name, "pci_address", c.PCI.String(), "port", strconv.Itoa(p.Number), "link_layer",
					p.LinkLayer}
				up.add(one(p.Physical == "LinkUp"), at...)
				active.add(one(p.State == "Active"), at...)
			}
		}
	}
	return []*family{up, active}
}

func (l *lab) fabricMetrics() []*family {
	nodes := gauge("fabric_nodes", "Adapters and switches of the fabric.")
	managers := gauge("fabric_subnet_managers", "Subnet managers of the fabric, by state.")
	info := gauge("switch_info", "Who the switch is, and its firmware where it tells that; always 1.")
	counted := gauge("fabric_errors_counted", "Whether error counters could be read.")
	for _, f := range l.Fabrics {
		kinds, states := map[string]int{"adapter": 0, "switch": 0}, map[string]int{}
		if f.Ruled.Known() {
			states["master"] = 0
		}
		for _, sm := range f.SMs {
			states[cmp.Or(sm.State, "unknown")]++
		}
		for _, n := range f.Nodes {
			kinds[map[bool]string{true: "switch", false: "adapter"}[n.Switch]]++
			if n.Switch {
				info.add(1, "fabric", f.ID.String(), "node_guid", n.GUID.String(), "name", n.Label(), "psid", string(n.PSID),
					"version", version(n.Firmware))
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			nodes.add(float64(kinds[kind]), "fabric", f.ID.String(), "kind", kind)
		}
		for _, state := range slices.Sorted(maps.Keys(states)) {
			managers.add(float64(states[state]), "fabric", f.ID.String(), "state", state)
		}
		counted.add(one(f.Counted), "fabric", f.ID.String())
	}
	return []*family{nodes, managers, info, counted}
}

func (l *lab) linkMetrics() []*family {
	width := gauge("link_width_lanes", "Lanes that the link uses.")
	rate := gauge("link_rate_bytes_per_second", "What the link carries after its encoding.")
	slow := gauge("link_degraded", "Whether both ends could do more than the link, or the slot of a card carries less.")
	errors := &family{name: "infiniband_port_errors_total", kind: "counter",
		help: "Error counters of the port since they were cleared. A counter that is zero has no sample."}
	for _, f := range l.Fabrics {
		for _, k := range f.Links {
			if at := []string{"fabric", f.ID.String(), "port", k.A.ID(), "link", k.Name()}; k.Up() {
				width.add(float64(k.A.Width), at...)
				rate.add(k.Gbps()*1e9/8, at...)
				slow.add(one(k.Degraded()), at...)
			}
		}
		for _, n := range f.Nodes {
			for _, p := range n.Ports {
				for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
					errors.add(float64(p.Counters[name]), "fabric", f.ID.String(), "port", p.ID(), "name", p.Label(), "counter", name)
				}
			}
		}
	}
	return []*family{width, rate, slow, errors}
}

// version is empty for one that is not known.
func version(v ib.FWVersion) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

func (l *lab) issueMetrics() []*family {
	findings := gauge("findings", "What the command check finds on the host, by code; code is empty of what has none.")
	faults := gauge("fabric_differences", "What is wrong in the fabric, by kind.")
	odd := gauge("card_differs", "A fact in which the card differs from most cards of its board; always 1.")
	for _, m := range l.Hosts {
		count := map[[3]string]int{}
		for _, s := range m.Steps {
			if m.Snap != nil && s.Status != check.Good {
				count[[3]string{string(s.Status), s.Step, s.Finding}]++
			}
		}
		order := func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }
		for _, k := range slices.SortedFunc(maps.Keys(count), order) {
			findings.add(float64(count[k]), "host", m.Name, "severity", k[0], "step", k[1], "code", k[2])
		}
	}
	for _, f := range l.Fabrics {
		count := map[string]int{}
		for _, d := range f.differences() {
			count[d.Kind]++
		}
		for _, kind := range slices.Sorted(maps.Keys(count)) {
			faults.add(float64(count[kind]), "fabric", f.ID.String(), "kind", kind)
		}
	}
	for _, o := range l.odd() {
		if o.PCI != "" {
			odd.add(1, "host", o.Host, "pci_address", o.PCI, "fact", strings.TrimPrefix(o.Fact, "the "))
		}
	}
	return []*family{findings, faults, odd}
}
