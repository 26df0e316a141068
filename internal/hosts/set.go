package hosts

import (
	"sync"
	"sync/atomic"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Set holds the hosts of one provider instance, each opened once, so that all
// resources of a host share its connection and its snapshot. It is safe for
// concurrent use.
type Set struct {
	open    func(name string) (host.Host, error)
	changes atomic.Uint64
	writes  atomic.Uint64

	mu    sync.Mutex
	hosts map[string]*Host
}

// NewSet returns an empty set. open makes a host from its name; it must not
// dial, because it is called while the set is locked.
func NewSet(open func(name string) (host.Host, error)) *Set {
	return &Set{open: open, hosts: map[string]*Host{}}
}

// Host returns the host of that name. Its errors are those of open and are not
// remembered.
func (s *Set) Host(name string) (*Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hosts[name]; ok {
		return h, nil
	}
	// An error is not kept: an address may be known only after another resource was made.
	opened, err := s.open(name)
	if err != nil {
		return nil, err
	}
	h := New(opened)
	h.changes, h.writes = &s.changes, &s.writes
	s.hosts[name] = h
	return h, nil
}

// Changes grows whenever something was found on a host, or what was found there
// became stale. What was derived from the snapshots of all hosts holds as long
// as it stays the same.
func (s *Set) Changes() uint64 { return s.changes.Load() }

// ForgetOlder forgets on each host what was found before the last change of any host. What
// a host shows of its fabric depends on the others: a new subnet manager gives all ports
// new LIDs. Before the first change nothing is forgotten.
func (s *Set) ForgetOlder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := s.writes.Load()
	for _, h := range s.hosts {
		h.forgetOlder(writes)
	}
}
