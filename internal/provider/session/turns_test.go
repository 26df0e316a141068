package session

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Only what says something about other cards keeps them from being written.
func TestTurns_afterOneThatFailed(t *testing.T) {
	first := attribute.CardRef{Host: "intel9", PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	second := attribute.CardRef{Host: "xeon2zfs", PCI: ib.MustParsePCIAddress("0000:01:00.0")}
	for name, c := range map[string]struct {
		err  error
		goOn bool
	}{
		"done":                   {nil, true},
		"refused before a write": {&safety.RefusedError{What: "burn firmware"}, true},
		"restart refused, not shown": {&safety.RefusedError{What: "reboot", Done: "The flash is written and verified"},
			false},
		"host is away":  {&host.UnreachableError{Host: "intel9"}, true},
		"burn failed":   {&cards.Error{Summary: "Unable to burn"}, false},
		"anything else": {errors.New("odd"), false},
	} {
		turns := NewTurns(1)
		if err := turns.Do(t.Context(), first, func() error { return c.err }); !errors.Is(err, c.err) {
			t.Errorf("%s: the error became %v", name, err)
		}
		wrote := false
		err := turns.Do(t.Context(), second, func() error { wrote = true; return nil })
		var refused *safety.RefusedError
		if wrote != c.goOn || errors.As(err, &refused) == c.goOn {
			t.Errorf("%s: the next card was written: %t, %v", name, wrote, err)
		}
	}
}

// The first card is written alone, then so many at a time, never two of one host, in the order in which they came;
// after a failure none begins, and those that wait are refused.
func TestTurns_several_at_a_time(t *testing.T) {
	t.Parallel()
	turns := NewTurns(2)
	begun, results := make(chan string), make(chan error, 8)
	end := map[string]chan error{}
	write := func(card string, waiting int) {
		wait := make(chan error)
		end[card] = wait
		ref := attribute.CardRef{Host: card[:1], PCI: ib.MustParsePCIAddress("0000:0" + card[1:] + ":00.0")}
		go func() {
			results <- turns.Do(context.Background(), ref, func() error {
				begun <- card
				return <-wait
			})
		}()
		for stands := 0; waiting > 0 && stands != waiting; { // the order in which they come counts
			turns.mu.Lock()
			stands = len(turns.queue)
			turns.mu.Unlock()
			runtime.Gosched()
		}
	}
	begins := func(want ...string) {
		t.Helper()
		got := make([]string, 0, len(want))
		for range want {
			got = append(got, <-begun)
		}
		slices.Sort(got)
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if !slices.Equal(got, want) || len(turns.running) > 2 {
			t.Errorf("began: %v, expected %v; %v run", got, want, turns.running)
		}
	}
	ends := func(card string, err error) {
		t.Helper()
		end[card] <- err
		if got := <-results; !errors.Is(got, err) {
			t.Errorf("%s: %v", card, got)
		}
	}
	write("a1", 0)
	begins("a1")
	for i, card := range []string{"a2", "a3", "b1", "c1"} {
		write(card, i+1)
	}
	ends("a1", nil)
	begins("a2", "b1") // not a3, whose host is busy
	ends("a2", nil)
	begins("a3")
	failure := &cards.Error{Summary: "Unable to burn"}
	end["b1"] <- failure
	for range 2 { // b1, and c1, which was not begun
		var refused *safety.RefusedError
		if got := <-results; !errors.Is(got, failure) && !errors.As(got, &refused) {
			t.Errorf("after a failure: %v", got)
		}
	}
	ends("a3", nil)
}

// A failure stops an apply that ran at that time, also one of the same configuration. A later one of that
// configuration mends the card. Another configuration waits for that.
func TestStopsFor(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, after := began.Add(-time.Hour).Format(inventory.StopTime), began.Add(time.Millisecond).Format(inventory.StopTime)
	for name, tt := range map[string]struct {
		stop    inventory.Stop
		observe bool // the host of the card that failed
		hold    bool
	}{
		"an earlier failure of this configuration": {inventory.Stop{ID: "job", Host: "nas", At: before, Root: "/a"}, false, false},
		"the hosts are shared":                     {inventory.Stop{ID: "job", Host: "nas", At: before, Root: "/b"}, false, true},
		"of a version that noted no root module":   {inventory.Stop{ID: "job", Host: "nas", At: before}, false, true},
		"a failure since it began":                 {inventory.Stop{ID: "job", Host: "nas", At: after, Root: "/a"}, false, true},
		"a failure of another configuration":       {inventory.Stop{ID: "job", Host: "elsewhere", At: before, Root: "/a"}, true, true},
		"a host that nobody here knows":            {inventory.Stop{ID: "other", Host: "far", At: before, Root: "/a"}, false, true},
		"a mark without content":                   {inventory.Stop{ID: "other"}, false, true},
		"the card itself":                          {inventory.Stop{ID: "job", Host: "pc", PCI: "0000:01:00.0", At: after}, true, false},
	} {
		d := &Data{Began: began, Cards: hca.New(cards.Config{Root: "/a"}), Turns: NewTurns(1), Hosts: map[string]HostConfig{"pc": {}, "nas": {Observe: tt.observe}}}
		d.known.from = map[string]*inventory.Snapshot{"nas": {Jobs: []inventory.Job{{ID: "job"}}}}
		at := &CardAt{Look: &cards.Look{}, Ref: attribute.CardRef{Host: "pc", PCI: ib.MustParsePCIAddress("0000:01:00.0")}}
		own := &inventory.Snapshot{Stops: []inventory.Stop{inventory.ParseStop(tt.stop.ID, tt.stop.Text())}}
		if got := d.StopsFor(at)(own); (len(got) == 1) != tt.hold {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
