package inventory

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
