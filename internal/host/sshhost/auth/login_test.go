package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// keyFile writes a private key and returns its path.
func keyFile(t *testing.T, name, passphrase string) string {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "test")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(priv, "test", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A key that the provider's configuration names and that cannot be used is an error: another
// one would hide it. One of ssh's files is a note.
func TestLoad_keysThatCannotBeUsed(t *testing.T) {
	locked, good := keyFile(t, "locked", "open sesame"), keyFile(t, "good", "")
	missing := filepath.Join(t.TempDir(), "none")
	for name, tc := range map[string]struct {
		file   string
		pass   string
		advice string
	}{
		"encrypted":        {locked, "", "Set passphrase"},
		"wrong passphrase": {locked, "wrong", "Check passphrase"},
		"missing":          {missing, "", "Check private_key_file"},
	} {
		c := &Credentials{Passphrase: tc.pass, Identities: []File{{tc.file, SourceKeyFile}}}
		if _, err := Load(t.Context(), c); err == nil || !strings.HasPrefix(KeyAdvice(err), tc.advice) {
			t.Errorf("%s: %v", name, err)
		}
		c.Identities = []File{{tc.file, "IdentityFile in config"}, {good, "IdentityFile in config"}}
		ring, err := Load(t.Context(), c)
		if err != nil || len(ring.offer) != 1 || len(ring.notes) != 1 || !strings.Contains(ring.notes[0], "IdentityFile") {
			t.Errorf("%s of ssh's files: %+v %v", name, ring, err)
		}
	}
	c := &Credentials{Passphrase: "open sesame", Identities: []File{{locked, SourceKeyFile}}, Keys: &Keys{}}
	one, err := Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Load(t.Context(), c)
	if err != nil || one.offer[0].signer != two.offer[0].signer {
		t.Errorf("the key was decrypted twice: %v", err)
	}
}

// A password is sent once in a login, whatever the server asks after it.
func TestLogin_sendsThePasswordOnce(t *testing.T) {
	l := &Login{Credentials: &Credentials{User: "ops", Password: "hunter2"}, Ring: &Keyring{},
		Lost: func() bool { return false }}
	asks := &ssh.ClientAuthContext{AllowedMethods: []string{"password", "keyboard-interactive"}}
	_, err := l.Choose(asks)
	if err != nil || l.AcceptedBy() != "password" {
		t.Fatalf("accepted by %s: %v", l.AcceptedBy(), err)
	}
	_, err = l.Choose(asks)
	var refused *Error
	if !errors.As(err, &refused) || !slices.Equal(refused.Tried, []string{"password"}) ||
		!slices.Equal(refused.Offered, asks.AllowedMethods) {
		t.Errorf("a second time: %v", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the password shows: %v", err)
	}
	answers, err := l.answer("", "", []string{"Password: "}, []bool{false})
	if err == nil {
		t.Fatalf("answered %q after the password was sent", answers)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the password shows: %v", err)
	}
}

// The library goes on to the next method after a connection is lost: no password follows.
func TestLogin_endsWithTheConnection(t *testing.T) {
	l := &Login{Credentials: &Credentials{Password: "hunter2"}, Ring: &Keyring{}, Lost: func() bool { return true }}
	if _, err := l.Choose(&ssh.ClientAuthContext{AllowedMethods: []string{"password"}}); err == nil || !l.Closed || l.Spent {
		t.Errorf("closed %t, spent %t: %v", l.Closed, l.Spent, err)
	}
}
