package knownhosts

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Policy says what happens with an unknown host key. A key that differs from a
// known one is refused under every policy.
type Policy string

// The host key policies.
const (
	Strict    Policy = "strict"     // refuse (default)
	AcceptNew Policy = "accept-new" // accept once and record it in Host.Record
)

// Host is one machine, with what says which keys are its own.
type Host struct {
	Address string   // host:port as dialled
	Name    string   // of Address, for a person to look at
	Alias   string   // HostKeyAlias: the name in the lists; empty for Address
	Jump    bool     // on the way to another machine
	Pins    []string // as CheckPins takes them; if there are any, no list is read
	Files   []string // lists, existing or not
	Revoked string   // RevokedHostKeys, or empty
	Policy  Policy
	Record  string // where AcceptNew writes; it is read too
	Lists   *Lists // read before; nil reads anew

	first atomic.Pointer[ssh.PublicKey] // the key of the first connection
}

// Same reports whether o judges a key as h does.
func (h *Host) Same(o *Host) bool { return reflect.DeepEqual(h.settings(), o.settings()) }

func (h *Host) settings() []any {
	return []any{h.Address, h.Name, h.Alias, h.Jump, h.Pins, h.Files, h.Revoked, h.Policy, h.Record, h.Lists}
}

// files are the lists with the record of this provider.
func (h *Host) files() []string {
	if h.Record == "" || slices.Contains(h.Files, h.Record) {
		return h.Files
	}
	return append(slices.Clip(h.Files), h.Record)
}

// Error says that a host showed an unknown key. It comes before any credential
// is sent.
type Error struct {
	Problem string // one sentence
	Advice  string
}

func (e *Error) Error() string { return e.Problem }

// Trust checks the key of one hop during one handshake.
type Trust struct {
	host    *Host
	pins    pins
	list    knownList
	revoked *revokedKeys
	name    string        // host:port that known_hosts is searched for
	Shown   ssh.PublicKey // the key the host showed, once it did
	Vouched string        // what makes the key known
}

// NewTrust reads the lists. An error of it is explained by ListAdvice.
func NewTrust(h *Host) (*Trust, error) {
	t := &Trust{host: h, name: h.Address}
	if h.Alias != "" {
		t.name = net.JoinHostPort(h.Alias, "22") // an alias stands without a port
	}
	var err error
	if t.revoked, err = readRevoked(h.Revoked); err != nil {
		return nil, err
	}
	// A pin replaces the lists: a person named the key for this host. RevokedHostKeys counts all the same.
	if t.pins, err = parsePins(h.Pins); err != nil || !t.pins.empty() {
		return t, err
	}
	t.list, err = t.read()
	return t, err
}

// read reads the lists of known hosts again if one has changed. Only a list that does
// not exist is empty; one that cannot be read may know or revoke the key.
func (t *Trust) read() (knownList, error) {
	var files []string
	for _, f := range t.host.files() {
		if _, err := os.Stat(f); !isAbsent(err) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	list, err := t.host.Lists.get(files)
	if err != nil {
		return nil, fmt.Errorf("the list of known hosts cannot be read: %w", err)
	}
	return list, nil
}

// isAbsent reports whether err says that there is no such file.
func isAbsent(err error) bool {
	// ENOTDIR is a file where a directory of the path should be, which is as absent.
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Algorithms restricts the handshake to the kinds of key that are known of the
// host: a server offers one kind of its own choice, and a host known by its
// ed25519 key that shows its ecdsa key would look like an impostor.
func (t *Trust) Algorithms() []string {
	if !t.pins.empty() {
		return t.pins.algorithms()
	}
	return t.list.algorithms(t.name)
}

func refusal(problem, advice string) error { return &Error{Problem: problem, Advice: advice} }

// Describe is how messages name a key: its kind and fingerprint.
func Describe(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

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
