package systemd

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// unit is what systemd keeps in memory of one unit; a reboot forgets it.
type unit struct {
	name      string
	desc      string
	transient bool
	collect   bool
	file      *UnitFile
	spec      serviceSpec

	active, sub, result string
	proc                *labsim.Proc
	done                chan struct{} // closed when the main process has ended
	mainPID             int
	code, status        int
	started, exited     time.Time
	stopping            bool
	invocation          string

	timer *labsim.Timer // of a .timer unit
}

// serviceSpec is how a service is run.
type serviceSpec struct {
	kind        string // simple, oneshot, exec
	pre, main   [][]string
	post, stop  [][]string
	remain      bool
	env         map[string]string
	user        string
	stdout      string // journal, file:PATH, append:PATH
	logLevelMax string
	umask       fs.FileMode // 0 means 022

	killSignal  syscall.Signal // 0 means SIGTERM
	killMode    string         // control-group, mixed, process
	noSigkill   bool
	stopTimeout time.Duration // 0 means 90 s
	runtimeMax  time.Duration // 0 means for ever
}

const UnitPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"

// unit returns the unit of a name, loading its file; nil if there is none.
func (s *Manager) unit(name string) *unit {
	s.mu.Lock()
	u := s.units[name]
	s.mu.Unlock()
	if u != nil && u.transient {
		return u
	}
	// systemd keeps units that are active or wanted by a target loaded: edits
	// of their files show only after daemon-reload.
	keep := u != nil && u.file != nil && (u.active == "active" || s.fileState(name) == "enabled")
	if keep {
		return u
	}
	f := s.loadUnit(name)
	if f == nil {
		return nil
	}
	spec := s.specOf(f, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.units[name]; u == nil {
		u = &unit{name: name, active: "inactive", sub: "dead", result: "success"}
		s.units[name] = u
	}
	u.file, u.spec = f, spec
	u.desc = strings.ReplaceAll(f.Last("Unit.Description"), "%i", instanceOf(name))
	return u
}

func instanceOf(name string) string {
	_, inst := templateOf(name)
	return inst
}

func (s *Manager) specOf(f *UnitFile, name string) serviceSpec {
	spec := serviceSpec{
		kind: f.Last("Service.Type"), remain: f.Last("Service.RemainAfterExit") == "yes",
		env: map[string]string{"PATH": UnitPath}, user: "root",
		stdout: f.Last("Service.StandardOutput"), logLevelMax: f.Last("Service.LogLevelMax"),
		killMode: f.Last("Service.KillMode"),
	}
	spec.stopTimeout, _ = parseSpan(f.Last("Service.TimeoutStopSec"))
	if mask, err := strconv.ParseUint(f.Last("Service.UMask"), 8, 32); err == nil {
		spec.umask = fs.FileMode(mask) & fs.ModePerm
	}
	if spec.kind == "" {
		spec.kind = "simple"
	}
	inst := instanceOf(name)
	commands := func(key string) (out [][]string) {
		for _, line := range f.Values[key] {
			line = strings.NewReplacer("%i", inst, "%I", inst, "%n", name, "%%", "%").Replace(line)
			out = append(out, splitExec(line))
		}
		return out
	}
	spec.pre, spec.main = commands("Service.ExecStartPre"), commands("Service.ExecStart")
	spec.post, spec.stop = commands("Service.ExecStartPost"), commands("Service.ExecStop")
	return spec
}

func AddEnv(env map[string]string, assignments []string) {
	for _, a := range assignments {
		a = strings.TrimSpace(a)
		if k, v, ok := strings.Cut(a, "="); ok && !strings.HasPrefix(a, "#") {
			env[k] = strings.Trim(v, `"'`)
		}
	}
}

// startError is a refused or failed start; status is systemctl's exit status.
type startError struct {
	text   string
	status int
}

func (e *startError) Error() string { return e.text }

// Start starts a unit and waits for what its type waits for.
func (s *Manager) Start(name string) error {
	if s.Masked(name) {
		return &startError{fmt.Sprintf("Failed to start %s: Unit %s is masked.", name, name), 1}
	}
	u := s.unit(name)
	if u == nil {
		return &startError{fmt.Sprintf("Failed to start %s: Unit %s not found.", name, name), 5}
	}
	s.mu.Lock()
	running := u.active == "active" || u.active == "activating"
	s.mu.Unlock()
	if running {
		return nil
	}
	if u.file != nil && u.file.builtin() {
		s.set(u, "active", map[bool]string{true: "active", false: "running"}[strings.HasSuffix(name, ".target")])
		return nil
	}
	if !s.conditionsMet(u) {
		s.Log(name, "systemd", u.desc+" was skipped because of an unmet condition check.")
		return nil
	}
	return s.run(u)
}

func (s *Manager) set(u *unit, active, sub string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.active, u.sub = active, sub
}

// conditionsMet checks ConditionPathExists; a unit whose condition fails is
// skipped without an error.
func (s *Manager) conditionsMet(u *unit) bool {
	if u.file == nil {
		return true
	}
	for _, c := range u.file.Values["Unit.ConditionPathExists"] {
		want := !strings.HasPrefix(c, "!")
		if s.m.FS.Exists(strings.TrimPrefix(c, "!")) != want {
			return false
		}
	}
	return true
}

func (s *Manager) run(u *unit) error {
	s.mu.Lock()
	u.result, u.code, u.status, u.stopping = "success", 0, 0, false
	u.started, u.exited, u.invocation = s.m.Lab.Clock.Now(), time.Time{}, newID()
	u.active, u.sub, u.done = "activating", "start", make(chan struct{})
	s.mu.Unlock()
	for _, argv := range u.spec.pre {
		if st := s.step(u, argv); st != 0 {
			return s.recordFailure(u, st)
		}
	}
	if u.spec.kind == "oneshot" {
		for _, argv := range u.spec.main {
			if st := s.step(u, argv); st != 0 {
				return s.recordFailure(u, st)
			}
		}
		s.finish(u, 0)
		return nil
	}
	if len(u.spec.main) != 1 {
		return s.recordFailure(u, 203)
	}
	ch, st := s.spawn(u, u.spec.main[0])
	if st != 0 {
		return s.recordFailure(u, st)
	}
	s.set(u, "active", "running")
	go func() { s.finish(u, <-ch) }()
	s.limit(u)
	for _, argv := range u.spec.post {
		_ = s.step(u, argv)
	}
	return nil
}

// limit stops a unit that runs longer than RuntimeMaxSec.
func (s *Manager) limit(u *unit) {
	if u.spec.runtimeMax == 0 {
		return
	}
	done, boot := u.done, s.m.BootContext()
	t := s.m.Lab.Clock.AfterFunc(u.spec.runtimeMax, func() {
		select {
		case <-done:
		case <-boot.Done():
		default:
			go func() { _ = s.stop(boot, u.name) }()
		}
	})
	go func() {
		select {
		case <-done:
		case <-boot.Done():
		}
		t.Stop()
	}()
}

// step runs one command of a unit to its end; a leading dash forgives failure.
func (s *Manager) step(u *unit, argv []string) int {
	forgive := strings.HasPrefix(argv[0], "-")
	argv = append([]string{strings.TrimPrefix(argv[0], "-")}, argv[1:]...)
	ch, st := s.spawn(u, argv)
	if st == 0 {
		st = <-ch
	}
	if forgive {
		return 0
	}
	return st
}

// spawn starts a process of a unit. 203 is systemd's status for a program that
// cannot be executed.
func (s *Manager) spawn(u *unit, argv []string) (<-chan int, int) {
	argv = expandExec(argv, u.spec.env)
	if len(argv) == 0 {
		return nil, 203
	}
	user, _ := s.m.LookupUser(u.spec.user)
	p := &labsim.Proc{
		Machine: s.m, PPID: 1, Args: argv, User: user.Name, UID: user.UID, GID: user.GID,
		Env:    map[string]string{"PATH": UnitPath, "LANG": "C.UTF-8", "INVOCATION_ID": u.invocation},
		Stdout: s.sink(u, u.spec.stdout), Stderr: s.sink(u, u.spec.stdout),
	}
	if locale := s.m.Faults.Get().Locale; locale != "" {
		p.Env["LANG"] = locale
	}
	for k, v := range u.spec.env {
		p.Env[k] = v
	}
	if _, _, st := s.m.LookPath(vfs.Cred{UID: p.UID}, "/", p.Env["PATH"], argv[0]); st != 0 {
		s.Log(u.name, "systemd", fmt.Sprintf("%s: Failed at step EXEC spawning %s: No such file or directory", u.name,
			argv[0]))
		return nil, 203
	}
	if u.spec.umask != 0 {
		p.SetUmask(u.spec.umask)
	}
	ch := s.m.Spawn(p)
	s.mu.Lock()
	u.proc, u.mainPID = p, p.PID
	s.mu.Unlock()
	return ch, 0
}

// sink is where a unit's output goes.
func (s *Manager) sink(u *unit, to string) io.Writer {
	// What a program prints has the level info (systemd.exec(5), SyslogLevel).
	if u.spec.logLevelMax == "notice" && to == "" {
		return io.Discard
	}
	kind, file, _ := strings.Cut(to, ":")
	switch kind {
	case "file", "append":
		flag := syscall.O_WRONLY | syscall.O_CREAT
		if kind == "append" {
			flag |= syscall.O_APPEND
		}
		h, err := s.m.FS.Open(vfs.Root, file, flag, 0o644)
		if err != nil {
			s.Log(u.name, "systemd", "Failed to set up standard output: "+err.Error())
			return io.Discard
		}
		return h
	}
	id := u.name
	if len(u.spec.main) > 0 && len(u.spec.main[0]) > 0 {
		id = path.Base(strings.TrimPrefix(u.spec.main[0][0], "-"))
	}
	return s.Journal(u.name, id)
}

// recordFailure records a start that did not succeed.
func (s *Manager) recordFailure(u *unit, status int) error {
	s.finish(u, status)
	return &startError{fmt.Sprintf("Job for %s failed because the control process exited with error code.\n"+
		"See \"systemctl status %s\" and \"journalctl -xeu %s\" for details.", u.name, u.name, u.name), 1}
}

// finish records the end of a unit's main process. A transient unit that ended
// well is unloaded at once; one that failed stays until reset-failed, unless it
// was started with --collect.
func (s *Manager) finish(u *unit, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.exited, u.mainPID, u.proc = s.m.Lab.Clock.Now(), 0, nil
	u.code, u.status = 1, status // CLD_EXITED
	killed := status > 128 && status < 192
	if killed {
		u.code, u.status = 2, status-128 // CLD_KILLED
	}
	u.conclude(killed, status == 0 || killed && (u.stopping || cleanSignal(status-128)))
	if u.transient && (u.active == "inactive" || u.active == "failed" && u.collect) {
		delete(s.units, u.name)
	}
	closeOnce(u.done)
}

// conclude sets the state that a unit ends in.
func (u *unit) conclude(killed, clean bool) {
	switch {
	case clean && !killed && u.spec.remain && !u.stopping:
		u.active, u.sub = "active", "exited"
	case clean:
		u.active, u.sub = "inactive", "dead"
	case killed:
		u.active, u.sub, u.result = "failed", "failed", "signal"
	default:
		u.active, u.sub, u.result = "failed", "failed", "exit-code"
	}
}

// cleanSignal: a service ended by one of these has ended well.
func cleanSignal(n int) bool {
	sig := syscall.Signal(n)
	return sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGINT || sig == syscall.SIGPIPE
}

func closeOnce(ch chan struct{}) {
	if ch == nil {
		return
	}
	select {
	case <-ch:
	default:
		close(ch)
	}
}
