package sshhost

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	lines "golang.org/x/crypto/ssh/knownhosts"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// newUntrusting returns a server and a configuration that nothing vouches for.
func newUntrusting(t *testing.T) (s *server, cfg Config, addr, known string) {
	t.Helper()
	s = newServer(t)
	cfg = s.config()
	known = filepath.Join(t.TempDir(), "known_hosts")
	cfg.HostKeys, cfg.KnownHostsFiles = nil, []string{known}
	return s, cfg, net.JoinHostPort(cfg.Address, strconv.Itoa(cfg.Port)), known
}

func hostKeyError(t *testing.T, err error, want ...string) {
	t.Helper()
	var gone *host.UnreachableError
	var key *knownhosts.Error
	if !errors.As(err, &gone) || gone.Op != "verify host key" || !errors.As(err, &key) {
		t.Fatalf("got %T %v", err, err)
	}
	text := gone.Error() + "\n" + gone.Advice
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the error lacks %q:\n%s", w, text)
		}
	}
}

// recordLine is the line of known_hosts for the key of host:port.
func recordLine(address string, key ssh.PublicKey) string { return lines.Line([]string{address}, key) }

func ecdsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestHostKey_unknownThenKnown(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	key := s.hostKeys[0].PublicKey()
	line := recordLine(addr, key)
	err := reach(t, cfg)
	hostKeyError(t, err, ssh.FingerprintSHA256(key), line, known, `host_keys = ["ssh-ed25519 `, "ssh_host_ed25519_key.pub")
	if len(s.auths) != 0 {
		t.Error("a credential was sent to a host that nobody vouches for")
	}
	write(t, known, line+"\n")
	if err := reach(t, cfg); err != nil {
		t.Error(err)
	}
	cfg.KnownHostsFiles = []string{}
	cfg.HostKeys = []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))}
	if err := reach(t, cfg); err != nil {
		t.Errorf("pinned by its key: %v", err)
	}
}

func TestHostKey_changed(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	old := newKey(t).PublicKey()
	write(t, known, "# comment\n"+recordLine(addr, old)+"\n")
	for _, policy := range []knownhosts.Policy{knownhosts.Strict, knownhosts.AcceptNew} {
		cfg.HostKeyPolicy, cfg.RecordFile = policy, filepath.Join(t.TempDir(), "record")
		hostKeyError(t, reach(t, cfg), ssh.FingerprintSHA256(old), ssh.FingerprintSHA256(s.hostKeys[0].PublicKey()),
			known+":2", "ssh-keygen -R '["+cfg.Address+"]:"+strconv.Itoa(cfg.Port)+"' -f "+known)
	}
	cfg.HostKeys = []string{ssh.FingerprintSHA256(old)}
	hostKeyError(t, reach(t, cfg), "pinned to "+ssh.FingerprintSHA256(old))
	if len(s.auths) != 0 {
		t.Error("a credential was sent to an impostor")
	}
}

