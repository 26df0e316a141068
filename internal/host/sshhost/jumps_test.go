package sshhost

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// behind are n hosts that share the way through one jump host. They and the jump are as a pool would have them: what
// they read is shared.
func behind(t *testing.T, n int, jump *server, change func(i int, cfg *Config)) (all []*Host, targets []*server) {
	t.Helper()
	return sharing(t, n, jump, &sshconn.Jumps{}, change)
}

func sharing(t *testing.T, n int, jump *server, jumps *sshconn.Jumps,
	change func(i int, cfg *Config)) (all []*Host, targets []*server) {
	t.Helper()
	shared, near := &sshconfig.Shared{}, jump.config()
	for i := range n {
		target := newServer(t)
		cfg, hop := target.config(), near
		hop.ConnectTimeout = cfg.ConnectTimeout
		cfg.Jumps, cfg.Shared, cfg.ConnectAttempts = []Config{hop}, shared, 2
		change(i, &cfg)
		h := mustHost(t, cfg)
		h.Share(jumps)
		all, targets = append(all, h), append(targets, target)
	}
	return all, targets
}

// askAll runs a command on all hosts at once.
func askAll(t *testing.T, all []*Host) {
	t.Helper()
	var wg sync.WaitGroup
	for _, h := range all {
		wg.Go(func() {
			if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
				t.Errorf("%s: %v", h.Address(), err)
			}
		})
	}
	wg.Wait()
}

func TestJumps_one_login_for_all(t *testing.T) {
	jump := newServer(t)
	all, targets := behind(t, 8, jump, func(int, *Config) {})
	askAll(t, all)
	for i, s := range targets {
		if n := s.get(&s.dials); n != 1 {
			t.Errorf("host %d has %d connections", i, n)
		}
	}
	if n := jump.get(&jump.dials); n != 1 {
		t.Fatalf("%d logins on the jump host", n)
	}
	if stops := all[3].Route(t.Context()); all[3].Prove(t.Context(), stops) != nil || len(stops) != 2 ||
		stops[0].HostKey == "" || stops[1].HostKey == "" {
		t.Errorf("what the machines on the way have shown: %+v", stops)
	}
	// A host that dials again finds the way that the others use; a fresh connection proves the whole way.
	all[0].Drop()
	askAll(t, all)
	if n := jump.get(&jump.dials); n != 1 {
		t.Errorf("%d logins after one host has dialled again", n)
	}
	fresh, err := all[1].Fresh(t.Context())
	if err != nil || jump.get(&jump.dials) != 2 {
		t.Errorf("%v, %d logins with a fresh connection", err, jump.dials)
	}
	_ = fresh.Close()
	// A lost jump host loses all, and one login brings all back.
	jump.cut()
	for _, h := range all {
		for begin := time.Now(); !h.link.Lost(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				t.Fatal("the loss of the jump host is not noticed")
			}
		}
	}
	askAll(t, all)
	if n := jump.get(&jump.dials); n != 3 {
		t.Errorf("%d logins after the jump host was lost", n)
	}
	// The last host that leaves closes the way.
	for _, h := range all {
		_ = h.Close()
	}
	waitClosed(t, jump)
}

// One connection is not shared by more hosts than sshd's process can have files for.
func TestJumps_so_many_share_one(t *testing.T) {
	jump := newServer(t)
	all, _ := sharing(t, 8, jump, &sshconn.Jumps{Most: 3}, func(int, *Config) {})
	askAll(t, all)
	if n := jump.get(&jump.dials); n != 3 {
		t.Errorf("%d logins for 8 hosts, 3 of which share one", n)
	}
}

// waitClosed waits until nobody is logged in.
func waitClosed(t *testing.T, s *server) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		open := 0
		for _, c := range s.conns {
			if _, err := c.Write(nil); err == nil {
				open++
			}
		}
		s.mu.Unlock()
		if open == 0 {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d connections to the jump host are open", open)
		}
	}
}

// Another key, another user or another list of known hosts is another login: nobody passes with what another host may.
func TestJumps_other_settings_are_another_login(t *testing.T) {
	jump := newServer(t)
	all, _ := behind(t, 3, jump, func(i int, cfg *Config) {
		if i == 1 {
			cfg.Jumps[0].PrivateKey += "\n" // in other words: the texts are compared, and not the keys
		}
	})
	askAll(t, all)
	if n := jump.get(&jump.dials); n != 2 {
		t.Errorf("%d logins for two keys", n)
	}
	all, _ = behind(t, 2, jump, func(i int, cfg *Config) {
		if i == 1 {
			cfg.Jumps[0].HostKeys, cfg.Jumps[0].KnownHostsFiles = nil, []string{filepath.Join(t.TempDir(), "empty")}
		}
	})
	askAll(t, all[:1])
	_, err := all[1].Run(t.Context(), shellcmd.New("true"))
	hostKeyError(t, err, "jump host ")
}

// A jump host that refuses is named to each host, and is tried again by the next command. One that fell silent while
// others are logged in is not waited for twice.
func TestJumps_a_jump_host_that_fails(t *testing.T) {
	jump := newServer(t)
	jump.onConn = func(n int) connFault {
		if n <= 2 {
			return connReset
		}
		return connOK
	}
	all, _ := behind(t, 2, jump, func(_ int, cfg *Config) { cfg.ConnectAttempts = 1 })
	for _, h := range all {
		if _, err := h.Run(t.Context(), shellcmd.New("true")); err == nil || !strings.Contains(err.Error(), "jump host ") {
			t.Errorf("got %v", err)
		}
		h.Drop()
	}
	askAll(t, all)
	if n := jump.get(&jump.dials); n != 3 {
		t.Errorf("%d logins", n)
	}

	jump = newServer(t)
	address, port := jump.start()
	line := newWAN(t, net.JoinHostPort(address, strconv.Itoa(port)), 0)
	all, _ = behind(t, 2, jump, func(_ int, cfg *Config) {
		cfg.Jumps[0].Port = line.port()
		cfg.ConnectTimeout, cfg.Jumps[0].ConnectTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	askAll(t, all[:1])
	close(line.stalled)
	if _, err := all[1].Run(t.Context(), shellcmd.New("true")); err == nil {
		t.Fatal("a host was reached through a line that is stalled")
	}
	if n := jump.get(&jump.dials); n != 2 {
		t.Errorf("%d attempts to log in: the second attempt waits for the silent one again", n)
	}
}
