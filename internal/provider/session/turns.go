package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Turns lets a few cards of different hosts be written at a time, and none after one that
// failed: cards that were bought together fail together, so the first one, which is always
// alone, warns for the others. It lives as long as the process, hence an apply. It is safe
// for concurrent use.
//
// The last of many cards waits for hours, so do must read its facts itself, as
// Data.WithHost makes sure.
type Turns struct {
	// SMs orders the changes of subnet managers.
	SMs *Handover

	most    int // cards at a time, once the first one is written
	mu      sync.Mutex
	queue   []*turn
	running map[string]bool // hosts
	proven  bool            // a card was written
	failed  string          // the card of the first failure
}

// turn is one write that waits, until ready is closed.
type turn struct {
	host  string
	ready chan struct{}
}

// NewTurns returns turns for so many cards at a time.
func NewTurns(most int) *Turns {
	return &Turns{SMs: NewHandover(), most: max(1, most), running: map[string]bool{}}
}

// Do waits for the turn and writes the card. The wait does not count against the time
// limit: ctx ends with the operation, and do sets its own limit. After the failure of
// another card it is *safety.RefusedError with HO018.
func (t *Turns) Do(ctx context.Context, ref attribute.CardRef, do func() error) (err error) {
	own := &turn{ref.Host, make(chan struct{})}
	t.enter(own)
	written := false
	defer func() { t.leave(own, ref, written, err) }()
	select {
	case <-own.ready:
	case <-ctx.Done():
		return fmt.Errorf("wait until other cards are written: %w", context.Cause(ctx))
	}
	if canary := t.after(); canary != "" {
		return &safety.RefusedError{What: "write card " + ref.String(),
			Findings: []finding.Finding{finding.EarlierCardFailed.Find("Card %s failed; this one was not touched", canary)}}
	}
	written = true
	return do()
}

func (t *Turns) enter(own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = append(t.queue, own)
	t.next()
}

func (t *Turns) leave(own *turn, ref attribute.CardRef, written bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, own); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	} else {
		delete(t.running, own.host)
	}
	if t.proven = t.proven || written && err == nil; written && t.failed == "" && burnFailed(err) {
		t.failed = ref.String()
	}
	t.next()
}

// next lets those begin whose turn it is, in the order in which they came. After a failure all may go on, to be
// refused.
func (t *Turns) next() {
	most := 1
	if t.proven {
		most = t.most
	}
	t.queue = slices.DeleteFunc(t.queue, func(w *turn) bool {
		mayBegin := t.failed != "" || len(t.running) < most && !t.running[w.host]
		if mayBegin {
			t.running[w.host] = true
			close(w.ready)
		}
		return mayBegin
	})
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
