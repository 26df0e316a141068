package systemd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// logLine is one entry of the journal of this boot.
type logLine struct {
	at    time.Time
	unit  string
	ident string
	text  string
}

func (s *Manager) Log(unit, ident, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, logLine{s.m.Lab.Clock.Now(), unit, ident, text})
}

// journalWriter turns a unit's output into journal lines.
type journalWriter struct {
	s           *Manager
	unit, ident string
	mu          sync.Mutex
	partial     []byte
}

// Journal is where the output of a unit goes.
func (s *Manager) Journal(unit, ident string) io.Writer {
	return &journalWriter{s: s, unit: unit, ident: ident}
}

func (w *journalWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, b...)
	for {
		i := bytes.IndexByte(w.partial, '\n')
		if i < 0 {
			return len(b), nil
		}
		w.s.Log(w.unit, w.ident, string(w.partial[:i]))
		w.partial = w.partial[i+1:]
	}
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// journalctl shows the lines of units.
func journalctl(_ context.Context, p *labsim.Proc, o *labsim.Flags) int {
	if len(o.Args) > 0 {
		return p.Unknown("operand " + o.Args[0])
	}
	format := o.Or("output", "short")
	if format != "short" && format != "cat" {
		return p.Unknown("output format " + format)
	}
	lines := Of(p.Machine).journalLines(o)
	if n, err := strconv.Atoi(o.Or("lines", "")); err == nil && n < len(lines) {
		lines = lines[len(lines)-n:]
	}
	if len(lines) == 0 && !o.Has("quiet") {
		p.Printf("-- No entries --\n")
	}
	for _, l := range lines {
		if format == "short" {
			p.Printf("%s %s %s: ", l.at.UTC().Format("Jan 02 15:04:05"), p.Machine.Name, l.ident)
		}
		p.Printf("%s\n", l.text)
	}
	return 0
}

func (s *Manager) journalLines(o *labsim.Flags) []logLine {
	var out []logLine
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if !o.Has("unit") || matchesAny(l.unit, o.All("unit")) {
			out = append(out, l)
		}
	}
	return out
}

func matchesAny(unit string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return GlobMatch(fullName(p), unit) })
}

// systemdInhibit runs a command under an inhibitor lock.
func systemdInhibit(ctx context.Context, p *labsim.Proc, o *labsim.Flags) int {
	s := Of(p.Machine)
	if len(o.Args) == 0 {
		return p.Fail(1, "Missing command line to execute.")
	}
	mode := o.Or("mode", "block")
	if mode != "block" && mode != "delay" {
		return p.Fail(1, "Failed to inhibit: Invalid argument")
	}
	if p.UID != 0 && mode == "block" {
		return p.Fail(1, "Failed to inhibit: Access denied")
	}
	lock := Inhibitor{What: o.Or("what", "idle:sleep:shutdown"), Who: o.Or("who", o.Args[0]),
		Why: o.Or("why", "Unknown reason"), Mode: mode, PID: p.PID}
	s.mu.Lock()
	s.inhibitors[p.PID] = lock
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.inhibitors, p.PID)
	}()
	st := p.Run(ctx, o.Args...)
	if st == 127 {
		return p.Fail(1, "Failed to execute %s: No such file or directory", o.Args[0])
	}
	return st
}

// timestamp is how systemctl show prints a point in time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 MST")
}

func monotonic(s *Manager, t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.Sub(s.m.BootTime()).Microseconds(), 10)
}

// Inhibitor is a lock taken with systemd-inhibit.
type Inhibitor struct {
	What, Who, Why, Mode string
	PID                  int
}

// Inhibitors returns the inhibitor locks that are held now.
func Inhibitors(m *labsim.Machine) []Inhibitor {
	s := Of(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.inhibitors))
}
