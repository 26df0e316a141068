package planned

import "sync"

// Files are the places on this machine that resources write in this walk. Core may destroy
// an object after it has made the one that replaces it, or both at once, and a delete sees
// the state alone: what was written in this walk is of an object that stays. It lives as
// long as the process, hence one walk of core. The zero value is ready; it is safe for
// concurrent use.
type Files struct {
	mu      sync.Mutex
	written map[string]bool
}

// Write runs write while nothing else of this walk is written or removed. If it succeeds,
// the place is written.
func (f *Files) Write(place string, write func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := write()
	if err == nil {
		if f.written == nil {
			f.written = map[string]bool{}
		}
		f.written[place] = true
	}
	return err
}

// Remove runs remove in the same way, unless this walk has written the place.
func (f *Files) Remove(place string, remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.written[place] {
		remove()
	}
}
