// Package memo remembers what was read or computed at some cost, for as long as
// the process lives.
//
// It must not read anything itself.
package memo

import "sync"

// Map holds one result for each key. The zero value is empty and ready. It is
// safe for concurrent use.
type Map[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]result[V]
}

type result[V any] struct {
	version string
	get     func() (V, error)
}

// Get returns what create made for key at its present version, such as a file's
// size and time; an earlier version is forgotten. Callers that come while create
// runs wait for it. An error is remembered like a result: what is read here does
// not mend while a plan runs.
func (m *Map[K, V]) Get(key K, version string, create func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.made == nil {
		m.made = map[K]result[V]{}
	}
	r, ok := m.made[key]
	if !ok || r.version != version {
		r = result[V]{version, sync.OnceValues(create)}
		m.made[key] = r
	}
	m.mu.Unlock()
	return r.get()
}
