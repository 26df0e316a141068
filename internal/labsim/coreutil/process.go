package coreutil

import (
	"context"
	"io"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// builtinOf runs a shell builtin as a program, for callers without a shell.
func builtinOf(name string) labsim.Program {
	return func(ctx context.Context, p *labsim.Proc) int {
		args := append([]string{"/bin/sh", "-c", name + ` "$@"`, name}, p.Args[1:]...)
		if name == "[" {
			args = append([]string{"/bin/sh", "-c", `[ "$@"`, name}, p.Args[1:]...)
		}
		return p.Run(ctx, args...)
	}
}

var (
	printf = builtinOf("printf")
	echo   = builtinOf("echo")
	test   = func(ctx context.Context, p *labsim.Proc) int { return builtinOf(p.Name())(ctx, p) }
)

func id(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "u", "g", "n")
	if !good {
		return 2
	}
	switch {
	case p.Name() == "whoami" || f.Has("u") && f.Has("n"):
		p.Printf("%s\n", userName(p, p.UID))
	case f.Has("u"):
		p.Printf("%d\n", p.UID)
	case f.Has("g"):
		p.Printf("%d\n", p.GID)
	default:
		name := userName(p, p.UID)
		p.Printf("uid=%d(%s) gid=%d(%s) groups=%d(%s)\n", p.UID, name, p.GID, name, p.GID, name)
	}
	return 0
}

func uname(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "r", "m", "s", "n", "v", "a")
	if !good {
		return 2
	}
	var out []string
	add := func(flag, value string) {
		if f.Has(flag) || f.Has("a") {
			out = append(out, value)
		}
	}
	add("s", "Linux")
	add("n", p.Machine.Name)
	add("r", p.Machine.Kernel)
	add("v", "#1 SMP PREEMPT_DYNAMIC")
	add("m", "x86_64")
	if len(out) == 0 {
		out = []string{"Linux"}
	}
	p.Printf("%s\n", strings.Join(out, " "))
	return 0
}

func hostname(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "s", "f")
	if !good || len(f.Args) > 0 {
		return p.Unknown("hostname with an operand")
	}
	p.Printf("%s\n", p.Machine.Name)
	return 0
}

// date knows date [-u] [+FORMAT] with %s %N %Y %m %d %H %M %S %T %F %z and -Is.
func date(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "u", "I=", "d=")
	if !good {
		return 2
	}
	now := p.Machine.Lab.Clock.Now().UTC()
	switch {
	case f.Has("d"):
		return p.Unknown("date -d")
	case f.Has("I"):
		p.Printf("%s\n", now.Format("2006-01-02T15:04:05+00:00"))
	case len(f.Args) == 0:
		p.Printf("%s\n", now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	case strings.HasPrefix(f.Args[0], "+"):
		out := strings.NewReplacer("%s", strconv.FormatInt(now.Unix(), 10), "%N", now.Format("000000000"),
			"%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%H", now.Format("15"),
			"%M", now.Format("04"), "%S", now.Format("05"), "%T", now.Format("15:04:05"), "%F", now.Format("2006-01-02"),
			"%z", "+0000", "%Z", "UTC", "%3N", now.Format("000")).Replace(f.Args[0][1:])
		p.Printf("%s\n", out)
	default:
		return p.Unknown("setting the date")
	}
	return 0
}

