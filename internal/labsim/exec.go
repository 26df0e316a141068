package labsim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// Execution is one entry of a machine's journal.
type Execution struct {
	Time    time.Time
	PID     int
	UID     int
	Args    []string
	Exit    int
	Session int // 0 for services
}

// DefaultPath is the PATH of services and root.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookPath finds a program as the shell does. It returns the file and 0, or 127
// (not there) or 126 (not executable).
func (m *Machine) LookPath(cred vfs.Cred, dir, searchPath, name string) (file string, info vfs.Info, status int) {
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, d := range strings.Split(searchPath, ":") {
			candidates = append(candidates, path.Join("/", d, name))
		}
	}
	status = 127
	for _, c := range candidates {
		if !strings.HasPrefix(c, "/") {
			c = path.Join(dir, c)
		}
		info, err := m.FS.Stat(cred, c, true)
		if err != nil || info.IsDir() {
			continue
		}
		if m.FS.Access(cred, c, 1) != nil {
			status = 126
			continue
		}
		return c, info, 0
	}
	return "", vfs.Info{}, status
}

// Exec runs a process to its end in the calling goroutine and returns its
// status. The process dies with the machine or by a signal, not with ctx: when
// ctx ends first, Exec returns and the process goes on as an orphan, as a child
// of a killed shell does.
func (m *Machine) Exec(ctx context.Context, p *Proc) int {
	done := m.Spawn(p)
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		return max(SignalStatus(ctx), 1)
	}
}

// Spawn starts a process and returns a channel that delivers its status. The
// PID is set when Spawn returns.
func (m *Machine) Spawn(p *Proc) <-chan int {
	done := make(chan int, 1)
	p.Machine = m
	if p.Dir == "" {
		p.Dir = "/"
	}
	if p.Env == nil {
		p.Env = map[string]string{"PATH": DefaultPath}
	}
	if !p.umask {
		p.SetUmask(0o022)
	}
	file, info, status := m.LookPath(p.Cred(), p.Dir, p.Env["PATH"], p.Args[0])
	if status != 0 {
		m.notFound(p, status)
		done <- status
		return done
	}
	program, _ := info.Attached.(Program)
	if program == nil {
		program = m.scriptProgram
	}
	p.Path = file
	ctx := m.enter(p)
	fault := m.Faults.nextProgram(p.Args)
	go func() {
		status := m.runProgram(ctx, fault.around(program), p)
		m.leave(p, status)
		done <- status
	}()
	return done
}

func (m *Machine) notFound(p *Proc, status int) {
	text := "command not found"
	if status == 126 {
		text = "Permission denied"
	}
	if p.Stderr != nil {
		p.Errorf("sh: 1: %s: %s\n", p.Args[0], text)
	}
	if status == 127 && !strings.Contains(p.Args[0], "/") {
		m.Violate("no program %q on this host (arguments %q)", p.Args[0], p.Args)
	}
	m.journal(p, status)
}

func (m *Machine) runProgram(ctx context.Context, program Program, p *Proc) int {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	p.Stdout = &sigpipeWriter{w: p.Stdout, p: p}
	p.Stderr = &sigpipeWriter{w: p.Stderr, p: p}
	return program(ctx, p)
}

// around is the program as it behaves with the fault.
func (f ProgramFault) around(program Program) Program {
	return func(ctx context.Context, p *Proc) int {
		if f.Do != nil {
			f.Do()
		}
		if f.Truncate {
			p.Stdout = &firstBytes{w: p.Stdout, left: f.Keep}
		}
		if f.Says != nil {
			out, bad := &translated{w: p.Stdout, p: p, says: f.Says}, &translated{w: p.Stderr, p: p, says: f.Says}
			p.Stdout, p.Stderr = out, bad
			defer func() { _ = errors.Join(out.flush(), bad.flush()) }()
		}
		switch {
		case f.Signal != 0:
			return 128 + int(f.Signal)
		case f.Exit:
			return f.Status
		case f.Hang:
			<-ctx.Done()
			return SignalStatus(ctx)
		}
		status := program(ctx, p)
		if f.Lie {
			return f.Status
		}
		return status
	}
}

// firstBytes lets the first bytes through and swallows the rest.
type firstBytes struct {
	w    io.Writer
	left int
}

func (t *firstBytes) Write(b []byte) (int, error) {
	n := min(len(b), t.left)
	t.left -= n
	if n > 0 {
		if _, err := t.w.Write(b[:n]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Locale is the one that a program writes its messages in, "C" if none is set.
func (p *Proc) Locale() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := p.Env[name]; v != "" {
			return v
		}
	}
	return "C"
}

// translated passes whole lines on in another wording.
type translated struct {
	w    io.Writer
	p    *Proc
	says func(p *Proc, line string) string
	mu   sync.Mutex
	part []byte
}

func (t *translated) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, b...)
	for {
		i := bytes.IndexByte(t.part, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := string(t.part[:i+1])
		t.part = t.part[i+1:]
		if _, err := io.WriteString(t.w, t.says(t.p, line)); err != nil {
			return 0, err
		}
	}
}

// flush passes on what has no end of line.
func (t *translated) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.part) == 0 {
		return nil
	}
	_, err := io.WriteString(t.w, t.says(t.p, string(t.part)))
	t.part = nil
	return err
}

// scriptProgram runs an executable file that carries no program: a script.
func (m *Machine) scriptProgram(ctx context.Context, p *Proc) int {
	data, err := m.FS.ReadFile(p.Path)
	interpreter := []string{"/bin/sh"}
	if err == nil && strings.HasPrefix(string(data), "#!") {
		line, _, _ := strings.Cut(string(data[2:]), "\n")
		interpreter = strings.Fields(line)
	}
	args := append(append([]string{}, interpreter...), p.Path)
	child := p.Child(append(args, p.Args[1:]...)...)
	_, info, status := m.LookPath(vfs.Root, "/", "", interpreter[0])
	if program, ok := info.Attached.(Program); ok && status == 0 {
		child.PID, child.Started, child.cancel = p.PID, p.Started, p.cancel
		return program(ctx, child)
	}
	return p.Fail(126, "%s: bad interpreter", interpreter[0])
}

func (m *Machine) enter(p *Proc) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextPID++
	p.PID, p.Started = m.nextPID, m.Lab.Clock.Now()
	ctx, cancel := context.WithCancelCause(m.bootCtx)
	p.cancel = cancel
	m.procs[p.PID] = p
	return ctx
}

func (m *Machine) leave(p *Proc, status int) {
	m.mu.Lock()
	delete(m.procs, p.PID)
	m.mu.Unlock()
	p.cancel(nil)
	m.journal(p, status)
}

func (m *Machine) journal(p *Proc, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := Execution{Time: m.Lab.Clock.Now(), PID: p.PID, UID: p.UID, Args: append([]string{}, p.Args...), Exit: status}
	if p.Session != nil {
		e.Session = p.Session.ID
	}
	m.executions = append(m.executions, e)
}

// Journal returns what was executed since the lab started, in order of ending.
func (m *Machine) Journal() []Execution {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Execution{}, m.executions...)
}

// Processes returns what runs now, in order of PID.
func (m *Machine) Processes() []*Proc {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.procs), func(a, b *Proc) int { return a.PID - b.PID })
}

// Process returns a running process, or nil.
func (m *Machine) Process(pid int) *Proc {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.procs[pid]
}
