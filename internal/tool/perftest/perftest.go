// Package perftest builds the commands of perftest (ib_write_bw and its kin) and
// reads what they print.
//
// It must not run anything.
package perftest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Port is the RDMA port of one end.
type Port struct {
	Device string
	Number int
}

// Server returns the arguments of a server that ends after one test.
func Server(program string, at Port, port int, length time.Duration) []string {
	return append([]string{program}, options(program, at, port, length)...)
}

// Client returns the arguments of a test towards a server. The address serves only for
// the exchange of the queue pairs; the test itself is RDMA between the two ports. Both
// sides need the same duration.
func Client(program string, at Port, addr netip.Addr, port int, length time.Duration) []string {
	return append(Server(program, at, port, length), addr.String())
}

// options: -F only silences a warning about the CPU's clock; ib_*_lat knows no
// --report_gbits.
func options(program string, at Port, port int, length time.Duration) []string {
	args := []string{"-F", "-d", at.Device, "-i", strconv.Itoa(at.Number), "-p", strconv.Itoa(port), "-D",
		strconv.Itoa(int(length.Seconds()))}
	if strings.HasSuffix(program, "_bw") {
		args = append(args, "--report_gbits")
	}
	return args
}

// Result is one of a bandwidth and a latency.
type Result struct {
	Gbps      float64 // average
	LatencyUS float64 // average, one way
}

// Parse reads the table of a run. Its columns depend on the test: bandwidths are
// "#bytes #iterations BW peak BW average MsgRate"; latencies with a duration
// "#bytes #iterations t_avg tps average" (perftest 4.5, perftest_parameters.h).
func Parse(out string) (Result, error) {
	column, bandwidth := 0, false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#bytes") && strings.Contains(line, "BW average[Gb/sec]"):
			column, bandwidth = 3, true
		case strings.HasPrefix(line, "#bytes") && strings.Contains(line, "t_typical[usec]"):
			column = 5
		case strings.HasPrefix(line, "#bytes") && strings.Contains(line, "t_avg[usec]"):
			column = 2
		case column > 0:
			f := strings.Fields(line)
			if len(f) <= column {
				continue
			}
			n, err := strconv.ParseFloat(f[column], 64)
			if err != nil {
				return Result{}, fmt.Errorf("%q is not a number", f[column])
			}
			if bandwidth {
				return Result{Gbps: n}, nil
			}
			return Result{LatencyUS: n}, nil
		}
	}
	return Result{}, fmt.Errorf("no table of perftest")
}
