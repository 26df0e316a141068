package hostpool

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// deaf is a machine that accepts connections and hangs up; it counts them.
func deaf(t *testing.T) (port int, dials *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	dials = new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_ = c.Close()
		}
	}()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listening on %v", l.Addr())
	}
	return addr.Port, dials
}

func config(port int) sshhost.Config {
	return sshhost.Config{Address: "127.0.0.1", Port: port, User: "ops", SSHConfigFile: "none", ConnectAttempts: 1}
}

func TestPool_Host(t *testing.T) {
	port, dials := deaf(t)
	var dialled, ran, failed atomic.Int32
	cfg := config(port)
	cfg.Trace = func(ev host.Event) {
		switch ev.Kind {
		case "dial":
			dialled.Add(1)
		case "run":
			ran.Add(1)
		}
		if ev.Err != nil {
			failed.Add(1)
		}
	}
	p := New(map[string]sshhost.Config{"b": cfg, "a": config(port), "bad": {}})
	t.Cleanup(func() { _ = p.Close() })
	first, err := p.Host("b")
	if err != nil {
		t.Fatal(err)
	}
	if second, again := p.Host("b"); again != nil || second != first {
		t.Errorf("another host under the same name: %v %v", second, again)
	}
	if dials.Load() != 0 {
		t.Error("dialled before anything was asked of the host")
	}
	if _, err = p.Host("bad"); err == nil || err.Error() != "host bad: no address is configured" {
		t.Errorf("got %v", err)
	}
	_, err = p.Host("c")
	if err == nil || err.Error() != `host "c" is not configured; the provider's hosts map has: a, b, bad` {
		t.Errorf("got %v", err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			var gone *host.UnreachableError
			if _, err := first.Run(t.Context(), shellcmd.New("true")); !errors.As(err, &gone) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if dials.Load() != 1 || dialled.Load() != 1 || ran.Load() != 10 || failed.Load() != 11 {
		t.Errorf("%d dials; events of %d dials and %d commands, %d failed", dials.Load(), dialled.Load(), ran.Load(),
			failed.Load())
	}
}

func TestPool_empty(t *testing.T) {
	p := New(nil)
	if _, err := p.Host("a"); err == nil ||
		err.Error() != `host "a" is not configured: the provider's hosts map is empty` {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestPool_Lock(t *testing.T) {
	p := New(map[string]sshhost.Config{"a": config(1), "b": config(1)})
	t.Cleanup(func() { _ = p.Close() })
	unlock, err := p.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if other, busy := p.Lock(t.Context(), "b"); busy != nil {
		t.Errorf("hosts hold each other up: %v", busy)
	} else {
		other()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = p.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	unlock()
	unlock() // harmless
	again, err := p.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Lock(ctx, "a"); err == nil {
		t.Error("unlocking twice lets two writers in")
	}
	again()
	if _, err := p.Lock(t.Context(), "c"); err == nil {
		t.Error("a host that is not configured can be locked")
	}
}

func TestPool_Close(t *testing.T) {
	port, dials := deaf(t)
	p := New(map[string]sshhost.Config{"used": config(port), "unused": config(port)})
	h, err := p.Host("used")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err == nil || dials.Load() != 0 {
		t.Errorf("a closed pool dials: %v", err)
	}
	if _, err := p.Host("unused"); err == nil {
		t.Error("a closed pool opens hosts")
	}
}
