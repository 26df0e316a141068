package systemd

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

type verb func(ctx context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int

var verbs map[string]verb

// A literal would be a cycle: verbs reach programs that reach verbs.
func init() {
	verbs = map[string]verb{
		"start": each((*Manager).startVerb), "stop": each((*Manager).stop), "restart": each((*Manager).restart),
		"enable": enable, "disable": disable, "mask": mask, "unmask": unmask,
		"is-active": isActive, "show": show,
		"daemon-reload": daemonReload, "list-units": listUnits, "kill": killUnits,
		"is-system-running": systemRunning, "reboot": rebootVerb, "cat": catUnits,
	}
}

// systemctl talks to the simulated systemd.
func systemctl(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false,
		"property p=", "value", "now", "quiet q", "no-block", "no-pager", "signal s=", "kill-whom=", "kill-who=", "all a",
		"plain", "no-legend")
	if bad != "" {
		return p.Unknown("option " + bad)
	}
	if len(o.Args) == 0 {
		return p.Unknown("no verb")
	}
	v, ok := verbs[o.Args[0]]
	if !ok {
		return p.Unknown("verb " + o.Args[0])
	}
	if changes[o.Args[0]] && p.UID != 0 {
		p.Errorf("Failed to %s: Interactive authentication required.\n", o.Args[0])
		return 1
	}
	names := make([]string, 0, len(o.Args)-1)
	for _, n := range o.Args[1:] {
		names = append(names, fullName(n))
	}
	return v(ctx, p, o, names)
}

var changes = map[string]bool{
	"start": true, "stop": true, "restart": true, "enable": true,
	"disable": true, "mask": true, "unmask": true, "daemon-reload": true, "kill": true, "reboot": true,
}

func fullName(n string) string {
	switch path.Ext(n) {
	case ".service", ".timer", ".target", ".socket", ".mount", ".path", ".slice":
		return n
	}
	return n + ".service"
}

