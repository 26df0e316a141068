// Package qperf builds the commands of qperf and reads what it prints.
//
// It must not run anything.
package qperf

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Server returns the arguments of the server, which runs until it is stopped and
// listens on all addresses.
func Server(port int) []string { return []string{"qperf", "-lp", strconv.Itoa(port)} }

// Client returns the arguments of one test towards addr; -uu keeps qperf from
// choosing units. Data goes to the port after the one that it listens on, so that
// a firewall can let both through.
func Client(addr netip.Addr, port int, length time.Duration, test string) []string {
	return []string{
		"qperf", "-lp", strconv.Itoa(port), "-ip", strconv.Itoa(port + 1), "-t", strconv.Itoa(int(length.Seconds())), "-uu",
		addr.String(), test,
	}
}

// Result is one of a latency and a bandwidth.
type Result struct {
	LatencyNS      float64 // one way: half of a round trip
	BytesPerSecond float64
}

// Parse reads the output of Client.
func Parse(out string) (Result, error) {
	var r Result
	for line := range strings.Lines(out) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		f := strings.Fields(value)
		if !ok || len(f) != 2 {
			continue
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(f[0], ",", ""), 64)
		switch k := strings.TrimSpace(key); {
		case err != nil:
			return r, fmt.Errorf("%q is not a number", f[0])
		case k == "latency" && f[1] == "ns":
			r.LatencyNS = n
		case k == "bw" && f[1] == "bytes/sec":
			r.BytesPerSecond = n
		}
	}
	if r.LatencyNS == 0 && r.BytesPerSecond == 0 {
		return r, fmt.Errorf("neither a latency nor a bandwidth of qperf")
	}
	return r, nil
}
