package systemd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// stop stops a unit and what is PartOf it.
func (s *Manager) stop(ctx context.Context, name string) error {
	u := s.unit(name)
	if u == nil {
		return &startError{fmt.Sprintf("Failed to stop %s: Unit %s not loaded.", name, name), 5}
	}
	for _, part := range s.partsOf(name) {
		if err := s.stop(ctx, part); err != nil {
			return err
		}
	}
	s.mu.Lock()
	p, done := u.proc, u.done
	u.stopping = true
	if u.timer != nil {
		u.timer.Stop()
		delete(s.units, u.name)
		s.dropIdle(strings.TrimSuffix(u.name, ".timer") + ".service")
	}
	s.mu.Unlock()
	for _, argv := range u.spec.stop {
		_ = s.step(u, argv)
	}
	if p == nil {
		s.mu.Lock()
		u.active, u.sub = "inactive", "dead"
		if u.transient {
			delete(s.units, u.name)
		}
		s.mu.Unlock()
		return nil
	}
	s.end(ctx, u, p, done)
	return nil
}

const defaultStopTimeout = 90 * time.Second

// end stops a unit's processes: the stop signal, then a wait, then SIGKILL
// unless the unit forbids it. A unit whose stop signal is SIGCONT is only waited
// for, since nothing heeds that.
func (s *Manager) end(ctx context.Context, u *unit, p *labsim.Proc, done <-chan struct{}) {
	group := s.descendants(p.PID)
	spec := u.spec
	if spec.killSignal == 0 {
		spec.killSignal = syscall.SIGTERM
	}
	if spec.stopTimeout == 0 {
		spec.stopTimeout = defaultStopTimeout
	}
	if spec.killSignal != syscall.SIGCONT {
		p.Signal(spec.killSignal)
		if spec.killMode == "" || spec.killMode == "control-group" {
			signalAll(group, spec.killSignal)
		}
	}
	late := make(chan struct{})
	timer := s.m.Lab.Clock.AfterFunc(spec.stopTimeout, func() { close(late) })
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
		return
	case <-late:
		if spec.noSigkill {
			return
		}
		p.Signal(syscall.SIGKILL)
	}
	if !spec.noSigkill && spec.killMode != "process" {
		signalAll(group, syscall.SIGKILL)
	}
}

func signalAll(list []*labsim.Proc, sig syscall.Signal) {
	for _, p := range list {
		p.Signal(sig)
	}
}

// descendants lists the running processes below one.
func (s *Manager) descendants(pid int) []*labsim.Proc {
	var out []*labsim.Proc
	family := map[int]bool{pid: true}
	for _, p := range s.m.Processes() { // in order of PID: parents come first
		if family[p.PPID] {
			family[p.PID] = true
			out = append(out, p)
		}
	}
	return out
}

// StopAll is an orderly shutdown: every service is stopped, and waited for as
// long as its unit says.
func (s *Manager) StopAll() {
	var wg sync.WaitGroup
	for _, name := range s.loadedUnits() {
		s.mu.Lock()
		u := s.units[name]
		running := u != nil && u.proc != nil
		s.mu.Unlock()
		if !running {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = s.stop(s.m.BootContext(), name)
		}()
	}
	wg.Wait()
}

// dropIdle unloads a transient unit that never ran. s.mu is held.
func (s *Manager) dropIdle(name string) {
	if u := s.units[name]; u != nil && u.transient && u.active == "inactive" {
		delete(s.units, name)
	}
}

// partsOf lists the running units that name PartOf=name.
func (s *Manager) partsOf(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for n, u := range s.units {
		if u.file == nil || u.active != "active" {
			continue
		}
		for _, p := range Words(u.file.Values["Unit.PartOf"]) {
			if p == name {
				parts = append(parts, n)
			}
		}
	}
	return parts
}

// restart stops and starts a unit; parts that were running are restarted too,
// even those that the unit itself would no longer start.
func (s *Manager) restart(ctx context.Context, name string) error {
	if s.Masked(name) || s.unit(name) == nil {
		return s.Start(name)
	}
	parts := s.partsOf(name)
	if err := s.stop(ctx, name); err != nil {
		return err
	}
	if err := s.Start(name); err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.Start(part); err != nil {
			return err
		}
	}
	return nil
}

// DaemonReload forgets the parsed unit files.
func (s *Manager) DaemonReload() {
	s.mu.Lock()
	names := make([]string, 0, len(s.units))
	for n := range s.units {
		names = append(names, n)
	}
	s.mu.Unlock()
	for _, n := range names {
		s.mu.Lock()
		u := s.units[n]
		s.mu.Unlock()
		if u == nil || u.transient {
			continue
		}
		f := s.loadUnit(n)
		s.mu.Lock()
		if f == nil && u.active != "active" {
			delete(s.units, n)
		}
		s.mu.Unlock()
		if f != nil {
			spec := s.specOf(f, n)
			s.mu.Lock()
			u.file, u.spec, u.desc = f, spec, strings.ReplaceAll(f.Last("Unit.Description"), "%i", instanceOf(n))
			s.mu.Unlock()
		}
	}
}

// Started says whether the present boot has started everything.
func (s *Manager) Started() bool {
	boots := s.m.Boots()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bootDone == boots
}

// MarkStarted says that the present boot has started everything.
func (s *Manager) MarkStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bootDone = s.m.Boots()
}

// OnReload notes what a process does at SIGHUP in place of ending; nil forgets it.
func (s *Manager) OnReload(pid int, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil {
		delete(s.hup, pid)
		return
	}
	s.hup[pid] = f
}
