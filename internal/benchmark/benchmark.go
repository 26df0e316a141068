// Package benchmark measures bandwidth and latency between two hosts with iperf3,
// qperf and perftest, and compares them with limits.
//
// It must not keep results, except in the notes of a host, run while something is only read, or import Terraform.
package benchmark

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Unit is the server's systemd unit. Its name is the same for every benchmark, so
// that a host serves one at a time.
const Unit = "infiniband-benchmark.service"

// Test is one thing that can be measured.
type Test struct {
	Name    string
	Tool    string // as messages call it
	Program string
	Latency bool // else a bandwidth
	RDMA    bool // goes from port to port without IP
	port    int  // where the program listens by itself
	feature platform.Feature
	lookFor string // the command that shows that the tool is there
}

// Tests are all of them.
// The ports are the programs' own defaults, so that rules of a firewall that were made for them
// by hand fit.
var Tests = func() []Test {
	all := []Test{
		{Name: "iperf3", Tool: "iperf3", Program: "iperf3", port: 5201, feature: platform.FeatureIperf3, lookFor: "iperf3"},
		{Name: "tcp_bw", Tool: "qperf", Program: "qperf", port: 19765, feature: platform.FeatureQperf, lookFor: "qperf"},
		{Name: "tcp_lat", Tool: "qperf", Program: "qperf", Latency: true, port: 19765, feature: platform.FeatureQperf,
			lookFor: "qperf"},
		{Name: "udp_lat", Tool: "qperf", Program: "qperf", Latency: true, port: 19765, feature: platform.FeatureQperf,
			lookFor: "qperf"},
	}
	for _, name := range []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat",
		"ib_send_lat"} {
		all = append(all, Test{
			Name: name, Tool: "perftest", Program: name, Latency: strings.HasSuffix(name, "_lat"), RDMA: true,
			// One program stands for the package: its tests are installed together.
			port: 18515, feature: platform.FeaturePerftest, lookFor: "ib_write_bw",
		})
	}
	return all
}()

// Names lists the tests.
func Names() []string {
	names := make([]string, len(Tests))
	for i, t := range Tests {
		names[i] = t.Name
	}
	return names
}

// Find returns a test by its name.
func Find(name string) (Test, error) {
	for _, t := range Tests {
		if t.Name == name {
			return t, nil
		}
	}
	return Test{}, fmt.Errorf("no test is called %q", name)
}

// Request is one benchmark.
type Request struct {
	Test    Test
	Address netip.Addr // of the server; invalid: chosen
	Port    int        // 0: where the program listens by itself
	Length  time.Duration
	Streams int
}

func (d Request) port() int {
	if d.Port != 0 {
		return d.Port
	}
	return d.Test.port
}

// ports names what a firewall has to let through.
// qperf talks on its port and measures on the next one (-ip), where UDP is data too.
func (d Request) ports() string {
	if d.Test.Tool == "qperf" {
		return fmt.Sprintf("TCP %d, TCP and UDP %d", d.port(), d.port()+1)
	}
	return fmt.Sprintf("TCP %d", d.port())
}

// Result is what was measured.
type Result struct {
	Pair          connectivity.Pair // from the client to the server
	Gbps          float64           // of a bandwidth
	LatencyUS     float64           // of a latency, one way
	Retransmits   int
	ClientVersion string
	ServerVersion string
	ClientCommand string
	ServerCommand string
	MeasuredAt    time.Time
	ClientRDMA    RDMAPort
	ServerRDMA    RDMAPort
}

// RDMAPort is a port that a test of perftest uses; zero for others.
type RDMAPort struct {
	Device string
	Number int
}

// NoWayError says that there is nothing to measure between two hosts.
type NoWayError struct{ Server, Client, Reason string }

func (e *NoWayError) Error() string {
	return fmt.Sprintf("there is no way from %s to %s to measure: %s", e.Client, e.Server, e.Reason)
}
