package labsim

// fileLock is a flock(2) lock on a path: one exclusive holder or several shared.
type fileLock struct {
	holders   map[int]bool
	exclusive bool
}

// liveLock returns the lock of a path without holders that died. m.mu is held.
func (m *Machine) liveLock(path string) *fileLock {
	l := m.locks[path]
	if l == nil {
		return nil
	}
	for pid := range l.holders {
		if _, alive := m.procs[pid]; !alive {
			delete(l.holders, pid)
		}
	}
	if len(l.holders) == 0 {
		delete(m.locks, path)
		return nil
	}
	return l
}

// TryLock takes the flock of a path for a process and says whether it got it.
func (m *Machine) TryLock(path string, pid int, shared bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.liveLock(path)
	if l == nil {
		m.locks[path] = &fileLock{holders: map[int]bool{pid: true}, exclusive: !shared}
		return true
	}
	if l.exclusive || !shared {
		return len(l.holders) == 1 && l.holders[pid]
	}
	l.holders[pid] = true
	return true
}

// Unlock releases a flock held by a process. A lock also ends with its holder.
func (m *Machine) Unlock(path string, pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.liveLock(path); l != nil {
		delete(l.holders, pid)
	}
}

// PassLock hands a lock over, as a child that outlives its parent keeps the
// inherited descriptor.
func (m *Machine) PassLock(path string, from, to int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[path]; l != nil && l.holders[from] {
		l.holders[to] = true
	}
}
