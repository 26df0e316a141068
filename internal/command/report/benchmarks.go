package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/benchmark"
)

// ends are the two ends of a measurement and its test: what is compared over time.
type ends struct {
	Client, Server, Address, Test string
	Streams                       int
}

func (e ends) String() string {
	if e.Streams == 1 {
		return e.Test
	}
	return fmt.Sprintf("%s, %d streams", e.Test, e.Streams)
}

// series are the results between two ends, newest first.
type series struct {
	ends
	results []benchmark.Noted
}

// series are all of a lab, those first whose last result has missed its limit.
func (l *lab) series() []*series {
	all := map[ends]*series{}
	for _, m := range l.Hosts {
		for _, r := range m.Results {
			at := ends{m.Name, r.Server, r.Address.String(), r.Test.Name, r.Streams}
			if all[at] == nil {
				all[at] = &series{ends: at}
			}
			all[at].results = append(all[at].results, r)
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *series) int {
		switch missed := a.results[0].Missed; {
		case missed == b.results[0].Missed:
		case missed:
			return -1
		default:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Address, b.Address),
			cmp.Compare(a.Test, b.Test), cmp.Compare(a.Streams, b.Streams))
	})
}

// bounds are the least and the greatest result.
func (s *series) bounds() (least, greatest float64) {
	byValue := func(a, b benchmark.Noted) int { return cmp.Compare(a.Value, b.Value) }
	return slices.MinFunc(s.results, byValue).Value, slices.MaxFunc(s.results, byValue).Value
}

func amount(value float64, of benchmark.Noted) string {
	return strconv.FormatFloat(value, 'f', -1, 64) + " " + of.Test.Unit()
}

// limitOf is the limit of a result in words; empty if none was set.
func limitOf(n benchmark.Noted) string {
	switch {
	case n.Limit == 0:
		return ""
	case n.Test.Latency:
		return "at most " + amount(n.Limit, n)
	}
	return "at least " + amount(n.Limit, n)
}

// benchmarkTables are a row for each pair of ends, and a row for each result.
func (l *lab) benchmarkTables() []*table {
	pairs := &table{ID: "benchmarks", Title: "Pairs of ends",
		Head: []string{"From", "To", "Test", "Last", "Limit", "Best", "When", "Over time"},
		About: "What one host has measured to another. The dashed line is the last limit; a large point has missed its " +
			"limit."}
	results := &table{ID: "results", Title: "Results",
		Head:  []string{"From", "To", "Test", "Time", "Result", "Limit", "With", "By"},
		About: fmt.Sprintf("The last %d of each host. The command history shows all.", mostResults)}
	for _, s := range l.series() {
		last, to := s.results[0], s.Server+", "+s.Address
		least, greatest := s.bounds()
		best := greatest
		if last.Test.Latency {
			best = least
		}
		pairs.row(s.Client, to, s, mark(last.Missed, "warn", amount(last.Value, last)), limitOf(last), amount(best, last),
			date(last.Time), cell{Picture: s.line()})
		for _, r := range s.results {
			results.row(s.Client, to, s, date(r.Time), mark(r.Missed, "warn", amount(r.Value, r)), limitOf(r), r.How, r.By)
		}
	}
	if len(pairs.Rows) == 0 {
		return nil
	}
	return []*table{pairs, results}
}

// The picture of a line, in pixels.
const wide, high, edge = 180, 40, 5

// line draws the results over time, from zero. Only numbers go into it.
func (s *series) line() template.HTML {
	last, first := s.results[0], s.results[len(s.results)-1]
	least, greatest := s.bounds()
	top, span := max(greatest, last.Limit), float64(last.Time.Unix()-first.Time.Unix())
	y := func(value float64) float64 { return high - edge - (high-2*edge)*value/max(top, 1e-9) }
	var b, points strings.Builder
	fmt.Fprintf(&b, `<svg class="over" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img">`+
		`<title>%s to %s, %s to %s</title>`, wide, high,
		amount(least, last), amount(greatest, last), date(first.Time), date(last.Time))
	if last.Limit > 0 {
		fmt.Fprintf(&b, `<path class="limit" d="M%d %.1fH%d"/>`, edge, y(last.Limit), wide-edge)
	}
	for i, r := range slices.Backward(s.results) {
		x := float64(wide - edge)
		if span > 0 {
			x = edge + (wide-2*edge)*float64(r.Time.Unix()-first.Time.Unix())/span
		}
		step := "L"
		if points.Len() == 0 {
			step = "M"
		}
		fmt.Fprintf(&points, "%s%.1f %.1f", step, x, y(r.Value))
		if r.Missed {
			fmt.Fprintf(&b, `<circle class="warn" cx="%.1f" cy="%.1f" r="3.5"/>`, x, y(r.Value))
		} else if i == 0 {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="2"/>`, x, y(r.Value))
		}
	}
	fmt.Fprintf(&b, `<path d="%s"/></svg>`, &points)
	return template.HTML(b.String()) //nolint:gosec // numbers and dates
}

func (l *lab) benchmarkMetrics() []*family {
	rate := gauge("benchmark_bytes_per_second", "Bandwidth of the last benchmark between two hosts.")
	delay := gauge("benchmark_latency_seconds", "Latency of the last benchmark between two hosts, one way.")
	at := gauge("benchmark_timestamp_seconds", "When the last benchmark was measured, in seconds since 1970.")
	for _, s := range l.series() {
		last := s.results[0]
		labels := []string{"host", s.Client, "server", s.Server, "address", s.Address, "test", s.Test, "streams",
			strconv.Itoa(s.Streams)}
		at.add(float64(last.Time.Unix()), labels...)
		if last.Test.Latency {
			delay.add(last.Value/1e6, labels...)
		} else {
			rate.add(last.Value*1e9/8, labels...)
		}
	}
	return []*family{rate, delay, at}
}