func seconds(s string) (time.Duration, bool) {
	unit := time.Second
	switch {
	case strings.HasSuffix(s, "ms"):
		return 0, false
	case strings.HasSuffix(s, "s"):
		s = strings.TrimSuffix(s, "s")
	case strings.HasSuffix(s, "m"):
		s, unit = strings.TrimSuffix(s, "m"), time.Minute
	case strings.HasSuffix(s, "h"):
		s, unit = strings.TrimSuffix(s, "h"), time.Hour
	}
	v, err := strconv.ParseFloat(s, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

func sleep(ctx context.Context, p *labsim.Proc) int {
	if len(p.Args) != 2 {
		return p.Unknown("sleep operands")
	}
	d, good := seconds(p.Args[1])
	if !good {
		return p.Fail(1, "invalid time interval '%s'", p.Args[1])
	}
	if p.Machine.Lab.Clock.Sleep(ctx, d) != nil {
		return labsim.SignalStatus(ctx)
	}
	return 0
}

// env knows env [-i] [-u NAME] [NAME=VALUE...] [COMMAND...] and printenv NAME.
func env(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "i", "u=")
	if !good {
		return 2
	}
	if p.Name() == "printenv" && len(f.Args) == 1 {
		v, set := p.Env[f.Args[0]]
		if !set {
			return 1
		}
		p.Printf("%s\n", v)
		return 0
	}
	child := p.Child()
	if f.Has("i") {
		child.Env = map[string]string{}
	}
	for _, name := range f.All("u") {
		delete(child.Env, name)
	}
	args := f.Args
	for len(args) > 0 {
		k, v, ok := strings.Cut(args[0], "=")
		if !ok {
			break
		}
		child.Env[k] = v
		args = args[1:]
	}
	if len(args) == 0 {
		names := make([]string, 0, len(child.Env))
		for k := range child.Env {
			names = append(names, k)
		}
		sort.Strings(names)
		for _, k := range names {
			p.Printf("%s=%s\n", k, child.Env[k])
		}
		return 0
	}
	if child.Env["PATH"] == "" {
		child.Env["PATH"] = labsim.DefaultPath
	}
	child.Args = args
	return p.Machine.Exec(ctx, child)
}

var signalNumbers = map[string]syscall.Signal{
	"0": 0, "HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "PIPE": 13, "TERM": 15, "STOP": 19, "CONT": 18,
	"1": 1, "2": 2, "3": 3, "9": 9, "13": 13, "15": 15,
}

// kill knows kill [-SIG|-s SIG] PID...
func kill(_ context.Context, p *labsim.Proc) int {
	args, sig := p.Args[1:], syscall.SIGTERM
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		n, known := signalNumbers[strings.TrimPrefix(args[0][1:], "SIG")]
		if !known {
			return p.Unknown("signal " + args[0])
		}
		sig, args = n, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	status := 0
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil || pid <= 0 {
			return p.Unknown("kill of " + a)
		}
		victim := p.Machine.Process(pid)
		switch {
		case victim == nil:
			status = p.Fail(1, "(%d) - No such process", pid)
		case p.UID != 0 && victim.UID != p.UID:
			status = p.Fail(1, "(%d) - Operation not permitted", pid)
		case sig != 0:
			victim.Signal(sig)
		}
	}
	return status
}

func timeout(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "k=", "s=", "kill-after=", "signal=", "foreground")
	if !good {
		return 2
	}
	if len(f.Args) < 2 {
		return p.Unknown("timeout operands")
	}
	d, good := seconds(f.Args[0])
	if !good {
		return p.Fail(125, "invalid time interval '%s'", f.Args[0])
	}
	sig := syscall.SIGTERM
	if name := f.Get("s") + f.Get("signal"); name != "" {
		sig = signalNumbers[strings.TrimPrefix(name, "SIG")]
	}
	child := p.Child(f.Args[1:]...)
	done := p.Machine.Spawn(child)
	expired := make(chan struct{})
	t := p.Machine.Lab.Clock.AfterFunc(d, func() { close(expired) })
	defer t.Stop()
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		child.Signal(syscall.SIGTERM)
		return labsim.SignalStatus(ctx)
	case <-expired:
	}
	child.Signal(sig)
	status := <-done
	if sig == syscall.SIGKILL {
		return status
	}
	return 124
}

func nohup(ctx context.Context, p *labsim.Proc) int {
	if len(p.Args) < 2 {
		return p.Unknown("nohup without a command")
	}
	child := p.Child(p.Args[1:]...)
	done := p.Machine.Spawn(child)
	child.Ignore(syscall.SIGHUP)
	p.Ignore(syscall.SIGHUP)
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		return labsim.SignalStatus(ctx)
	}
}

