package unix

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// env knows env NAME=VALUE... COMMAND...
func env(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	child := p.Child()
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
		return p.Unknown("env without a command")
	}
	child.Args = args
	return p.Machine.Exec(ctx, child)
}

func timeout(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) < 2 {
		return p.Unknown("timeout operands")
	}
	d, good := seconds(f.Args[0])
	if !good {
		return p.Fail(125, "invalid time interval '%s'", f.Args[0])
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
	child.Signal(syscall.SIGTERM)
	<-done
	return 124
}

// flock knows flock [-s] [-n|-w SECONDS] [-E STATUS] FILE COMMAND...
// A lock is shared only with -s.
func flock(ctx context.Context, p *labsim.Proc, f *labsim.Flags) int {
	args := f.Args
	if len(args) < 2 {
		return p.Unknown("flock without a file and a command")
	}
	file := p.Abs(args[0])
	command := args[1:]
	if _, err := p.Open(file, os.O_RDONLY|os.O_CREATE); err != nil {
		return p.Fail(66, "cannot open lock file %s: %s", file, reason(err))
	}
	conflict := 1
	if f.Has("E") {
		conflict, _ = strconv.Atoi(f.Get("E"))
	}
	wait := time.Duration(1<<62 - 1)
	switch {
	case f.Has("n"):
		wait = 0
	case f.Has("w"):
		wait, _ = seconds(f.Get("w"))
	}
	if !awaitLock(ctx, p, file, f.Has("s"), wait) {
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
