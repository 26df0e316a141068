package unix

import (
	"context"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// env knows env [-i] [-u NAME] [NAME=VALUE...] [COMMAND...].
func env(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "i", "u=")
	if !good {
		return 2
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
	child.HoldOpen(file)
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
