package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Turns says who may write when.
//
// It lets one card at a time be written, over all hosts, and none after one
// that failed: cards that were bought together fail together, so that the first
// one of an apply is the canary of the others. It lives as long as the process,
// hence an apply. It is safe for concurrent use.
//
// The last of many cards waits for hours: do must decide on facts that it takes
// itself, as Data.WithHost sees to.
type Turns struct {
	// SMs orders the changes of subnet managers.
	SMs *Handover

	turn   chan struct{}
	mu     sync.Mutex
	failed string // the card of the first failure
}

// NewTurns returns turns of which the first is free.
func NewTurns() *Turns { return &Turns{SMs: NewHandover(), turn: make(chan struct{}, 1)} }

// Do waits for the turn and writes the card. The time of waiting is not that of
// the change: ctx is the one that ends with the operation, and do sets its own
// limit. After a failure it is *safety.RefusedError with HO018.
func (t *Turns) Do(ctx context.Context, ref attribute.CardRef, do func() error) error {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait until other cards are written: %w", context.Cause(ctx))
	}
	defer func() { <-t.turn }()
	if canary := t.after(); canary != "" {
		return &safety.RefusedError{What: "write card " + ref.String(),
			Findings: []finding.Finding{finding.EarlierCardFailed.Find("Card %s failed; this one was not touched", canary)}}
	}
	err := do()
	if burnFailed(err) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.failed = ref.String()
	}
	return err
}

func (t *Turns) after() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// burnFailed leaves out what says nothing about other cards: a refusal before
// anything was written, and a host that cannot be reached to begin with. A card
// whose restart was refused has not shown that it runs what was written.
func burnFailed(err error) bool {
	var (
		refused *safety.RefusedError
		op      *cards.Error
		away    *host.UnreachableError
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &refused):
		return refused.Done != ""
	case errors.As(err, &op):
		return true
	}
	return !errors.As(err, &away)
}
