// Package ping builds the command that measures the way between two hosts with
// ping of iputils, and reads what it prints.
//
// It must not run anything.
package ping

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

//go:embed probe.sh
var probe string

// What ping puts in front of its data: the IP and the ICMP header.
const (
	headers4 = 20 + 8
	headers6 = 40 + 8
)

// headers returns the headers of a family.
func headers(a netip.Addr) int {
	if a.Is4() {
		return headers4
	}
	return headers6
}

// Probe says what is measured.
type Probe struct {
	To        netip.Addr
	Interface string // empty: as the routes say
	MTU       int    // of that interface
	Count     int
	Guess     int   // MTU of the other end, tried first where packets of MTU do not pass; 0 if unknown
	Sizes     []int // further packets to send in one piece, headers included
}

// Command sends small packets, packets of the MTU that must not be fragmented, packets
// of twice the MTU that are fragmented, and those of Sizes. Where the largest do not
// pass, it looks for the path MTU. A search takes up to about 30 seconds, because it
// waits for each lost packet.
func (p Probe) Command() shellcmd.Command {
	family, dev := "6", "-"
	if p.To.Is4() {
		family = "4"
	}
	if p.Interface != "" {
		dev = p.Interface
	}
	args := []string{family, p.To.String(), dev, strconv.Itoa(p.Count), strconv.Itoa(p.MTU), strconv.Itoa(headers(p.To)),
		strconv.Itoa(p.Guess)}
	for _, s := range p.Sizes {
		args = append(args, strconv.Itoa(s))
	}
	runs := 3 + len(p.Sizes)
	limit := time.Duration(runs)*(time.Duration(p.Count)*1200*time.Millisecond+2*time.Second) + 90*time.Second
	return shellcmd.Script("ping-probe", answer.Functions+probe, args...).WithTimeout(limit)
}

// Answer is what a probe printed.
type Answer struct {
	Default, Full, Fragmented Run
	Sizes                     map[int]Run
	PathMTU                   int // largest packet that passed in one piece; 0 if none did
}

// Run is one ping.
type Run struct {
	Sent, Received int
	Min, Avg, Max  float64 // milliseconds; 0 if nothing came back
	// Said is the first line that says why packets did not pass.
	Said string
}

// Loss is the lost share in percent.
func (r Run) Loss() float64 {
	if r.Sent == 0 {
		return 100
	}
	return float64(r.Sent-r.Received) * 100 / float64(r.Sent)
}

// Parse reads the output of Probe.Command.
func Parse(out string) (Answer, error) {
	a := Answer{Sizes: map[int]Run{}}
	err := answer.Read(out, func(i answer.Item) (err error) {
		if i.Word == "path" {
			a.PathMTU, err = strconv.Atoi(i.Name)
			return err
		}
		r, err := parseRun(i.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
		a.set(i.Name, r)
		return nil
	})
	return a, err
}

func (a *Answer) set(name string, r Run) {
	switch name {
	case "default":
		a.Default = r
	case "full":
		a.Full = r
	case "fragmented":
		a.Fragmented = r
	default:
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "size ")); err == nil {
			a.Sizes[n] = r
		}
	}
}

var (
	counts = regexp.MustCompile(`^(\d+) packets transmitted, (\d+) received,`)
	times  = regexp.MustCompile(`^rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/[\d.]+ ms`)
)

// parseRun reads the output of one ping, standard output and error together. If ping
// never sent anything (no route, no such interface), there is no summary, and Said is
// its complaint.
func parseRun(out string) (Run, error) {
	var r Run
	summary := false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if m := counts.FindStringSubmatch(line); m != nil {
			summary = true
			r.Sent, r.Received = number(m[1]), number(m[2])
		} else if m := times.FindStringSubmatch(line); m != nil {
			r.Min, r.Avg, r.Max = decimal(m[1]), decimal(m[2]), decimal(m[3])
		} else if complaint(line) {
			r.Said = cmp.Or(r.Said, line)
		}
	}
	if !summary && r.Said == "" {
		return r, fmt.Errorf("no statistics of ping")
	}
	return r, nil
}

// complaint reports whether a line is ping's own. Such a line begins with the program's
// name, except for a warning about the choice of the source address. Answers of routers
// and of this host begin with "From".
func complaint(line string) bool {
	return strings.HasPrefix(line, "From ") || strings.HasPrefix(line, "ping: ") &&
		!strings.HasPrefix(line, "ping: Warning:")
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the expression lets digits through only
	return n
}

func decimal(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}
