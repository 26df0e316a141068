package labsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// Program is what an executable file of a simulated host does. The context ends
// when the process is signalled or the machine goes down; context.Cause is then
// a *SignalError or ErrPowerCut. It returns the exit status.
type Program func(ctx context.Context, p *Proc) int

// Proc is one process.
type Proc struct {
	Machine *Machine
	PID     int
	PPID    int
	Args    []string // Args[0] as called
	Path    string   // the program file
	Dir     string   // working directory
	User    string
	UID     int
	GID     int
	Env     map[string]string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Session *Session // nil for services
	Started time.Time
	Umask   fs.FileMode // default 022

	cancel context.CancelCauseFunc
	mu     sync.Mutex
	umask  bool // Umask is set, even to 0
	files  []string
	traps  map[syscall.Signal]bool
}

// SignalError is why a process ended.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "killed by signal " + e.Signal.String() }

// ErrPowerCut ends every process of a machine that loses power or goes down.
var ErrPowerCut = errors.New("the machine went down")

// Session is one SSH session.
type Session struct {
	ID         int
	ClientAddr string
	ClientPort int
	ServerPort int
	User       string
}

// Getenv returns an environment variable.
func (p *Proc) Getenv(name string) string { return p.Env[name] }

// Cred returns the credentials for the file system.
func (p *Proc) Cred() vfs.Cred { return vfs.Cred{UID: p.UID, GIDs: p.Machine.GroupIDs(p.User, p.GID)} }

// Abs makes a file name absolute.
func (p *Proc) Abs(name string) string {
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// Name is the base name the program was called by.
func (p *Proc) Name() string { return path.Base(p.Args[0]) }

// Printf writes to standard output.
func (p *Proc) Printf(format string, args ...any) { _, _ = fmt.Fprintf(p.Stdout, format, args...) }

// Errorf writes to standard error.
func (p *Proc) Errorf(format string, args ...any) { _, _ = fmt.Fprintf(p.Stderr, format, args...) }

// Fail prints "name: message" to standard error and returns status.
func (p *Proc) Fail(status int, format string, args ...any) int {
	p.Errorf(p.Name()+": "+format+"\n", args...)
	return status
}

// Unknown is the answer to a flag or form the simulated program does not know:
// it is recorded as a violation and status 2 is returned.
func (p *Proc) Unknown(what string) int {
	p.Machine.Violate("%s: not simulated: %s (arguments %q)", p.Name(), what, p.Args)
	p.Errorf("%s: not simulated: %s\n", p.Name(), what)
	return 2
}

// Open opens a file with the rights of the process.
func (p *Proc) Open(name string, flag int) (*vfs.File, error) {
	return p.Machine.FS.Open(p.Cred(), p.Abs(name), flag, 0o666&^p.Umask)
}

// ReadFile reads a file with the rights of the process.
func (p *Proc) ReadFile(name string) ([]byte, error) {
	h, err := p.Open(name, syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(h)
}

// WriteFile replaces a file with the rights of the process, in one write.
func (p *Proc) WriteFile(name string, data []byte) error {
	h, err := p.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC)
	if err == nil {
		_, err = h.Write(data)
	}
	return err
}

// Signal delivers a signal. One that the program traps does not end it.
func (p *Proc) Signal(sig syscall.Signal) {
	p.mu.Lock()
	ignored := p.traps[sig] && sig != syscall.SIGKILL
	p.mu.Unlock()
	if !ignored {
		p.cancel(&SignalError{Signal: sig})
	}
}

// Ignore makes the process survive a signal, as nohup does for SIGHUP.
func (p *Proc) Ignore(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.traps == nil {
		p.traps = map[syscall.Signal]bool{}
	}
	p.traps[sig] = true
}

// SignalStatus returns 128+n if ctx was ended by a signal, 137 if the machine
// went down, and 0 if it goes on.
func SignalStatus(ctx context.Context) int {
	if ctx.Err() == nil {
		return 0
	}
	var s *SignalError
	if errors.As(context.Cause(ctx), &s) {
		return 128 + int(s.Signal)
	}
	return 137
}

// HoldOpen notes that the process has a file open, for /proc. Children inherit it,
// as they do the lock file of flock.
func (p *Proc) HoldOpen(file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = append(p.files, file)
}

// OpenFiles are the files that HoldOpen was told of.
func (p *Proc) OpenFiles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.files)
}

// SetUmask changes the file mode creation mask.
func (p *Proc) SetUmask(mask fs.FileMode) { p.Umask, p.umask = mask, true }

// Child prepares a process with the environment, directory, user and streams of
// p; the caller changes what differs and passes it to Machine.Exec.
func (p *Proc) Child(args ...string) *Proc {
	return &Proc{
		Machine: p.Machine, PPID: p.PID, Args: args, Dir: p.Dir, User: p.User, UID: p.UID, GID: p.GID,
		Env: maps.Clone(p.Env), Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Session: p.Session,
		Umask: p.Umask, umask: p.umask, files: p.OpenFiles(),
	}
}

// Run runs a child to its end and returns its status.
func (p *Proc) Run(ctx context.Context, args ...string) int {
	return p.Machine.Exec(ctx, p.Child(args...))
}

// sigpipeWriter ends the process whose output nobody reads any more, as the
// kernel does with SIGPIPE.
type sigpipeWriter struct {
	w io.Writer
	p *Proc
}

func (s *sigpipeWriter) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil && isPipeError(err) {
		s.p.Signal(syscall.SIGPIPE)
	}
	return n, err
}

func isPipeError(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF)
}
