package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// SMRole is what a subnet manager does before it is changed.
type SMRole int

// The roles. One that does not run takes nothing away from its fabric.
const (
	SMStopped SMRole = iota
	SMStandby
	SMMaster
)

// Handover has subnet managers that run changed one at a time, and standbys before
// masters. Two that restart at once would leave the fabric without any, and a master
// that goes first makes it change hands twice. Core asks in no order: for the plan of
// each once more, and then for its change. So each is announced from the beginning of
// that plan to the end of its change. It is safe for concurrent use.
type Handover struct {
	busy    chan struct{} // holds a token while one is changed
	mu      sync.Mutex
	stages  map[attribute.PortRef]stage
	changed chan struct{} // closed when stages change
}

// stage is how far a subnet manager is that may have to go before a master.
type stage int

const (
	coming  stage = iota // its host is asked what it is, or core has not begun its change
	waiting              // it is a standby that waits for its turn or has it
)

// comingTimeout bounds how long a master waits for those that are only coming: core
// may have refused what was planned, and then does not say so.
const comingTimeout = time.Minute

// NewHandover returns a handover of which nothing is known yet.
func NewHandover() *Handover {
	return &Handover{busy: make(chan struct{}, 1), stages: map[attribute.PortRef]stage{}, changed: make(chan struct{})}
}

// Coming announces a subnet manager that may turn out to be a standby that will be
// changed, before its host is asked: hosts answer late.
func (o *Handover) Coming(port attribute.PortRef) {
	o.set(func() { o.stages[port] = coming })
}

// Done takes back what Coming announced: it was changed, or will not be, or is no
// standby.
func (o *Handover) Done(port attribute.PortRef) {
	o.set(func() { delete(o.stages, port) })
}

func (o *Handover) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.changed)
	o.changed = make(chan struct{})
}

// Do changes a subnet manager when it is its turn.
func (o *Handover) Do(ctx context.Context, port attribute.PortRef, role SMRole, do func() error) error {
	defer o.Done(port)
	switch role {
	case SMStopped:
		o.Done(port)
		return do()
	case SMStandby:
		o.set(func() { o.stages[port] = waiting })
	case SMMaster:
		o.Done(port)
		if err := o.standbysFirst(ctx); err != nil {
			return err
		}
	}
	select {
	case o.busy <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait until other subnet managers are changed: %w", context.Cause(ctx))
	}
	defer func() { <-o.busy }()
	return do()
}

func (o *Handover) standbysFirst(ctx context.Context) error {
	limit := time.NewTimer(comingTimeout)
	defer limit.Stop()
	for patient := true; ; {
		first, changed := o.first(patient)
		if !first {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			patient = false
		case <-ctx.Done():
			return fmt.Errorf("wait until standby subnet managers are changed: %w", context.Cause(ctx))
		}
	}
}

// first reports whether any goes before a master; who is patient waits for those, too,
// that are only coming.
func (o *Handover) first(patient bool) (some bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.stages {
		some = some || patient || s == waiting
	}
	return some, o.changed
}
