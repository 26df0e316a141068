package systemd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
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

// journalctl shows the lines of one unit or of the kernel.
func journalctl(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false,
		"unit u=", "dmesg k", "lines n=", "output o=",
		"no-pager", "boot b", "quiet q", "reverse r")
	if bad != "" || len(o.Args) > 0 {
		return p.Unknown("option " + bad + strings.Join(o.Args, " "))
	}
	format := o.Or("output", "short")
	if format != "short" && format != "cat" && format != "short-iso" {
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
		stamp := l.at.UTC().Format("Jan 02 15:04:05")
		if format == "short-iso" {
			stamp = l.at.UTC().Format("2006-01-02T15:04:05-0700")
		}
		if format == "cat" {
			p.Printf("%s\n", l.text)
			continue
		}
		p.Printf("%s %s %s: %s\n", stamp, p.Machine.Name, l.ident, l.text)
	}
	return 0
}

func (s *Manager) journalLines(o *labsim.Flags) []logLine {
	var out []logLine
	if o.Has("dmesg") {
		for _, t := range s.m.KernelLines() {
			out = append(out, logLine{at: s.m.Booted(), ident: "kernel", text: t})
		}
		return out
	}
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
	for _, pat := range patterns {
		if GlobMatch(fullName(pat), unit) {
			return true
		}
	}
	return false
}

// systemdInhibit runs a command under an inhibitor lock.
func systemdInhibit(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], true, "what=", "who=", "why=",
		"mode=", "list", "no-pager", "no-legend")
	if bad != "" {
		return p.Unknown("option " + bad)
	}
	s := Of(p.Machine)
	if o.Has("list") {
		for _, i := range Inhibitors(p.Machine) {
			p.Printf("%s 0 root %d systemd-inhibit %s %s %s\n", i.Who, i.PID, i.What, i.Why, i.Mode)
		}
		return 0
	}
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
	return strconv.FormatInt(t.Sub(s.m.Booted()).Microseconds(), 10)
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
	list := make([]Inhibitor, 0, len(s.inhibitors))
	for _, i := range s.inhibitors {
		list = append(list, i)
	}
	return list
}
