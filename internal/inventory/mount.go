package inventory

import "strings"

// Mount is a file system that holds what is written to the host.
type Mount struct {
	Path     string // "/", "/etc"
	Kind     string // "ext4", "overlay", "tmpfs"
	ReadOnly bool
	// Fleeting says what of it a restart makes anew, "a tmpfs"; empty if nothing is known to be.
	Fleeting string
	Sure     bool // it does so; else it may
}

// MountOf is the file system that has a path; not ok if that is not known.
func (s *Snapshot) MountOf(file string) (m Mount, ok bool) {
	for _, one := range s.Mounts {
		within := one.Path == "/" || file == one.Path || strings.HasPrefix(file, one.Path+"/")
		if within && len(one.Path) > len(m.Path) {
			m, ok = one, true
		}
	}
	return m, ok
}