// What was begun on one machine does not go on on another one that is known, too.
func TestHostKey_of_another_machine(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	first, second := s.hostKeys[0], newKey(t)
	write(t, known, recordLine(addr, first.PublicKey())+"\n"+recordLine(addr, second.PublicKey())+"\n")
	h, err := New("nas", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	run := func() error {
		fence.Add(1)
		_, err := h.Run(t.Context(), shellcmd.New("true"))
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	h.Drop()
	if err := run(); err != nil {
		t.Fatalf("the same machine again: %v", err)
	}
	s.hostKeys = []ssh.Signer{second}
	h.Drop()
	auths := len(s.auths)
	hostKeyError(t, run(), ssh.FingerprintSHA256(first.PublicKey()), ssh.FingerprintSHA256(second.PublicKey()),
		"when this run began", "another machine may answer")
	if len(s.auths) != auths {
		t.Error("a credential was sent to another machine")
	}
	if err := reach(t, cfg); err != nil {
		t.Errorf("a run that begins with it: %v", err)
	}
}

func TestHostKey_revoked(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	write(t, known, "@revoked "+recordLine(addr, s.hostKeys[0].PublicKey())+"\n")
	hostKeyError(t, reach(t, cfg), "revoked", known+":1")
}

func TestHostKey_knownByAnotherKind(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	second := ecdsaKey(t)
	s.hostKeys = append(s.hostKeys, second)
	write(t, known, recordLine(addr, second.PublicKey())+"\n")
	if err := reach(t, cfg); err != nil {
		t.Errorf("a host with two keys, of which the less preferred is known: %v", err)
	}
	s.hostKeys = s.hostKeys[:1]
	hostKeyError(t, reach(t, cfg), "known are ecdsa-sha2-nistp256", "the host offers ssh-ed25519")
}

func TestHostKey_authority(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	ca := newKey(t)
	cert := &ssh.Certificate{Key: s.hostKeys[0].PublicKey(), CertType: ssh.HostCert,
		ValidPrincipals: []string{cfg.Address}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewCertSigner(cert, s.hostKeys[0])
	if err != nil {
		t.Fatal(err)
	}
	s.hostKeys = append(s.hostKeys, signer)
	write(t, known, "@cert-authority * "+string(ssh.MarshalAuthorizedKey(ca.PublicKey())))
	if err := reach(t, cfg); err != nil {
		t.Error(err)
	}
	auths := len(s.auths)
	write(t, known, "@cert-authority * "+string(ssh.MarshalAuthorizedKey(newKey(t).PublicKey())))
	key := s.hostKeys[0].PublicKey()
	line := recordLine(addr, key)
	authority := "@cert-authority " + recordLine(addr, ca.PublicKey())
	hostKeyError(t, reach(t, cfg), "authority that is not known: "+knownhosts.Describe(ca.PublicKey()),
		"the host showed the key "+knownhosts.Describe(key), line, authority, "host_keys = ["+strconv.Quote(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))))
	if len(s.auths) != auths {
		t.Error("a credential was sent to a host of another authority")
	}
	// Each way that the refusal names makes the host known.
	other := "@cert-authority * " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(newKey(t).PublicKey())))
	for _, way := range []string{line, authority, other + "\n" + line, other + "\n" + authority} {
		write(t, known, way+"\n")
		if err := reach(t, cfg); err != nil {
			t.Errorf("with the line %q: %v", way, err)
		}
	}
	cfg.KnownHostsFiles = []string{}
	cfg.HostKeys = []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))}
	if err := reach(t, cfg); err != nil {
		t.Errorf("pinned by its key: %v", err)
	}
}

func TestHostKey_acceptNew(t *testing.T) {
	s, cfg, _, known := newUntrusting(t)
	write(t, known, "")
	record := filepath.Join(t.TempDir(), "new", "known_hosts")
	cfg.HostKeyPolicy, cfg.RecordFile = knownhosts.AcceptNew, record
	for range 2 {
		if err := reach(t, cfg); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(record)
	if want := "[" + cfg.Address + "]:" + strconv.Itoa(cfg.Port) + " " +
		string(ssh.MarshalAuthorizedKey(s.hostKeys[0].PublicKey())); err != nil || string(got) != want {
		t.Errorf("recorded %q, want %q (%v)", got, want, err)
	}
	if own, _ := os.ReadFile(known); len(own) != 0 {
		t.Error("the user's own file was written")
	}
	s.hostKeys = []ssh.Signer{newKey(t)}
	hostKeyError(t, reach(t, cfg), "has changed", record+":1")
	cfg.RecordFile = filepath.Join(known, "not-a-directory")
	hostKeyError(t, reach(t, cfg), "cannot be recorded")
}

func TestHostKey_brokenList(t *testing.T) {
	_, cfg, _, known := newUntrusting(t)
	write(t, known, "@revoked host ssh-ed25519 not-base64!\n")
	err := reach(t, cfg)
	if err == nil || !strings.Contains(err.Error(), known+":1") {
		t.Errorf("got %v", err)
	}
}

func TestRevokedHostKeys_of_the_client_configuration(t *testing.T) {
	s, cfg, addr, known := newUntrusting(t)
	key := s.hostKeys[0].PublicKey()
	write(t, known, recordLine(addr, key)+"\n")
	dir := t.TempDir()
	revoked, config := filepath.Join(dir, "revoked"), filepath.Join(dir, "config")
	write(t, config, "Host *\n RevokedHostKeys "+revoked+"\n")
	cfg.SSHConfigFile = config
	if err := reach(t, cfg); err == nil || !strings.Contains(err.Error(), "RevokedHostKeys") ||
		!strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that does not exist: %v", err)
	}
	write(t, revoked, "# nothing\n")
	if err := reach(t, cfg); err != nil {
		t.Error(err)
	}
	write(t, revoked, "# stolen\n"+string(ssh.MarshalAuthorizedKey(key)))
	hostKeyError(t, reach(t, cfg), "marked as revoked in "+revoked)
	cfg.HostKeys = []string{ssh.FingerprintSHA256(key)}
	hostKeyError(t, reach(t, cfg), "marked as revoked in "+revoked)
	if len(s.auths) != 1 {
		t.Errorf("credentials were sent %d times, want once, to the host that was not revoked", len(s.auths))
	}
}
