package benchmark

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Text is a result in words.
func (t Test) Text(r Result) string {
	if t.Latency {
		return fmt.Sprintf("%.3g %s", r.LatencyUS, t.Unit())
	}
	return fmt.Sprintf("%.3g %s", r.Gbps, t.Unit())
}

// Check finds what speaks against a benchmark on one of its hosts; role is the
// attribute that names it.
func Check(s *inventory.Snapshot, observe bool, role string, t Test) []finding.Finding {
	var found []finding.Finding
	if observe {
		found = append(found, finding.HostObserved.Find("%s is %s of a benchmark, which starts programs there.", s.Host,
			role).At(role))
	}
	if s.Commands[t.lookFor] {
		return found
	}
	plat, err := platform.Of(s)
	if err != nil {
		return append(found, finding.BenchmarkUnavailable.Find("%v.", err))
	}
	packages := plat.PackagesFor(t.feature, s.OS.Kernel)
	if len(packages) == 0 {
		return append(found, finding.BenchmarkUnavailable.Find("%s runs %s, and has no %s.", s.Host, plat.Name(), t.lookFor))
	}
	if impossible := platform.CheckInstall(s, s.Host+" has no "+t.lookFor); len(impossible) > 0 {
		return append(found, impossible...)
	}
	f := finding.PackagesInstalled.Find("%s has no %s.", s.Host, t.lookFor)
	f.Summary = "The package " + strings.Join(packages, ", ") + " will be installed"
	return append(found, f)
}

// Judge compares a result with the limits.
func Judge(d Request, r Result, l Limits) []finding.Finding {
	var miss, attribute string
	counts := l.of(r.Pair)
	switch {
	case d.Test.Latency && counts.maxLatencyUS > 0 && r.LatencyUS > counts.maxLatencyUS:
		miss, attribute = fmt.Sprintf("%s took %.3g µs, more than max_latency_us = %g", d.Test.Name, r.LatencyUS,
			counts.maxLatencyUS), "max_latency_us"
	case !d.Test.Latency && counts.minGbps > 0 && r.Gbps < counts.minGbps:
		miss, attribute = fmt.Sprintf("%s reached %.3g Gb/s, less than min_gbps = %g", d.Test.Name, r.Gbps,
			counts.minGbps), "min_gbps"
	default:
		return nil
	}
	if counts.of != "" {
		miss, attribute = miss+" of limits for "+counts.of, "limits"
	}
	f := finding.BenchmarkMissed.Find("From %s to %s (%s) %s. Likely causes: %s", r.Pair.From.Host, r.Pair.To.Host,
		r.Pair.Addr, miss, strings.Join(causes(d, r), " "))
	if f.Attribute = attribute; l.Warn {
		// The catalogue's way out is that of an error: it would tell to change the limit.
		f.Severity, f.Summary, f.WayOut = finding.Warn, "Benchmark missed its limit", "Look at the likely causes."
	}
	return []finding.Finding{f}
}

// causes are what is known of both ends, the likeliest first.
func causes(d Request, r Result) []string {
	var all []string
	// What limits IP does not limit RDMA: the mode and MTU of IPoIB are not on its way.
	if !d.Test.RDMA {
		for _, p := range connectivity.Judge(r.Pair, nil).Problems {
			all = append(all, p.Message)
		}
		all = append(all, slowMode(d, r)...)
	}
	for _, e := range []connectivity.End{r.Pair.From, r.Pair.To} {
		all = append(all, slowEnd(e)...)
	}
	if r.Retransmits > 0 {
		all = append(all, fmt.Sprintf("%d segments were sent again: look for growing error counters with infiniband_fabric.",
			r.Retransmits))
	}
	if len(all) == 0 {
		all = append(all, "none that the two hosts show; look at the CPU load and frequency governor of both, and with "+
			"infiniband_fabric at the links between switches.")
	}
	return all
}

// A latency is measured with one small message, which datagram mode does not slow.
func slowMode(d Request, r Result) []string {
	n := r.Pair.From.Netdev
	if n == nil || n.Mode != "datagram" || d.Test.Latency {
		return nil
	}
	if d.Streams == 1 {
		return []string{fmt.Sprintf("%s is in datagram mode, where a single stream is expected to be slow: use several "+
			"streams, or connected mode.", n.Name)}
	}
	return []string{fmt.Sprintf("%s is in datagram mode: packets are small (MTU %d) and cost CPU time.", n.Name, n.MTU)}
}

// slowEnd says how the link and the slot of one end limit it. The rate of sysfs
// reads "10 Gb/sec (1X QDR)" or "20 Gb/sec (4X DDR)".
func slowEnd(e connectivity.End) []string {
	var all []string
	// Without a link mlx4 prints SDR whatever the cable carries (kernels 6.1 to 7.3), so that the rate says
	// nothing. SDR, DDR and QDR lose a fifth of the rate to 8b/10b coding.
	if e.Port != nil && e.Port.Physical == "LinkUp" {
		for _, slow := range []struct{ mark, why string }{
			{"(1X ", "only one of four lanes works: cable or plug"}, {" SDR)", "SDR carries 8 Gb/s on four lanes"}, {" DDR)",
				"DDR carries 16 Gb/s on four lanes"},
		} {
			if strings.Contains(e.Port.Rate, slow.mark) {
				all = append(all, fmt.Sprintf("The link of %s runs at %s: %s.", e.Host, e.Port.Rate, slow.why))
			}
		}
		if strings.HasSuffix(e.Port.Rate, "Gb/sec") {
			all = append(all, fmt.Sprintf("The link of %s runs at %s.", e.Host, e.Port.Rate))
		}
	}
	if e.Card == nil {
		return all
	}
	slot := fabric.PCIe{Width: e.Card.PCIe.Width, MaxWidth: e.Card.PCIe.MaxWidth, Speed: e.Card.PCIe.Speed,
		MaxSpeed: e.Card.PCIe.MaxSpeed}
	have, known := slot.Gbps()
	best := fabric.PCIe{Width: slot.MaxWidth, Speed: slot.MaxSpeed}
	if could, ok := best.Gbps(); known && ok && have < could {
		all = append(all, fmt.Sprintf("The PCIe slot of card %s in %s carries x%d at %s, %.3g Gb/s; the card can do x%d at "+
			"%s, %.3g Gb/s.",
			e.Card.PCI, e.Host, slot.Width, slot.Speed, have, slot.MaxWidth, slot.MaxSpeed, could))
	}
	return all
}
