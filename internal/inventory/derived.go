package inventory

import "github.com/ibfabric/terraform-provider-infiniband/internal/memo"

// Derived keeps what was made of one snapshot, for as long as the snapshot is there. The zero
// value is empty and ready.
type Derived struct{ of memo.Map[any, any] }

// Derive returns what create makes of the snapshot, which is made once for each key, however many
// objects of a host ask for it. The type of a key belongs to the package that derives. A snapshot
// without Derived keeps nothing: create runs each time.
func Derive[T any](s *Snapshot, key any, create func() T) T {
	if s.Derived == nil {
		return create()
	}
	kept, _ := s.Derived.of.Get(key, "", func() (any, error) { return create(), nil })
	made, _ := kept.(T)
	return made
}
