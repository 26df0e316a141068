package benchmark

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Noted is a result, as its client has noted it.
type Noted struct {
	Time    time.Time // by the clock of the client
	Test    Test
	Streams int
	Server  string // as the operator calls it
	Address netip.Addr
	Value   float64 // Gb/s of a bandwidth, µs of a latency
	Limit   float64 // in the same unit; 0 is none
	Missed  bool
	How     string // what else counts: mode, MTU, link
	By      string
}

// Unit is the unit of the results of a test.
func (t Test) Unit() string {
	if t.Latency {
		return "µs"
	}
	return "Gb/s"
}

// Note adds a result to the notes of its client, in one line.
func Note(ctx context.Context, client host.Host, server string, d Request, r Result, l Limits) error {
	c := changes.Change{What: changes.Benchmark, Object: d.Test.Name, From: client.Name(), Outcome: changes.Verified,
		To: server + ", " + r.Pair.Addr.String()}
	if d.Streams > 1 {
		c.Object += fmt.Sprintf(", %d streams", d.Streams)
	}
	how, n := []string{}, r.Pair.From.Netdev
	switch {
	case d.Test.RDMA:
		c.From += ", " + r.ClientRDMA.Device
	case n != nil:
		c.From += ", " + n.Name
		how = append(how, strings.TrimSpace(fmt.Sprintf("%s MTU %d", n.Mode, n.MTU)))
	}
	if rate := slower(r.Pair); rate != "" {
		how = append(how, rate)
	}
	if r.Retransmits > 0 {
		how = append(how, fmt.Sprintf("%d segments sent again", r.Retransmits))
	}
	value, name, counts := r.Gbps, "min_gbps", l.of(r.Pair)
	limit := counts.minGbps
	if d.Test.Latency {
		value, name, limit = r.LatencyUS, "max_latency_us", counts.maxLatencyUS
	}
	c.Text = short(value) + " " + d.Test.Unit()
	if limit > 0 {
		c.Text += ", " + name + " = " + short(limit)
	}
	if len(how) > 0 {
		c.Text += "; " + strings.Join(how, ", ")
	}
	if len(Judge(d, r, l)) > 0 {
		c.Outcome = changes.Failed
	}
	return changes.Add(ctx, client, c)
}

// short writes a number with at most three decimals.
func short(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 3, 64), "0"), ".")
}

var (
	notedTest   = regexp.MustCompile(`^([a-z0-9_]+)(?:, ([0-9]{1,2}) streams)?$`)
	notedServer = regexp.MustCompile(`^(.{1,255}), ([0-9A-Fa-f.:]+)$`)
	notedResult = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,3})?) (Gb/s|µs)` +
		`(?:, (?:min_gbps|max_latency_us) = ([0-9]{1,9}(?:\.[0-9]{1,3})?))?(?:; (.*))?$`)
)

// Read reads a line of the notes; ok is false if it is none of a benchmark, or not as Note writes it: a host may
// write anything.
func Read(c changes.Change) (n Noted, ok bool) {
	test, server, result := notedTest.FindStringSubmatch(c.Object), notedServer.FindStringSubmatch(c.To),
		notedResult.FindStringSubmatch(c.Text)
	if c.What != changes.Benchmark || test == nil || server == nil || result == nil {
		return n, false
	}
	var errs [3]error
	n.Time, errs[0] = time.Parse("2006-01-02T15:04:05Z", c.Time)
	n.Test, errs[1] = Find(test[1])
	n.Address, errs[2] = netip.ParseAddr(server[2])
	n.Server, n.How, n.By, n.Missed = server[1], result[4], c.Operator, c.Outcome == changes.Failed
	n.Streams, _ = strconv.Atoi(test[2])
	n.Streams = max(1, n.Streams)
	n.Value, _ = strconv.ParseFloat(result[1], 64)
	n.Limit, _ = strconv.ParseFloat(result[3], 64)
	return n, errs == [3]error{} && result[2] == n.Test.Unit()
}
