package sshhost

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
)

// securityKey is an agent with one key of a security key, which is always touched.
type securityKey struct {
	agent.Agent // nothing else is asked
	private     ed25519.PrivateKey
	public      ssh.PublicKey
}

const application = "ssh:"

func newSecurityKey(t *testing.T) *securityKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Name        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, public, application}))
	if err != nil {
		t.Fatal(err)
	}
	return &securityKey{Agent: agent.NewKeyring(), private: private, public: key}
}

func (a *securityKey) List() ([]*agent.Key, error) {
	return []*agent.Key{{Format: a.public.Type(), Blob: a.public.Marshal(), Comment: "a security key"}}, nil
}

// Sign follows OpenSSH's PROTOCOL.u2f: the device signs hashes, its flags and a counter.
func (a *securityKey) Sign(_ ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	const touched = 1
	end := binary.BigEndian.AppendUint32([]byte{touched}, 7)
	app, message := sha256.Sum256([]byte(application)), sha256.Sum256(data)
	signed := append(append(app[:], end...), message[:]...)
	return &ssh.Signature{Format: a.public.Type(), Blob: ed25519.Sign(a.private, signed), Rest: end}, nil
}

// listenAsAgent listens on the socket of an agent, with blanks in its name.
func listenAsAgent(t *testing.T) (l net.Listener, socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "an agent") // t.TempDir may be too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "group containers.sock")
	if l, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = os.RemoveAll(dir) })
	return l, socket
}

// serveAgent serves an agent on a socket.
func serveAgent(t *testing.T, a agent.Agent) (socket string) {
	t.Helper()
	l, socket := listenAsAgent(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(a, c); _ = c.Close() }()
		}
	}()
	return socket
}

// A security key signs through its agent, whose socket is found where a person may
// have it: in the environment, in the SSH client configuration, in a variable there.
func TestOpenSSH_securityKeyByAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	key := newSecurityKey(t)
	keys := filepath.Join(t.TempDir(), "keys")
	write(t, keys, string(ssh.MarshalAuthorizedKey(key.public)))
	// The first value counts for sshd: the fixture's own file has only its key.
	cfg := startSSHD(t, "Match all\nAuthorizedKeysFile "+keys)
	cfg.PrivateKeyFile = ""
	socket := serveAgent(t, key)
	for name, tc := range map[string]struct{ config, variable, value string }{
		"environment":      {"", "SSH_AUTH_SOCK", socket},
		"IdentityAgent":    {fmt.Sprintf("IdentityAgent %q\n", socket), "SSH_AUTH_SOCK", "/nonexistent"},
		"its own variable": {"IdentityAgent $MY_AGENT\n", "MY_AGENT", socket},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tc.variable, tc.value)
			at := cfg
			if tc.config != "" {
				at.SSHConfigFile = filepath.Join(t.TempDir(), "config")
				write(t, at.SSHConfigFile, tc.config)
			}
			if err := reach(t, at); err != nil {
				t.Error(err)
			}
		})
	}
	t.Setenv("SSH_AUTH_SOCK", serveAgent(t, newSecurityKey(t)))
	var refused *auth.Error
	if err := reach(t, cfg); !errors.As(err, &refused) {
		t.Errorf("another security key: %v", err)
	}
}

// What only Windows builds is at least looked at here.
func TestWindows_builds(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another system")
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
