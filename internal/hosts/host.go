// Package hosts reaches the hosts of one provider and fills the facts of package
// inventory: it collects everything that the resources need in one command and
// remembers it until the host is changed.
//
// It must not decide anything, or import Terraform.
package hosts

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Host is a host.Host that remembers what was found on it. Everything that
// changes the host goes through it, so the memory never outlives a change:
// Run of a changing command, Upload and Drop make the snapshot stale, also if
// they fail, because a command that failed may have changed something.
//
// A job that goes on after the command that started it has returned changes
// the host too; whoever waits for one calls Invalidate at its end.
//
// It is safe for concurrent use.
type Host struct {
	host.Host

	flight singleflight.Group

	mu         sync.Mutex
	generation uint64 // counts changes; a collection belongs to the one it began in
	snapshot   *inventory.Snapshot
	away       error                           // why the host could not be asked, see collectOnce
	first      *inventory.Snapshot             // the first one of all
	stored     map[configQuestion]configAnswer // of the cards that were asked
	changes    *atomic.Uint64                  // of the set, if the host is in one
	writes     *atomic.Uint64                  // of the set, if the host is in one
	asOf       uint64                          // writes when the snapshot was begun
	cleared    uint64                          // writes that forgetOlder last knew of
}

// New returns h with an empty memory. It does not dial.
func New(h host.Host) *Host {
	return &Host{Host: h, stored: map[configQuestion]configAnswer{}}
}

// Snapshot returns what is on the host: what is remembered, or else what one
// collection finds, which all callers that need one at that time share. Its
// errors are those of host.Host.Run, with *host.OutputError for an answer that
// was not understood. The snapshot is shared and must not be modified. A host that
// is down is asked once, until it is forgotten like what was found on others.
func (h *Host) Snapshot(ctx context.Context) (*inventory.Snapshot, error) {
	s, err := h.collected(ctx)
	noteLoss(ctx, h.Name(), err)
	return s, err
}

func (h *Host) collected(ctx context.Context) (*inventory.Snapshot, error) {
	snapshot, generation, away := h.last()
	if snapshot != nil || away != nil {
		return snapshot, away
	}
	// A caller that comes after a change must not join a collection that began
	// before it, hence the generation as key.
	found, err := h.join(ctx, strconv.FormatUint(generation, 10), func(ctx context.Context) (any, error) {
		return h.collectOnce(ctx, generation)
	})
	snapshot, _ = found.(*inventory.Snapshot)
	return snapshot, err
}

// join asks the host, or waits for the answer to a question with the same key.
func (h *Host) join(ctx context.Context, key string, ask func(context.Context) (any, error)) (any, error) {
	answer := h.flight.DoChan(key, func() (any, error) {
		// An answer serves several callers: the first one's cancellation
		// must not end it for the others. The transport's limit of a command,
		// command_timeout, bounds it.
		return ask(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: waiting for the facts of the host: %w", h.Name(), context.Cause(ctx))
	case r := <-answer:
		return r.Val, r.Err
	}
}

// collectOnce collects and remembers the result unless the host was changed
// meanwhile. That it is down is a result too: dozens of objects ask, and each
// attempt takes as long as its limits. A connection that broke says less: the
// host may have restarted its network, and another attempt shows it.
func (h *Host) collectOnce(ctx context.Context, generation uint64) (*inventory.Snapshot, error) {
	// Another collection of the same generation may just have ended.
	if s, g, away := h.last(); (s != nil || away != nil) && g == generation {
		return s, away
	}
	asOf := h.written()
	s, err := collectFrom(ctx, h.Host)
	if err != nil && !IsDown(err) {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == nil {
		// What a plan or a refresh has begun with, for what must not depend on this process's own changes.
		h.first = s
	}
	// Else something was changed while it was collected, and it may show half of that.
	if h.generation == generation {
		h.snapshot, h.away, h.asOf = s, err, asOf
		h.count()
	}
	return s, err
}

func (h *Host) last() (s *inventory.Snapshot, generation uint64, away error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snapshot, h.generation, h.away
}

// answered forgets that the host was down: it has just run a command.
// Without it a host that is back would count as down until something is changed there.
func (h *Host) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away != nil {
		h.away = nil
		h.count()
	}
}

// Peek returns what is remembered without asking the host; nil if nothing is.
func (h *Host) Peek() *inventory.Snapshot {
	s, _, _ := h.last()
	return s
}

// First returns what was found before this process changed the host; nil if nothing was read yet.
func (h *Host) First() *inventory.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first
}

// Invalidate forgets what was found; the next Snapshot collects anew.
func (h *Host) Invalidate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
	if h.writes != nil {
		h.writes.Add(1)
	}
}

func (h *Host) forget() {
	h.generation++
	h.snapshot, h.away = nil, nil
	clear(h.stored)
	h.count()
}

// forgetOlder forgets what was found before some host of the set was changed the last
// time; writes counts the changes. A collection that began before is not joined either.
func (h *Host) forgetOlder(writes uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asOf < writes && h.cleared < writes {
		h.cleared = writes
		h.forget()
	}
}

func (h *Host) written() uint64 {
	if h.writes == nil {
		return 0
	}
	return h.writes.Load()
}

func (h *Host) count() {
	if h.changes != nil {
		h.changes.Add(1)
	}
}

// withForget forgets what is known before and after do: before, so that nobody uses old
// facts during the change; after, so that a collection that saw half of the change is
// dropped.
func (h *Host) withForget(do func() error) error {
	h.Invalidate()
	defer h.Invalidate()
	return do()
}

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	return h.runOn(ctx, h.Host, cmd)
}

func (h *Host) runOn(ctx context.Context, on host.Host, cmd shellcmd.Command) (result host.Result, err error) {
	if cmd.Changing() {
		err = h.withForget(func() (failure error) {
			result, failure = on.Run(ctx, cmd)
			return failure
		})
		return result, err
	}
	if result, err = on.Run(ctx, cmd); err == nil {
		h.answered()
	}
	noteLoss(ctx, h.Name(), err)
	return result, err
}

// Upload implements host.Host.
func (h *Host) Upload(ctx context.Context, r io.ReaderAt, size int64, file host.RemoteFile) error {
	return h.withForget(func() error { return h.Host.Upload(ctx, r, size, file) })
}

// Drop implements host.Host. A connection is dropped around a reboot, after
// which nothing that was found can be relied on.
func (h *Host) Drop() {
	h.Invalidate()
	h.Host.Drop()
}

// Fresh implements host.Host; changes made over the other connection make the
// memory of this host stale as well.
func (h *Host) Fresh(ctx context.Context) (host.FreshHost, error) {
	fresh, err := h.Host.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	return &freshHost{FreshHost: fresh, parent: h}, nil
}

type freshHost struct {
	host.FreshHost
	parent *Host
}

func (f *freshHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	return f.parent.runOn(ctx, f.FreshHost, cmd)
}

func (f *freshHost) Upload(ctx context.Context, r io.ReaderAt, size int64, file host.RemoteFile) error {
	return f.parent.withForget(func() error { return f.FreshHost.Upload(ctx, r, size, file) })
}
