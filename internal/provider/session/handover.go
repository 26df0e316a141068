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

// The roles. A stopped one serves nobody.
const (
	SMStopped SMRole = iota
	SMStandby
	SMMaster
)

// Handover changes running subnet managers one at a time, standbys before masters. If
// two restarted at once, the fabric would have none; if a master went first, the fabric
// would change hands twice. Core asks in no order, for a second plan of each and then
// for its change. So each one is announced from the beginning of that plan to the end
// of its change. It is safe for concurrent use.
type Handover struct {
	busy    chan struct{} // holds a token while one is changed
	mu      sync.Mutex
	stages  map[attribute.PortRef]stage
	changed chan struct{} // closed when stages change
}

// stage is how far a subnet manager is that may go before a master.
type stage int

const (
	announced stage = iota // its host is asked what it is, or core has not begun its change
	waiting                // it is a standby that waits for its turn or has it
)

// announcedTimeout is how long a master waits for those that are only announced: core
// may have refused their plan, and does not say so.
const announcedTimeout = time.Minute

// NewHandover returns a handover of which nothing is known yet.
func NewHandover() *Handover {
	return &Handover{busy: make(chan struct{}, 1), stages: map[attribute.PortRef]stage{}, changed: make(chan struct{})}
}

// Announce says that a subnet manager may be a standby that is changed. It comes before
// the question to its host, which may be slow.
func (o *Handover) Announce(port attribute.PortRef) {
	o.set(func() { o.stages[port] = announced })
}

// Withdraw takes back what Announce said: the subnet manager was changed, is not to be
// changed, or is no standby.
func (o *Handover) Withdraw(port attribute.PortRef) {
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
	defer o.Withdraw(port)
	switch role {
	case SMStopped:
		o.Withdraw(port)
		return do()
	case SMStandby:
		o.set(func() { o.stages[port] = waiting })
	case SMMaster:
		o.Withdraw(port)
		if err := o.standbysFirst(ctx, port.Host); err != nil {
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

func (o *Handover) standbysFirst(ctx context.Context, host string) error {
	limit := time.NewTimer(announcedTimeout)
	defer limit.Stop()
	for patient := true; ; {
		first, changed := o.first(patient, host)
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

// first reports whether any goes before a master of a host. A patient master waits also for those
// that are only announced, but on its own host: there they wait for the host, which it holds.
func (o *Handover) first(patient bool, host string) (some bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for port, s := range o.stages {
		some = some || patient && port.Host != host || s == waiting
	}
	return some, o.changed
}