func setsid(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "f", "w", "fork", "wait")
	if !good || len(f.Args) == 0 {
		return p.Unknown("setsid without a command")
	}
	child := p.Child(f.Args...)
	if f.Has("f") || f.Has("fork") {
		p.Machine.Spawn(child)
		return 0
	}
	return p.Machine.Exec(ctx, child)
}

// flock knows flock [-s|-x] [-n|-w SECONDS] [-E STATUS] FILE (COMMAND...|-c COMMAND).
// A lock is shared only with -s.
func flock(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "s", "x", "e", "n", "w=", "E=", "o", "c=", "nonblock", "exclusive", "shared", "close")
	if !good {
		return 2
	}
	args := f.Args
	if len(args) < 2 {
		return p.Unknown("flock without a file and a command")
	}
	file := p.Abs(args[0])
	command := args[1:]
	if command[0] == "-c" && len(command) == 2 {
		command = []string{"/bin/sh", "-c", command[1]}
	}
	if _, err := p.Open(file, os.O_RDONLY|os.O_CREATE); err != nil {
		return p.Fail(66, "cannot open lock file %s: %s", file, reason(err))
	}
	conflict := 1
	if f.Has("E") {
		conflict, _ = strconv.Atoi(f.Get("E"))
	}
	wait := time.Duration(1<<62 - 1)
	switch {
	case f.Has("n") || f.Has("nonblock"):
		wait = 0
	case f.Has("w"):
		wait, _ = seconds(f.Get("w"))
	}
	if !awaitLock(ctx, p, file, f.Has("s") || f.Has("shared"), wait) {
		return conflict
	}
	defer p.Machine.Unlock(file, p.PID)
	// The child inherits the lock: it stays held while the child lives, which is
	// as long as this process waits for it.
	child := p.Child(command...)
	done := p.Machine.Spawn(child)
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		p.Machine.PassLock(file, p.PID, child.PID)
		return labsim.SignalStatus(ctx)
	}
}

func awaitLock(ctx context.Context, p *labsim.Proc, file string, shared bool, wait time.Duration) bool {
	clock := p.Machine.Lab.Clock
	end := clock.Now().Add(min(wait, 24*time.Hour))
	for {
		if p.Machine.TryLock(file, p.PID, shared) {
			return true
		}
		if !clock.Now().Before(end) || clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return false
		}
	}
}

func logger(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "t=", "p=", "i")
	if !good {
		return 2
	}
	text := strings.Join(f.Args, " ")
	if len(f.Args) == 0 {
		data, _ := io.ReadAll(p.Stdin)
		text = strings.TrimSuffix(string(data), "\n")
	}
	h, err := p.Machine.FS.Open(labsimRoot, "/var/log/syslog", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return p.Fail(1, "%s", reason(err))
	}
	_, _ = h.Write([]byte(f.Get("t") + ": " + text + "\n"))
	return 0
}

func mktemp(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "d", "p=", "q", "t", "suffix=")
	if !good {
		return 2
	}
	dir, template := "/tmp", "tmp.XXXXXXXXXX"
	if f.Has("p") {
		dir = f.Get("p")
	}
	if len(f.Args) > 0 {
		template = f.Args[0]
		if !f.Has("p") && !f.Has("t") {
			dir = "."
		}
	}
	x := strings.TrimRight(template, "X")
	n := len(template) - len(x)
	if n < 3 {
		return p.Fail(1, "too few X's in template '%s'", template)
	}
	name := x + randomName(n) + f.Get("suffix")
	if !strings.HasPrefix(name, "/") && dir != "." {
		name = path.Join(dir, name)
	}
	var err error
	if f.Has("d") {
		err = p.Machine.FS.Mkdir(p.Cred(), p.Abs(name), 0o700)
	} else {
		_, err = p.Machine.FS.Open(p.Cred(), p.Abs(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return p.Fail(1, "failed to create file via template '%s': %s", template, reason(err))
	}
	p.Printf("%s\n", name)
	return 0
}
