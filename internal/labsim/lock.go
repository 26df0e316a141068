package labsim

// fileLock is an exclusive flock(2) lock on a path.
type fileLock struct{ pid int }

// TryLock takes the exclusive flock of a path for a process, or returns the PID
// of the holder.
func (m *Machine) TryLock(path string, pid int) (holder int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[path]; l != nil && l.pid != pid {
		if _, alive := m.procs[l.pid]; alive {
			return l.pid, false
		}
	}
	m.locks[path] = &fileLock{pid: pid}
	return pid, true
}

// Unlock releases a flock held by a process. A lock also ends with its holder.
func (m *Machine) Unlock(path string, pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[path]; l != nil && l.pid == pid {
		delete(m.locks, path)
	}
}

// LockHolder returns the PID of the process that holds the flock of a path, or 0.
func (m *Machine) LockHolder(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[path]; l != nil {
		if _, alive := m.procs[l.pid]; alive {
			return l.pid
		}
	}
	return 0
}