func GlobMatch(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// each runs an operation on every unit named, patterns over loaded units
// included, and returns the status of the last failure.
func each(op func(*Manager, context.Context, string) error) verb {
	return func(ctx context.Context, p *labsim.Proc, _ *labsim.Flags, names []string) int {
		s := Of(p.Machine)
		if len(names) == 0 {
			p.Errorf("Too few arguments.\n")
			return 1
		}
		status := 0
		for _, n := range s.resolve(names) {
			var e *startError
			if err := op(s, ctx, n); errors.As(err, &e) {
				p.Errorf("%s\n", e.text)
				status = e.status
			}
		}
		return status
	}
}

// resolve expands patterns over the units that are loaded.
func (s *Manager) resolve(names []string) []string {
	var out []string
	for _, n := range names {
		if !strings.ContainsAny(n, "*?[") {
			out = append(out, n)
			continue
		}
		for _, l := range s.loadedUnits() {
			if GlobMatch(n, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

func (s *Manager) loadedUnits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.units))
}

func (s *Manager) startVerb(_ context.Context, name string) error { return s.Start(name) }

func (s *Manager) activeState(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil {
		return u.active
	}
	return "inactive"
}

// eachState prints a word for each unit and returns 0 if one of them holds, else no.
func eachState(p *labsim.Proc, o *labsim.Flags, names []string, no int, state func(string) string,
	holds ...string) int {
	status := no
	for _, n := range names {
		word := state(n)
		if slices.Contains(holds, word) {
			status = 0
		}
		if !o.Has("quiet") {
			p.Printf("%s\n", word)
		}
	}
	return status
}

func isActive(_ context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	status := eachState(p, o, names, 3, s.activeState, "active")
	// systemd 254 and later have a status of its own for what is not there.
	found := slices.ContainsFunc(names, func(n string) bool { return s.unit(n) != nil })
	if status != 0 && !found && p.Machine.OS.System().Systemd >= 254 {
		return 4
	}
	return status
}

func enable(ctx context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	for _, n := range names {
		if s.Masked(n) {
			p.Errorf("Failed to enable unit: Unit file /etc/systemd/system/%s is masked.\n", n)
			return 1
		}
	}
	return change(ctx, p, o, names, "enable", "start", s.link)
}

// change makes or removes the links of units, and with --now starts or stops them.
func change(ctx context.Context, p *labsim.Proc, o *labsim.Flags, names []string, what, now string,
	do func(string) []string) int {
	s := Of(p.Machine)
	for _, n := range names {
		if s.loadUnit(n) == nil && !s.Masked(n) {
			p.Errorf("Failed to %s unit: Unit file %s does not exist.\n", what, n)
			return 1
		}
		for _, l := range do(n) {
			if !o.Has("quiet") {
				p.Errorf("%s\n", l)
			}
		}
	}
	if o.Has("now") {
		return verbs[now](ctx, p, o, names)
	}
	return 0
}

func disable(ctx context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	return change(ctx, p, o, names, "disable", "stop", Of(p.Machine).unlink)
}

func mask(ctx context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	for _, n := range names {
		link := "/etc/systemd/system/" + n
		if !s.Masked(n) && p.Machine.FS.Exists(link) {
			p.Errorf("Failed to mask unit: File '%s' already exists.\n", link)
			return 1
		}
		p.Machine.FS.PutLink("/dev/null", link)
		p.Errorf("Created symlink %s → /dev/null.\n", link)
	}
	if o.Has("now") {
		return verbs["stop"](ctx, p, o, names)
	}
	return 0
}

// unmask says nothing of a unit that is not masked.
func unmask(_ context.Context, p *labsim.Proc, _ *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	for _, n := range names {
		if !s.Masked(n) {
			continue
		}
		link := "/etc/systemd/system/" + n
		if err := p.Machine.FS.Remove(p.Cred(), link); err != nil {
			p.Errorf("Failed to unmask unit: %v\n", err)
			return 1
		}
		p.Errorf("Removed \"%s\".\n", link)
	}
	return 0
}

func daemonReload(_ context.Context, p *labsim.Proc, _ *labsim.Flags, _ []string) int {
	Of(p.Machine).DaemonReload()
	return 0
}

func listUnits(_ context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	for _, n := range s.loadedUnits() {
		s.mu.Lock()
		u := *s.units[n]
		s.mu.Unlock()
		if (len(names) == 0 || matchesAny(n, names)) && u.isListed(o) {
			p.Printf("%s loaded %s %s %s\n", n, u.active, u.sub, u.desc)
		}
	}
	return 0
}

// isListed says whether list-units shows a unit.
func (u *unit) isListed(o *labsim.Flags) bool { return o.Has("all") || u.active != "inactive" }

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT,
	"USR1": syscall.SIGUSR1,
	"CONT": syscall.SIGCONT, // of units that no signal may stop
}

func killUnits(_ context.Context, p *labsim.Proc, o *labsim.Flags, names []string) int {
	s := Of(p.Machine)
	sig, ok := signals[strings.TrimPrefix(o.Or("signal", "TERM"), "SIG")]
	if !ok {
		return p.Unknown("signal " + o.Or("signal", ""))
	}
	status := 0
	for _, n := range s.resolve(names) {
		s.mu.Lock()
		u := s.units[n]
		var proc *labsim.Proc
		if u != nil {
			proc = u.proc
		}
		s.mu.Unlock()
		switch {
		case u == nil:
			p.Errorf("Failed to kill unit %s: Unit %s not loaded.\n", n, n)
			status = 1
		case proc != nil:
			s.deliver(proc, sig)
		}
	}
	return status
}

// deliver signals a process; one that re-reads its configuration on HUP does.
func (s *Manager) deliver(proc *labsim.Proc, sig syscall.Signal) {
	s.mu.Lock()
	reread := s.hup[proc.PID]
	s.mu.Unlock()
	if sig == syscall.SIGHUP && reread != nil {
		reread()
		return
	}
	proc.Signal(sig)
	signalAll(s.descendants(proc.PID), sig)
}

func systemRunning(_ context.Context, p *labsim.Proc, _ *labsim.Flags, _ []string) int {
	s := Of(p.Machine)
	if !s.Started() {
		p.Printf("starting\n")
		return 1
	}
	for _, n := range s.loadedUnits() {
		if s.activeState(n) == "failed" {
			p.Printf("degraded\n")
			return 1
		}
	}
	p.Printf("running\n")
	return 0
}
