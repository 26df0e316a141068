package sshhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func TestHost_Run(t *testing.T) {
	s := newServer(t)
	s.login = "echo 'noise of a .bashrc'; echo noise >&2; "
	h := mustHost(t, s.config())
	res, err := h.Run(t.Context(), shellcmd.New("printf", "%s", "a b\n$HOME"))
	if err != nil || string(res.Stdout) != "a b\n$HOME" || len(res.Stderr) != 0 {
		t.Errorf("got %q %q %v", res.Stdout, res.Stderr, err)
	}
	res, err = h.Run(t.Context(), shellcmd.Script("s", "cat; echo err >&2", "x").WithStdin("in\n"))
	if err != nil || string(res.Stdout) != "in\n" || string(res.Stderr) != "err\n" {
		t.Errorf("got %q %q %v", res.Stdout, res.Stderr, err)
	}
	_, err = h.Run(t.Context(), shellcmd.New("sh", "-c", "echo out; echo why >&2; exit 3"))
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Status != 3 || exit.Stderr != "why\n" || exit.Stdout != "out\n" ||
		exit.Host != "lab1" {
		t.Errorf("got %+v", err)
	}
	for _, c := range s.argv {
		if c != "exec /bin/sh -s" {
			t.Errorf("the remote command is %q", c)
		}
	}
	if n := s.get(&s.dials); n != 1 {
		t.Errorf("%d connections for three commands", n)
	}
}

func TestHost_Run_roundTrips(t *testing.T) {
	const rtt = 100 * time.Millisecond
	s := newServer(t)
	cfg := s.config()
	cfg.Port = newWAN(t, s.listener.Addr().String(), rtt).port()
	var mu sync.Mutex
	var events []host.Event
	cfg.Trace = func(e host.Event) { mu.Lock(); events = append(events, e); mu.Unlock() }
	h := mustHost(t, cfg)
	best := time.Hour
	for turn := 0; turn < 4 || turn < 20 && best > 28*rtt/10; turn++ { // other work may disturb some
		best = min(best, timeTrue(t, h))
	}
	if trips := float64(best) / float64(rtt); trips > 2.8 {
		t.Errorf("a command took %s, %.1f round trips, want 2: the session, and the script with its answer", best, trips)
	}
	mu.Lock()
	defer mu.Unlock()
	if e := events[0]; e.Kind != "dial" || e.RoundTrips < 5 || e.RoundTrips > 9 {
		t.Errorf("connecting: %+v", e)
	}
	if e := events[1]; e.Kind != "run" || e.RoundTrips != 2 || e.What != "true" {
		t.Errorf("the first command: %+v", e)
	}
}

