// Package hostpool holds the hosts of one provider configuration: each is
// dialled once, when first used, and shared by all resources.
//
// It must not run a command of its own, or know what resources do.
package hostpool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
)

// Pool is the hosts of one provider configuration. It is safe for concurrent use.
type Pool struct {
	names   []string
	entries map[string]*entry
	jumps   sshconn.Jumps
}

type entry struct {
	cfg    sshhost.Config
	writer chan struct{} // holds one token while nobody writes to the host

	once sync.Once
	host *sshhost.Host
	err  error
}

// New returns a pool of the hosts in configs, keyed by name. It neither dials
// nor reads a file.
func New(configs map[string]sshhost.Config) *Pool {
	p := &Pool{entries: make(map[string]*entry, len(configs))}
	shared := &sshconfig.Shared{}
	for name, cfg := range configs {
		cfg.Shared = shared
		e := &entry{cfg: cfg, writer: make(chan struct{}, 1)}
		e.writer <- struct{}{}
		p.names = append(p.names, name)
		p.entries[name] = e
	}
	slices.Sort(p.names)
	return p
}

// Names returns the names of all hosts, sorted.
func (p *Pool) Names() []string { return slices.Clone(p.names) }

// Host returns the host called name, always the same one. It does not dial.
// The error says what is wrong with the configuration.
func (p *Pool) Host(name string) (host.Host, error) {
	e, err := p.entry(name)
	if err != nil {
		return nil, err
	}
	e.once.Do(func() {
		if e.host, e.err = sshhost.New(name, e.cfg); e.err == nil {
			e.host.Share(&p.jumps)
		}
	})
	if e.err != nil {
		return nil, e.err
	}
	return e.host, nil
}

// Lock waits until nobody else in this process writes to the host, or ctx ends.
// The caller calls unlock exactly once, or more often without harm.
func (p *Pool) Lock(ctx context.Context, name string) (unlock func(), err error) {
	e, err := p.entry(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.writer:
		return sync.OnceFunc(func() { e.writer <- struct{}{} }), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for another change on host %s to finish: %w", name, context.Cause(ctx))
	}
}

// Close closes every connection.
func (p *Pool) Close() error {
	var errs []error
	for _, name := range p.names {
		e := p.entries[name]
		e.once.Do(func() { e.err = fmt.Errorf("host %s: the pool is closed", name) })
		if e.host != nil {
			errs = append(errs, e.host.Close())
		}
	}
	return errors.Join(errs...)
}

func (p *Pool) entry(name string) (*entry, error) {
	if e, ok := p.entries[name]; ok {
		return e, nil
	}
	known := p.Names()
	if len(known) == 0 {
		return nil, fmt.Errorf("host %q is not configured: the provider's hosts map is empty", name)
	}
	return nil, fmt.Errorf("host %q is not configured; the provider's hosts map has: %s", name, strings.Join(known, ", "))
}
