package sshhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Config is how a host is reached.
type Config = sshconfig.Config

// Host is a machine reached over SSH. It is safe for concurrent use; all users
// share one connection, dialled when first needed and again after a loss.
type Host struct {
	name  string
	cfg   Config
	chain []*sshconfig.Hop
	fresh bool
	jumps *sshconn.Jumps
	away  atomic.Bool // uploads are staged outside the home directory

	mu      sync.Mutex
	link    *sshconn.Conn
	dialing *dialAttempt
	failed  *failure
	way     shellcmd.Way
	closed  bool
}

var _ host.FreshHost = (*Host)(nil)

// dialAttempt is an attempt to connect that several callers wait for.
type dialAttempt struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	link    *sshconn.Conn
	err     error
}

// failure remembers that a host could not be reached.
type failure struct {
	err error
	at  time.Time
}

// failureMemory is how long a failed connection answers for the next ones. Terraform
// reads ten resources at a time; without it a dead host would cost its timeout once for
// every ten.
var failureMemory = 10 * time.Second

// New checks the configuration and returns the host. It reads ~/.ssh/config; it
// neither dials nor reads keys.
func New(name string, cfg Config) (*Host, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	cfg.SetDefaults()
	chain, err := sshconfig.Resolve(cfg)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	return &Host{name: name, cfg: cfg, chain: chain}, nil
}

// Share has the host use the connections to jump hosts of other hosts. It is called before the first command. A fresh
// connection has its own: it proves the whole way.
func (h *Host) Share(jumps *sshconn.Jumps) { h.jumps = jumps }

func (h *Host) target() *sshconfig.Hop { return h.chain[len(h.chain)-1] }

// Name is the key of the provider's hosts map.
func (h *Host) Name() string { return h.name }

// Address is host:port as dialled.
func (h *Host) Address() string { return h.target().Address() }

// User is the name the host is logged in to with.
func (h *Host) User() string { return h.target().User }

// Observe reports whether the host is in observe mode.
func (h *Host) Observe() bool { return h.cfg.Observe }

// Fresh dials the same host anew.
func (h *Host) Fresh(ctx context.Context) (host.FreshHost, error) {
	// The way to root goes along: a probe more would cost the time in which a change has to be confirmed.
	f := &Host{name: h.name, cfg: h.cfg, chain: h.chain, fresh: true, way: h.knownWay()}
	if _, err := f.connect(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// Drop closes the present connection, so that the next command dials anew, and
// forgets that the host could not be reached.
func (h *Host) Drop() {
	h.mu.Lock()
	l := h.link
	h.link, h.failed = nil, nil
	h.mu.Unlock()
	if l != nil {
		l.Close(sshconn.ErrDropped)
	}
}

// Close closes the connection for good.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	if h.dialing != nil {
		h.dialing.cancel()
	}
	h.mu.Unlock()
	h.Drop()
	return nil
}

var errClosed = errors.New("this connection was closed for good")

// connect returns the shared connection, dialling if there is none. Callers that
// come while another one dials share its result.
func (h *Host) connect(ctx context.Context) (*sshconn.Conn, error) {
	h.mu.Lock()
	switch {
	case h.closed:
		h.mu.Unlock()
		return nil, h.unreachable("connect", "", errClosed)
	case h.link != nil && !h.link.Lost():
		defer h.mu.Unlock()
		return h.link, nil
	case h.failed != nil && time.Since(h.failed.at) < failureMemory:
		defer h.mu.Unlock()
		return nil, h.failed.err
	}
	d := h.dialing
	if d == nil {
		d = h.startDialing(ctx)
	}
	d.waiters++
	h.mu.Unlock()
	select {
	case <-d.done:
		return d.link, d.err
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		if d.waiters--; d.waiters == 0 {
			d.cancel() // nobody wants it any more
		}
		return nil, h.unreachable("connect", "", context.Cause(ctx))
	}
}

// startDialing dials for all who wait: if the first caller gives up, the others go on.
// The caller holds h.mu.
func (h *Host) startDialing(ctx context.Context) *dialAttempt {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &dialAttempt{done: make(chan struct{}), cancel: cancel}
	h.dialing = d
	go func() {
		defer cancel()
		l, err := sshconn.Dial(ctx, h.name, h.chain, h.cfg, h.jumps)
		h.mu.Lock()
		h.dialing, h.failed = nil, nil
		switch {
		case err == nil && h.closed:
			l.Close(errClosed)
			l, err = nil, h.unreachable("connect", "", errClosed)
		case err == nil:
			h.link = l
		// An attempt that was cancelled says nothing of the host.
		case ctx.Err() == nil:
			h.failed = &failure{err, time.Now()}
		}
		d.link, d.err = l, err
		h.mu.Unlock()
		ev := host.Event{Kind: "dial", What: h.Address(), Err: err}
		if l != nil {
			ev.RoundTrips = l.Turns()
		}
		h.trace(ev)
		close(d.done)
	}()
	return d
}

func (h *Host) unreachable(op, command string, err error) *host.UnreachableError {
	return &host.UnreachableError{Host: h.name, Address: h.Address(), Op: op, Command: command, Err: err}
}

func (h *Host) trace(ev host.Event) {
	if h.cfg.Trace == nil {
		return
	}
	ev.Fresh = h.fresh
	h.cfg.Trace(ev)
}

func (h *Host) knownWay() shellcmd.Way {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.way
}

func (h *Host) learnWay(way shellcmd.Way) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.way = way
}

// redact keeps the host's own secrets out of what is reported.
func (h *Host) redact(text string) string {
	return shellcmd.Redact(text, h.cfg.SudoPassword, h.cfg.Password, h.cfg.Passphrase)
}
