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

// Turns lets one card at a time be written, over all hosts, and none after one that
// failed: cards that were bought together fail together, so the first one warns for the
// others. It lives as long as the process, hence an apply. It is safe for concurrent
// use.
//
// The last of many cards waits for hours, so do must read its facts itself, as
// Data.WithHost makes sure.
type Turns struct {
	// SMs orders the changes of subnet managers.
	SMs *Handover

	turn   chan struct{}
	mu     sync.Mutex
	failed string // the card of the first failure
}

// NewTurns returns turns of which the first is free.
func NewTurns() *Turns { return &Turns{SMs: NewHandover(), turn: make(chan struct{}, 1)} }

// Do waits for the turn and writes the card. The wait does not count against the time
// limit: ctx ends with the operation, and do sets its own limit. After the failure of
// another card it is *safety.RefusedError with HO018.
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

// burnFailed reports whether an error says something about other cards. A refusal
// before anything was written does not, nor does a host that could not be reached. A
// card whose restart was refused has not shown that it runs what was written.
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