func TestHost_Run_childKeepsOutputOpen(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	begin := time.Now()
	res, err := h.Run(t.Context(), shellcmd.Script("daemon", "echo started; sleep 3 &"))
	if err != nil || string(res.Stdout) != "started\n" {
		t.Fatalf("got %q %v", res.Stdout, err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("waited %s for a child that holds the output open", took)
	}
}

func TestHost_Run_observe(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.Observe = true
	h := mustHost(t, cfg)
	_, err := h.Run(t.Context(), shellcmd.New("rm", "-rf", "secret").Changes())
	var observe *host.ObserveError
	if !errors.As(err, &observe) || observe.Command != "rm -rf secret" {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Errorf("a command that changes nothing is refused: %v", err)
	}
	if n := s.get(&s.execs); n != 1 {
		t.Errorf("%d commands reached the host", n)
	}
}

func TestHost_Run_outputLimit(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.MaxOutput = 1 << 20
	h := mustHost(t, cfg)
	_, err := h.Run(t.Context(), shellcmd.New("head", "-c", "50000000", "/dev/zero"))
	var odd *host.OutputError
	if !errors.As(err, &odd) || !strings.Contains(odd.Problem, "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	res, err := h.Run(t.Context(), shellcmd.Script("loud", "head -c 9000000 /dev/zero >&2; echo done"))
	if err != nil || string(res.Stdout) != "done\n" || len(res.Stderr) > 3<<20 {
		t.Errorf("standard error is not bounded: %d bytes, %v", len(res.Stderr), err)
	}
}

func TestHost_Run_contextAndTimeout(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := h.Run(ctx, shellcmd.New("sleep", "5"))
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || !gone.MayHaveRun || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_, err = h.Run(t.Context(), shellcmd.New("sleep", "5").WithTimeout(50*time.Millisecond))
	if !errors.As(err, &gone) || !gone.MayHaveRun || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil || s.get(&s.dials) != 1 {
		t.Errorf("the connection did not survive: %v, %d dials", err, s.dials)
	}
}

func TestHost_Run_sessionsAreBounded(t *testing.T) {
	s := newServer(t)
	s.onChannel = func(int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open >= 3 {
			return errors.New("MaxSessions")
		}
		return nil
	}
	cfg := s.config()
	cfg.MaxSessions = 3
	h := mustHost(t, cfg)
	var wg sync.WaitGroup
	errs := make(chan error, 40)
	for i := range 40 {
		wg.Go(func() {
			res, err := h.Run(t.Context(), shellcmd.New("echo", fmt.Sprint(i)))
			if err == nil && string(res.Stdout) != fmt.Sprintln(i) {
				err = fmt.Errorf("answer of another command: %q", res.Stdout)
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if s.get(&s.dials) != 1 || s.get(&s.maxOpen) > 3 {
		t.Errorf("%d connections, %d sessions at once", s.dials, s.maxOpen)
	}
}

func TestHost_Run_sessionRefused(t *testing.T) {
	s := newServer(t)
	s.onChannel = func(n int) error {
		if n <= 2 || n > 10 {
			return errors.New("not now")
		}
		return nil
	}
	h := mustHost(t, s.config())
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Errorf("a session refused twice is not tried again: %v", err)
	}
	s.mu.Lock()
	s.channels = 10
	s.mu.Unlock()
	_, err := h.Run(t.Context(), shellcmd.New("true"))
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.MayHaveRun || !strings.Contains(gone.Advice, "MaxSessions") {
		t.Errorf("got %v", err)
	}
}

// TestHost_Run_everyFault runs a command that leaves a trace and checks, for
// every way to lose its answer, that the error never claims to know more than it
// can: "not run" only if it did not run, "failed" never.
func TestHost_Run_everyFault(t *testing.T) {
	startLimit = 300 * time.Millisecond
	t.Cleanup(func() { startLimit = time.Minute })
	faults := map[string]struct {
		fault execFault
		ran   bool
	}{
		"cut before the shell": {execCutBefore, false}, "cut with the script read": {execCutDuring, false},
		"cut after the command": {execCutAfter, true}, "end marker cut": {execCutMarker, true},
		"silence": {execSilent, false}, "exec refused in silence": {execRefused, false},
	}
	for name, tt := range faults {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.onExec = func(n int) execFault {
				if n == 2 {
					return tt.fault
				}
				return execOK
			}
			h := mustHost(t, s.config())
			file := filepath.Join(s.home, "trace")
			touch := shellcmd.Script("touch", `echo x >>"$1"`, file).Changes()
			if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
				t.Fatal(err)
			}
			_, err := h.Run(t.Context(), touch)
			trace, _ := os.ReadFile(file)
			if err == nil && string(trace) == "x\n" && tt.fault == execCutBefore {
				return // lost before the script was sent, so it was sent again
			}
			checkLost(t, err, tt.fault == execCutMarker)
			if ran := len(trace) > 0; ran != tt.ran || len(trace) > 2 {
				t.Errorf("trace %q, want ran=%v", trace, tt.ran)
			}
			if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
				t.Errorf("the next command does not reconnect: %v", err)
			}
		})
	}
}

func checkLost(t *testing.T, err error, ended bool) {
	t.Helper()
	var gone *host.UnreachableError
	var odd *host.OutputError
	switch {
	case ended && errors.As(err, &odd) && strings.Contains(odd.Problem, "end marker"):
	case !ended && errors.As(err, &gone) && gone.MayHaveRun:
	default:
		t.Errorf("got %T %v", err, err)
	}
}

func TestHost_Run_noStatusButWholeAnswer(t *testing.T) {
	s := newServer(t)
	s.onExec = func(int) execFault { return execNoStatus }
	h := mustHost(t, s.config())
	res, err := h.Run(t.Context(), shellcmd.New("echo", "x"))
	if err != nil || string(res.Stdout) != "x\n" {
		t.Errorf("the markers say that the answer is whole: %q %v", res.Stdout, err)
	}
}

func TestHost_Run_shellKilledOrRestricted(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	_, err := h.Run(t.Context(), shellcmd.Script("s", "kill -TERM $$; sleep 1"))
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || !gone.MayHaveRun || !strings.Contains(err.Error(), "signal TERM") {
		t.Errorf("killed shell: %v", err)
	}
	s.login = "echo 'This account is currently not available.'; exit 1; "
	fence.Add(1)
	_, err = h.Run(t.Context(), shellcmd.New("true"))
	var odd *host.OutputError
	if !errors.As(err, &odd) || !strings.Contains(odd.Problem, "did not start") ||
		!strings.Contains(odd.Output, "not available") {
		t.Errorf("restricted shell: %v", err)
	}
}

func TestHost_Run_reconnectsAfterLoss(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	for i := range 3 {
		if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
			t.Fatalf("command %d: %v", i, err)
		}
		s.cut()
		if i == 1 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if n := s.get(&s.dials); n != 3 {
		t.Errorf("%d connections", n)
	}
	h.Drop()
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Errorf("after Drop: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestHost_Fresh(t *testing.T) {
	s := newServer(t)
	h := mustHost(t, s.config())
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	f, err := h.Fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.get(&s.dials); n != 2 {
		t.Errorf("%d connections", n)
	}
	if _, err := f.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil || s.get(&s.dials) != 2 {
		t.Errorf("closing the fresh connection disturbed the shared one: %v", err)
	}
	_ = s.listener.Close()
	if _, err := h.Fresh(t.Context()); err == nil {
		t.Error("a host that does not answer gives a fresh connection")
	}
}

// The end of the time in which a command has to start is no sign of life of one that started.
func TestHost_Run_givesUpEarlyInTheMiddle(t *testing.T) {
	t.Parallel()
	cfg := newServer(t).config()
	cfg.GiveUpEarly, cfg.ConnectTimeout = true, time.Second
	begin := time.Now()
	_, err := mustHost(t, cfg).Run(t.Context(), shellcmd.New("sleep", "30"))
	if took := time.Since(begin); !errors.Is(err, sshconn.ErrSilent) || took < 3*time.Second || took > 5*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}

func TestHost_Run_silentPeer(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	w := newWAN(t, s.listener.Addr().String(), 0)
	cfg.Port, cfg.KeepaliveInterval, cfg.KeepaliveCount = w.port(), 50*time.Millisecond, 2
	cfg.ConnectTimeout = 300 * time.Millisecond
	h := mustHost(t, cfg)
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	running := make(chan error, 1)
	go func() {
		_, err := h.Run(t.Context(), shellcmd.New("sleep", "3"))
		running <- err
	}()
	for s.get(&s.execs) < 2 {
		time.Sleep(5 * time.Millisecond)
	}
	begin := time.Now()
	close(w.stalled)
	var gone *host.UnreachableError
	if err := <-running; !errors.As(err, &gone) || !gone.MayHaveRun || !errors.Is(err, sshconn.ErrSilent) {
		t.Errorf("running command: got %v", err)
	}
	_, err := h.Run(t.Context(), shellcmd.New("true"))
	if !errors.As(err, &gone) || gone.MayHaveRun || gone.Op != "connect" {
		t.Errorf("next command: got %v", err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("noticed after %s", took)
	}
}
