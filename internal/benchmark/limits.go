package benchmark

import (
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
)

// Limits are what a result must keep; 0 is no limit.
type Limits struct {
	MinGbps      float64
	MaxLatencyUS float64
	// Of are limits of a mode and a link; the first that fits the measurement
	// takes the place of the two above.
	Of   []LimitOf
	Warn bool // a miss is a warning
}

// LimitOf is a limit for some measurements.
type LimitOf struct {
	Mode         string // of the client's IPoIB interface; empty: any
	Link         string // "QDR" or "4X QDR", of the slower of both links; empty: any
	MinGbps      float64
	MaxLatencyUS float64
}

// limit is what counts for one measurement.
type limit struct {
	minGbps, maxLatencyUS float64
	of                    string // in words, if it is not that of all
}

func (l Limits) of(p connectivity.Pair) limit {
	for _, o := range l.Of {
		if o.fits(p) {
			words := strings.Join(strings.Fields(o.Mode+" "+o.Link), " ")
			return limit{o.MinGbps, o.MaxLatencyUS, words}
		}
	}
	return limit{l.MinGbps, l.MaxLatencyUS, ""}
}

func (o LimitOf) fits(p connectivity.Pair) bool {
	if o.Mode != "" && (p.From.Netdev == nil || p.From.Netdev.Mode != o.Mode) {
		return false
	}
	if o.Link == "" {
		return true
	}
	_, link, _ := strings.Cut(slower(p), "(")
	// The bracket counts: FDR is not FDR10.
	return link == o.Link+")" || strings.HasSuffix(link, " "+o.Link+")")
}

// slower is the rate of the slower of both links, as sysfs writes it: "40 Gb/sec
// (4X QDR)".
func slower(p connectivity.Pair) string {
	rate, least := "", 0.
	for _, e := range []connectivity.End{p.From, p.To} {
		// See slowEnd: the rate of a port without a link is none.
		if e.Port == nil || e.Port.Physical != "LinkUp" {
			continue
		}
		number, _, _ := strings.Cut(e.Port.Rate, " ")
		if n, err := strconv.ParseFloat(number, 64); err == nil && (rate == "" || n < least) {
			rate, least = e.Port.Rate, n
		}
	}
	return rate
}
