package sshhost

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// HostKeyError says that a host showed a key that nobody vouches for. It is
// raised before any credential is sent.
type HostKeyError struct {
	Host        string // as looked up in known_hosts
	Problem     string // one sentence
	Fingerprint string // of the key shown; empty if none was
	Advice      string
}

func (e *HostKeyError) Error() string { return e.Problem }

// pins are the keys a host is pinned to, as whole keys or fingerprints.
type pins struct {
	keys         []ssh.PublicKey
	fingerprints []string
}

func parsePins(lines []string) (pins, error) {
	var p pins
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "SHA256:") {
			p.fingerprints = append(p.fingerprints, strings.TrimRight(line, "="))
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return pins{}, fmt.Errorf("host key %q is neither a public key (ssh-ed25519 AAAA…) nor a fingerprint (SHA256:…)", line)
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

func (p pins) empty() bool { return len(p.keys) == 0 && len(p.fingerprints) == 0 }

func (p pins) allow(key ssh.PublicKey) bool {
	return slices.Contains(p.fingerprints, ssh.FingerprintSHA256(key)) ||
		slices.ContainsFunc(p.keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

// algorithms returns the signature algorithms of the pinned keys, or nil, which
// is any, if a fingerprint hides the type of its key.
func (p pins) algorithms() []string {
	if len(p.fingerprints) > 0 {
		return nil
	}
	var out []string
	for _, k := range p.keys {
		if k.Type() == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		out = append(out, k.Type())
	}
	return out
}

// trust checks the key of one hop during one handshake.
type trust struct {
	hop   *hop
	pins  pins
	db    *knownhosts.HostKeyDB // nil: no known_hosts file exists
	name  string                // host:port that known_hosts is searched for
	shown ssh.PublicKey         // the key the host showed, once it did
}

func newTrust(h *hop) (*trust, error) {
	t := &trust{hop: h, name: h.address()}
	if h.keyAlias != "" {
		t.name = net.JoinHostPort(h.keyAlias, "22") // an alias stands without a port
	}
	var err error
	if t.pins, err = parsePins(h.cfg.HostKeys); err != nil || !t.pins.empty() {
		return t, err
	}
	var files []string
	for _, f := range h.knownHosts {
		if st, missing := os.Stat(f); missing == nil && st.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		if t.db, err = h.cfg.Shared.knownHosts(files); err != nil {
			return nil, fmt.Errorf("the list of known hosts cannot be read: %w", err)
		}
	}
	return t, nil
}

// algorithms restricts the handshake to the kinds of key that are known of the
// host: a server offers one kind of its own choice, and a host known by its
// ed25519 key that shows its ecdsa key would look like an impostor.
func (t *trust) algorithms() []string {
	if !t.pins.empty() {
		return t.pins.algorithms()
	}
	if t.db == nil {
		return nil
	}
	return t.db.HostKeyAlgorithms(t.name)
}

// check is the ssh.HostKeyCallback.
func (t *trust) check(_ string, remote net.Addr, key ssh.PublicKey) error {
	t.shown = key
	if !t.pins.empty() {
		if t.pins.allow(key) {
			return nil
		}
		return t.pinMismatch(key)
	}
	err := error(&xknownhosts.KeyError{})
	if t.db != nil {
		err = t.db.HostKeyCallback()(t.name, remote, key)
	}
	var revoked *xknownhosts.RevokedError
	var mismatch *xknownhosts.KeyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return t.fail(key, fmt.Sprintf("the host key %s is marked as revoked in %s:%d", describe(key), revoked.Revoked.Filename, revoked.Revoked.Line),
			"Somebody withdrew this key. Do not go on until the host has a new one.")
	case !errors.As(err, &mismatch):
		return t.fail(key, fmt.Sprintf("the host key %s is refused: %v", describe(key), err), t.vouch(key))
	case len(mismatch.Want) > 0:
		return t.changed(key, mismatch.Want)
	case t.hop.policy == HostKeyAcceptNew:
		return t.accept(key)
	default:
		return t.fail(key, fmt.Sprintf("the host key is not known: %s", describe(key)), t.vouch(key))
	}
}

func (t *trust) fail(key ssh.PublicKey, problem, advice string) error {
	e := &HostKeyError{Host: knownhosts.Normalize(t.name), Problem: problem, Advice: advice}
	if key != nil {
		e.Fingerprint = ssh.FingerprintSHA256(key)
	}
	return e
}

// vouch says how to make a key known, with the exact texts. They are indented,
// because Terraform breaks every line that is not.
func (t *trust) vouch(key ssh.PublicKey) string {
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.SignatureKey
	}
	file := "~/.ssh/known_hosts"
	if len(t.hop.knownHosts) > 0 {
		file = t.hop.knownHosts[0]
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	return fmt.Sprintf("Compare the fingerprint with what `ssh-keygen -lf /etc/ssh/ssh_host_%s_key.pub` prints on the host's own console. "+
		"If they are equal, either add this line to %s:\n\n    %s\n\nor pin the key in the host's configuration:\n\n    host_keys = [%q]\n\n"+
		"or set host_key_policy = \"accept-new\" to accept the first key that a new host shows.",
		fileKind(key.Type()), file, knownhosts.Line([]string{t.name}, key), line)
}

func (t *trust) pinMismatch(key ssh.PublicKey) error {
	var want []string
	for _, k := range t.pins.keys {
		want = append(want, describe(k))
	}
	want = append(want, t.pins.fingerprints...)
	return t.fail(key, fmt.Sprintf("the host showed the key %s, but is pinned to %s", describe(key), strings.Join(want, ", ")),
		"Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which before you change host_keys: credentials sent to an impostor are lost. "+
			"A fingerprint pins one key, and a host has one of each kind; pin the one of kind "+key.Type()+" if the host is the right one.")
}

func (t *trust) changed(key ssh.PublicKey, want []xknownhosts.KnownKey) error {
	var known []string
	for _, k := range want {
		known = append(known, fmt.Sprintf("%s (%s:%d)", describe(k.Key), k.Filename, k.Line))
	}
	return t.fail(key, fmt.Sprintf("the host key has changed: the host showed %s, known is %s", describe(key), strings.Join(known, ", ")),
		fmt.Sprintf("Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which. If the new key is right, remove the old one with:\n\n    ssh-keygen -R %s -f %s\n\nand make the new one known. %s",
			quoteHost(knownhosts.Normalize(t.name)), want[0].Filename, t.vouch(key)))
}

// noCommonKey explains a handshake in which the host has no key of a kind that
// is known of it.
func (t *trust) noCommonKey(err *ssh.AlgorithmNegotiationError) error {
	where := "host_keys"
	if t.db != nil && t.pins.empty() {
		where = strings.Join(t.hop.knownHosts, ", ")
	}
	return t.fail(nil, fmt.Sprintf("the host has no key of a kind that is known of it: known are %s, the host offers %s",
		strings.Join(t.algorithms(), ", "), strings.Join(err.RequestedAlgorithms, ", ")),
		fmt.Sprintf("The host lost the key that %s names, or was installed anew. Look at it with `ssh-keyscan %s` from a network you trust, and make one of its keys known.", where, t.hop.host))
}

// recording serialises writers of record files within this process.
var recording sync.Mutex

// accept records a new host's key, and refuses the host if that fails: a key
// that is not recorded would be new again next time, whoever shows it.
func (t *trust) accept(key ssh.PublicKey) error {
	recording.Lock()
	defer recording.Unlock()
	if cert, ok := key.(*ssh.Certificate); ok {
		return t.fail(key, "the host showed a certificate of an authority that is not known: "+describe(cert.SignatureKey), t.vouch(key))
	}
	if err := appendLine(t.hop.record, knownhosts.Line([]string{t.name}, key)+"\n"); err != nil {
		return t.fail(key, fmt.Sprintf("the new host key %s cannot be recorded: %v", describe(key), err),
			"accept-new needs a file it can write; check its directory and permissions.")
	}
	return nil
}

func appendLine(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

func describe(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

// fileKind is the part of sshd's host key file names that stands for a key type.
func fileKind(keyType string) string {
	switch {
	case strings.HasPrefix(keyType, "ecdsa"):
		return "ecdsa"
	case keyType == ssh.KeyAlgoRSA:
		return "rsa"
	default:
		return "ed25519"
	}
}

// quoteHost keeps a shell from taking [host]:port for a pattern.
func quoteHost(name string) string {
	if strings.HasPrefix(name, "[") {
		return "'" + name + "'"
	}
	return name
}
