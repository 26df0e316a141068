package acctest

import (
	"context"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// trips is what one plan costs on a host: connections, commands and transfers.
type trips struct{ connections, commands, transfers int }

func (w *Lab) trips(host string, do func()) trips {
	before := w.Machine(host).Counters()
	do()
	after := w.Machine(host).Counters()
	return trips{after.Connections - before.Connections, after.Sessions - before.Sessions, after.SFTP - before.SFTP}
}

// runs is how often a program was run on a host.
func (w *Lab) runs(host, program string) int {
	n := 0
	for _, e := range w.Machine(host).Journal() {
		if path.Base(e.Args[0]) == program {
			n++
		}
	}
	return n
}

// A refresh and plan of all seven kinds of a host costs one connection and one
// command, however many resources there are; and one command more where mstconfig
// keeps the link types in the card.
func TestRoundTrips_one_collection_for_a_host(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws, cfg := w.Workspace(), w.BothHosts()
	mustApply(t, ws, cfg)
	for host, commands := range map[string]int{labs.Intel9: 1, labs.Xeon2zfs: 2} {
		got := w.trips(host, func() { emptyPlan(t, ws, cfg) })
		if want := (trips{connections: 1, commands: commands}); got != want {
			t.Errorf("%s: a plan without changes cost %+v, expected %+v", host, got, want)
		}
	}
	// Many more resources of the same kinds ask nothing more.
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		for _, r := range w.CrossFlash(labs.Intel9) {
			if r.Type == "infiniband_card" {
				r.Name = name
				cfg = append(cfg, r)
			}
		}
	}
	mustApply(t, ws, cfg)
	if got := w.trips(labs.Intel9, func() { emptyPlan(t, ws, cfg) }); got.commands != 1 || got.connections != 1 {
		t.Errorf("with five cards more it cost %+v", got)
	}
}

// mstconfig speaks with the firmware of a card, which may take long to say nothing: it
// is run for a link type only, once for a card, and not where it has lost the chip.
func TestRoundTrips_mstconfig_for_link_types_only(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.MstflintVersion = "4.21.0" })})
	ws := w.Workspace()
	card := w.CrossFlash(labs.Intel9)[:1]
	mustApply(t, ws, card)
	if got := w.trips(labs.Intel9, func() { emptyPlan(t, ws, card) }); got.commands != 1 ||
		w.runs(labs.Intel9, "mstconfig") != 0 {
		t.Errorf("without link types: %+v, mstconfig was run %d times", got, w.runs(labs.Intel9, "mstconfig"))
	}
	types := append(w.types(labs.Intel9, "ib", "ib"), card...)
	mustApply(t, ws, types)
	before := w.runs(labs.Intel9, "mstconfig")
	if got := w.trips(labs.Intel9, func() { emptyPlan(t, ws, types) }); got.commands != 2 ||
		w.runs(labs.Intel9, "mstconfig") != before+1 {
		t.Errorf("with link types: %+v, mstconfig was run %d times", got, w.runs(labs.Intel9, "mstconfig")-before)
	}
	w.Machine(labs.Intel9).Tools["mstflint"] = "4.26.0"
	if got := w.trips(labs.Intel9, func() { mustPlan(t, ws, types) }); got.commands != 1 {
		t.Errorf("with a tool that has lost the chip: %+v", got)
	}
}

// A plan of a whole host waits for it three times at most after the handshake:
// the transport counts its waits.
func TestRoundTrips_at_most_three_waits(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: boughtHost()})
	ws, cfg := w.Workspace(), w.CrossFlash(labs.Intel9)
	mustApply(t, ws, cfg)
	var (
		mu    sync.Mutex
		waits = map[string]int{}
	)
	ws.factory = func() (tfprotov6.ProviderServer, error) {
		return provider.Server(provider.NewTuned("test", provider.Tuning{Trace: func(e host.Event) {
			mu.Lock()
			defer mu.Unlock()
			waits[e.Kind] += e.RoundTrips
		}})()), nil
	}
	emptyPlan(t, ws, cfg)
	mu.Lock()
	defer mu.Unlock()
	if waits["run"] == 0 || waits["run"] > 3 || waits["upload"]+waits["download"] > 0 {
		t.Errorf("waits for the host by kind: %v; expected 1 to 3 for commands and none for files", waits)
	}
}

// With a delay on the line a plan takes some round trips more, not some for each
// resource.
func TestRoundTrips_few_at_a_distance(t *testing.T) {
	t.Parallel()
	const oneWay = 50 * time.Millisecond
	w := Start(t, Options{Hosts: boughtHost()})
	ws, cfg := w.Workspace(), w.CrossFlash(labs.Intel9)
	mustApply(t, ws, cfg)
	// The best of some, because other tests run at the same time.
	best := func() time.Duration {
		return min(timeOf(func() { emptyPlan(t, ws, cfg) }), timeOf(func() { emptyPlan(t, ws, cfg) }),
			timeOf(func() { emptyPlan(t, ws, cfg) }))
	}
	// The SSH handshake takes 4 to 5 round trips, the session and its command 3; a
	// wait for each of the seven resources would be as much again. A machine that
	// is busy otherwise adds to either time, never takes away.
	const bar = 14
	waits := float64(bar + 1)
	for try := 0; waits > bar && try < 4; try++ {
		w.Machine(labs.Intel9).Faults.Clear()
		near := best()
		w.Machine(labs.Intel9).Faults.Set(labsim.FaultSpec{Latency: oneWay})
		far := best()
		waits = min(waits, float64(far-near)/float64(2*oneWay))
		t.Logf("%.1f round trips, handshake included (%s near, %s far)", waits, near, far)
	}
	if waits > bar {
		t.Errorf("a plan waited %.1f round trips for the host, the handshake included", waits)
	}
}

func timeOf(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// A plan dials only the hosts that its resources are on, and those whose GUIDs a
// new identity is compared with.
func TestRoundTrips_nothing_for_hosts_without_resources(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	cfg := Config{w.CrossFlash(labs.Intel9)[0]}
	mustApply(t, ws, cfg)
	if got := w.trips(labs.Xeon2zfs, func() { emptyPlan(t, ws, cfg) }); got != (trips{}) {
		t.Errorf("a host without resources was asked: %+v", got)
	}
	if _, err := ws.Validate(context.Background(), w.BothHosts()); err != nil {
		t.Fatal(err)
	}
	if n := w.Machine(labs.Xeon2zfs).Counters().Connections; n != 0 {
		t.Errorf("validation dialled: %d connections", n)
	}
}
