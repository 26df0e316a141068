package sshhost

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// reach runs one command over a connection of its own.
func reach(t *testing.T, cfg Config) error {
	t.Helper()
	fence.Add(1)
	h, err := New("lab1", cfg)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	_, err = h.Run(t.Context(), shellcmd.New("true"))
	return err
}

// newAgent serves an agent with n keys and returns its socket.
func newAgent(t *testing.T, n int) (socket string, keys []ssh.PublicKey) {
	t.Helper()
	ring := agent.NewKeyring()
	for i := range n {
		_, priv, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: priv, Comment: fmt.Sprintf("key %d", i)}); err != nil {
			t.Fatal(err)
		}
		signer, _ := ssh.NewSignerFromKey(priv)
		keys = append(keys, signer.PublicKey())
	}
	return serveAgent(t, ring), keys
}

func TestAuth_ways(t *testing.T) {
	s := newServer(t)
	base := s.config()
	base.PrivateKey = ""
	plain, plainPub := writeKey(t, "")
	locked, lockedPub := writeKey(t, "open sesame")
	socket, held := newAgent(t, 7)
	s.allow(plainPub, lockedPub, held[6])
	s.auth.MaxAuthTries = 6
	password := func(_ ssh.ConnMetadata, word []byte) (*ssh.Permissions, error) {
		s.noteAuth("password")
		if string(word) == "correct" {
			return nil, nil
		}
		return nil, errors.New("no")
	}
	only := true
	tests := []struct {
		name   string
		change func(*Config)
	}{
		{"key file", func(c *Config) { c.PrivateKeyFile = plain }},
		{"key file with passphrase", func(c *Config) { c.PrivateKeyFile, c.Passphrase = locked, "open sesame" }},
		{"agent, key by comment among too many", func(c *Config) { c.AgentSocket, c.AgentIdentity = socket, "key 6" }},
		{"agent, key by fingerprint", func(c *Config) { c.AgentSocket, c.AgentIdentity = socket, ssh.FingerprintSHA256(held[6]) }},
		{"agent, key by public key line", func(c *Config) {
			c.AgentSocket, c.AgentIdentity = socket, string(ssh.MarshalAuthorizedKey(held[6]))
		}},
		{"agent beside a key file, identities only",
			func(c *Config) { c.PrivateKeyFile, c.AgentSocket, c.IdentitiesOnly = plain, socket, &only }},
		{"password", func(c *Config) { c.Password = "correct" }},
		{"password after keys that are refused", func(c *Config) { c.AgentSocket, c.Password = socket, "correct" }},
	}
	s.auth.PasswordCallback = password
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := base
			t.Setenv("SSH_AUTH_SOCK", "")
			tt.change(&cfg)
			if err := reach(t, cfg); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAuth_keyboardInteractive(t *testing.T) {
	ask := func(questions ...string) func(ssh.ConnMetadata, ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		return func(_ ssh.ConnMetadata, challenge ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := challenge("", "", questions, make([]bool, len(questions)))
			if err == nil && len(answers) == 1 && answers[0] == "correct" {
				return nil, nil
			}
			return nil, errors.New("no")
		}
	}
	s := newServer(t)
	cfg := s.config()
	cfg.PrivateKey, cfg.Password = "", "correct"
	t.Setenv("SSH_AUTH_SOCK", "")
	s.auth.PublicKeyCallback = nil
	s.auth.KeyboardInteractiveCallback = ask("Password: ")
	if err := reach(t, cfg); err != nil {
		t.Error(err)
	}
	s.auth.KeyboardInteractiveCallback = ask("Password: ", "Token: ")
	err := reach(t, cfg)
	var auth *auth.Error
	if !errors.As(err, &auth) || !strings.Contains(err.Error(), "Token") {
		t.Errorf("two questions: %v", err)
	}
}

func TestAuth_failureExplains(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	wrong, wrongPub := writeKey(t, "")
	s.auth.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
		s.noteAuth("password")
		return nil, errors.New("no")
	}
	cfg.PrivateKey, cfg.PrivateKeyFile, cfg.Password = "", wrong, "hunter2"
	cfg.ConnectAttempts = 3
	err := reach(t, cfg)
	var gone *host.UnreachableError
	if !errors.As(err, &gone) || gone.Op != "authenticate" || gone.MayHaveRun ||
		!strings.Contains(gone.Advice, "authorized_keys") {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"user ops", "it accepts: password, publickey", ssh.FingerprintSHA256(wrongPub),
		wrong + ", private_key_file", "password"} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), "publickey, password", "password, publickey"), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("the password shows")
	}
	if got := strings.Count(strings.Join(s.auths, " "), "password"); got != 1 {
		t.Errorf("the password was tried %d times", got)
	}
}

func TestAuth_nothingToOffer(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.PrivateKey = ""
	locked, _ := writeKey(t, "open sesame")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SSH_AUTH_SOCK", "")
	contains := func(name string, cfg Config, want ...string) {
		t.Helper()
		err := reach(t, cfg)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error lacks %q: %v", name, w, err)
			}
		}
	}
	contains("no agent", cfg, "SSH_AUTH_SOCK is not set", "tried: nothing")
	dead := cfg
	dead.AgentSocket = filepath.Join(t.TempDir(), "dead")
	contains("dead agent", dead, "does not answer")
	socket, _ := newAgent(t, 0)
	empty := cfg
	empty.AgentSocket = socket
	contains("empty agent", empty, "holds no keys")
	cfg.PrivateKeyFile = locked
	contains("encrypted key", cfg, "the key is encrypted", "ssh-add")
	cfg.Passphrase = "wrong"
	contains("wrong passphrase", cfg, "cannot be decrypted")
	cfg.PrivateKeyFile = filepath.Join(t.TempDir(), "none")
	contains("missing key", cfg, "no such file")
	write(t, cfg.PrivateKeyFile, "nonsense")
	contains("no key", cfg, "not a private key")
}

func TestAuth_tooManyKeysAreHeldBack(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	cfg.PrivateKey = ""
	t.Setenv("HOME", t.TempDir())
	cfg.AgentSocket, _ = newAgent(t, 7)
	err := reach(t, cfg)
	if err == nil || strings.Count(err.Error(), "not offered, because") != 1 ||
		strings.Count(err.Error(), "(agent: ") != 7 {
		t.Errorf("got %v", err)
	}
	if len(s.auths) != 5 {
		t.Errorf("%d keys were offered", len(s.auths))
	}
}

func TestAuth_agentThatHangs(t *testing.T) {
	s := newServer(t)
	cfg := s.config()
	_, socket := listenAsAgent(t) // accepts, and never answers
	cfg.PrivateKey, cfg.AgentSocket, cfg.ConnectTimeout = "", socket, 300*time.Millisecond
	begin := time.Now()
	if err := reach(t, cfg); err == nil {
		t.Error("let in without a key")
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}
