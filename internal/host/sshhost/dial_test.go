package sshhost

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

func TestDial_retriesWhatPasses(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	s.onConn = func(n int) connFault {
		if n != 3 {
			return connReset
		}
		return connOK
	}
	cfg.ConnectAttempts = 3
	if err := reach(t, cfg); err != nil || s.get(&s.dials) != 3 {
		t.Errorf("%d dials: %v", s.dials, err)
	}
	err := reach(t, cfg)
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.Op != "connect" || gone.MayHaveRun || !strings.Contains(err.Error(), "3 attempts") ||
		!strings.Contains(gone.Advice, "MaxStartups") {
		t.Errorf("got %v", err)
	}
}

func TestDial_refused(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	_ = s.listener.Close()
	err := reach(t, cfg)
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.Op != "connect" || !strings.Contains(gone.Advice, "nothing listens") ||
		gone.Command != "true" {
		t.Errorf("got %+v", err)
	}
	cfg.Address = "no-such-host.invalid"
	if err := reach(t, cfg); !errors.As(err, &gone) || !strings.Contains(gone.Advice, "does not resolve") {
		t.Errorf("got %+v", err)
	}
}

func TestDial_stalledHandshake(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	s.onConn = func(int) connFault { return connSilent }
	cfg.ConnectTimeout = 100 * time.Millisecond
	begin := time.Now()
	err := reach(t, cfg)
	if err == nil || !strings.Contains(err.Error(), "handshake did not end") || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %s", took)
	}
	cfg.ConnectTimeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	h := mustHost(t, cfg)
	if _, err := h.Run(ctx, shellcmd.New("true")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context does not end it: %v", err)
	}
}

