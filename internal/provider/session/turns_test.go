package session

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
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