func TestDial_oneForAll(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	s.onConn = func(int) connFault { time.Sleep(50 * time.Millisecond); return connOK }
	h := mustHost(t, cfg)
	impatient, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.Run(impatient, shellcmd.New("true")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient one got %v", err)
		}
	})
	for range 20 {
		wg.Go(func() {
			if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.get(&s.dials); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestDial_deadHostCostsOneTimeout(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	s.onConn = func(n int) connFault {
		if n == 1 {
			return connSilent
		}
		return connOK
	}
	cfg.ConnectTimeout = 100 * time.Millisecond
	h := mustHost(t, cfg)
	for range 10 {
		if _, err := h.Run(t.Context(), shellcmd.New("true")); err == nil {
			t.Fatal("reached")
		}
	}
	if n := s.get(&s.dials); n != 1 {
		t.Errorf("%d attempts", n)
	}
	h.Drop()
	if _, err := h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Errorf("Drop does not forget the failure: %v", err)
	}
}

func TestDial_throughJumpHosts(t *testing.T) {
	target, near, far := newServer(t), newServer(t), newServer(t)
	cfg, nearCfg, farCfg := target.config(), near.config(), far.config()
	cfg.Jumps = []Config{nearCfg, farCfg}
	if err := reach(t, cfg); err != nil {
		t.Fatal(err)
	}
	if near.get(&near.dials) != 1 || far.get(&far.dials) != 1 || target.get(&target.dials) != 1 {
		t.Errorf("dials: %d %d %d", near.dials, far.dials, target.dials)
	}
	farCfg.HostKeys = []string{"SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	cfg.Jumps = []Config{nearCfg, farCfg}
	err := reach(t, cfg)
	hostKeyError(t, err, "jump host "+net.JoinHostPort(farCfg.Address, strconv.Itoa(farCfg.Port)))
	// The key of a jump host is pinned where the jump host is named.
	farCfg.HostKeys, farCfg.KnownHostsFiles = nil, []string{filepath.Join(t.TempDir(), "empty")}
	cfg.Jumps = []Config{nearCfg, farCfg}
	hostKeyError(t, reach(t, cfg), "of this jump host in jump_hosts")
	_ = target.listener.Close()
	cfg.Jumps = []Config{nearCfg}
	var gone *host.UnreachableError
	if err := reach(t, cfg); !errors.As(err, &gone) || !strings.Contains(gone.Advice, "as the jump host sees it") {
		t.Errorf("got %+v", err)
	}
}

func TestUserConfig(t *testing.T) {
	target, near, far := newServer(t), newServer(t), newServer(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("KEYS", filepath.Join(home, "keys"))
	if err := os.MkdirAll(filepath.Join(home, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	key, pub := writeKey(t, "")
	data, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "keys", "id_ops"), string(data))
	var known strings.Builder
	for alias, s := range map[string]*server{"lab": target, "near": near, "far": far} {
		s.allow(pub)
		s.start()
		known.WriteString(alias + "-key " + string(ssh.MarshalAuthorizedKey(s.hostKeys[0].PublicKey())))
	}
	write(t, filepath.Join(home, "known"), known.String())
	section := func(alias string, s *server, more string) string {
		ip, port := s.start()
		return "Host " + alias + "\n  HostName " + ip + "\n  Port " + strconv.Itoa(port) + "\n  HostKeyAlias " + alias +
			"-key\n" + more
	}
	file := filepath.Join(home, "ssh_config")
	write(t, file, section("lab", target, "  ProxyJump ops@far\n")+section("far", far,
		"  ProxyJump near\n")+section("near", near, "")+
		"Host near far lab\n  User ops\n  IdentityFile ${KEYS}/id_%r\n  IdentitiesOnly yes\n  UserKnownHostsFile ~/known\n  ConnectTimeout 7\n  ServerAliveInterval 5\nHost *\n  User nobody\n")
	h, err := New("lab1", Config{Address: "lab", SSHConfigFile: file, ConnectAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	if _, err = h.Run(t.Context(), shellcmd.New("true")); err != nil {
		t.Fatal(err)
	}
	if near.get(&near.dials) != 1 || far.get(&far.dials) != 1 {
		t.Errorf("the jump hosts were not used: %d %d", near.dials, far.dials)
	}
	last := h.target()
	if h.User() != "ops" || last.Timeout != 7*time.Second || last.Interval != 5*time.Second ||
		last.Keys.Identities[0].Source != "IdentityFile in "+file {
		t.Errorf("user %s, timeout %s, keepalive %s, keys %v", h.User(), last.Timeout, last.Interval, last.Keys.Identities)
	}
	h2, err := New("lab1", Config{Address: "lab", User: "me", Port: 5, SSHConfigFile: file, Jumps: []Config{}})
	if err != nil || h2.User() != "me" || !strings.HasSuffix(h2.Address(), ":5") || len(h2.chain) != 1 {
		t.Errorf("explicit settings do not win: %v %v", h2, err)
	}
}

func TestNew_refusals(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	write(t, loop, "Host a\n ProxyJump b\nHost b\n ProxyJump a\n")
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no address", Config{}, "no address"},
		{"user in the address", Config{Address: "ops@host"}, "settings of their own"},
		{"port", Config{Address: "h", Port: 70000}, "port 70000"},
		{"two keys", Config{Address: "h", PrivateKey: "x", PrivateKeyFile: "y"}, "both as text and as a file"},
		{"become", Config{Address: "h", Become: "su"}, "none of auto, none, sudo"},
		{"policy", Config{Address: "h", HostKeyPolicy: "no"}, "neither strict nor accept-new"},
		{"host key", Config{Address: "h", HostKeys: []string{"x"}}, "neither a public key"},
		{"sudo password", Config{Address: "h", SudoPassword: "a\nb"}, "line break"},
		{"jump host", Config{Address: "h", Jumps: []Config{{}}}, "jump host 1: no address"},
		{"circle", Config{Address: "a", SSHConfigFile: loop}, "circle"},
		{"option for a host", Config{Address: "-oProxyCommand=x"}, "is not a host name"},
		{"file absent", Config{Address: "h", SSHConfigFile: filepath.Join(dir, "none")}, "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New("lab1", tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "host lab1: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}
