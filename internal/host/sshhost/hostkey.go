package sshhost

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// HostKeyError says that a host showed an unknown key. It comes before any credential
// is sent.
type HostKeyError struct {
	Host        string // as looked up in known_hosts
	Problem     string // one sentence
	Fingerprint string // of the key shown; empty if none was
	Advice      string
}

func (e *HostKeyError) Error() string { return e.Problem }

// trust checks the key of one hop during one handshake.
type trust struct {
	hop     *hop
	pins    pins
	list    knownList
	revoked *revokedKeys
	name    string        // host:port that known_hosts is searched for
	shown   ssh.PublicKey // the key the host showed, once it did
	vouched string        // what makes the key known
}

func newTrust(h *hop) (*trust, error) {
	t := &trust{hop: h, name: h.address()}
	if h.keyAlias != "" {
		t.name = net.JoinHostPort(h.keyAlias, "22") // an alias stands without a port
	}
	var err error
	if t.revoked, err = readRevoked(h.revokedKeys); err != nil {
		return nil, err
	}
	if t.pins, err = parsePins(h.cfg.HostKeys); err != nil || !t.pins.empty() {
		return t, err
	}
	t.list, err = t.read()
	return t, err
}

// read reads the lists of known hosts again if one has changed. Only a list that does
// not exist is empty; one that cannot be read may know or revoke the key.
func (t *trust) read() (knownList, error) {
	var files []string
	for _, f := range t.hop.knownHosts {
		if _, err := os.Stat(f); !isAbsent(err) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	list, err := t.hop.cfg.Shared.knownHosts(files)
	if err != nil {
		return nil, fmt.Errorf("the list of known hosts cannot be read: %w", err)
	}
	return list, nil
}

// isAbsent reports whether err says that there is no such file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// algorithms restricts the handshake to the kinds of key that are known of the
// host: a server offers one kind of its own choice, and a host known by its
// ed25519 key that shows its ecdsa key would look like an impostor.
func (t *trust) algorithms() []string {
	if !t.pins.empty() {
		return t.pins.algorithms()
	}
	return t.list.algorithms(t.name)
}

// check is the ssh.HostKeyCallback.
func (t *trust) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	t.shown = key
	if err := t.verdict(key); err != nil {
		return err
	}
	return t.sameAsFirst(key)
}

// sameAsFirst refuses a key that is known and is not the one of the first connection: another
// machine would get the rest of what was begun on the first one. Known keys of two machines under one
// address are left by a new installation, or belong to an address that moves.
func (t *trust) sameAsFirst(key ssh.PublicKey) error {
	bare := key
	if cert, ok := key.(*ssh.Certificate); ok {
		bare = cert.Key // the certificate may have been renewed
	}
	if t.hop.first.CompareAndSwap(nil, &bare) {
		return nil
	}
	first := *t.hop.first.Load()
	if sameKey(first, bare) {
		return nil
	}
	return t.fail(bare, fmt.Sprintf("the host showed the key %s, and when this run began it showed %s", describe(bare),
		describe(first)),
		"Both keys are known, and another machine may answer under this address now. Nothing more is done there. Find out "+
			"which machine it is: ssh-keygen -lf on its console shows its keys. Then run the same command again.")
}

// verdict says whether a key is known.
func (t *trust) verdict(key ssh.PublicKey) error {
	if l, ok := t.list.revocation(key); ok {
		return t.checkRevoked(key, l.where())
	}
	if where, ok := t.revoked.names(key); ok {
		return t.checkRevoked(key, where)
	}
	if !t.pins.empty() {
		if t.pins.allow(key) {
			t.vouched = "host_keys"
			return nil
		}
		return t.pinMismatch(key)
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		return t.checkCertificate(cert)
	}
	return t.judge(t.list, key)
}

// judge compares a key with what a list knows of the host.
func (t *trust) judge(list knownList, key ssh.PublicKey) error {
	known, portless := list.keys(t.name)
	authorities, unread := list.authorities(t.name), list.unread(t.name)
	same := slices.IndexFunc(known, func(l knownLine) bool { return sameKey(l.key, key) })
	switch {
	case same >= 0:
		t.vouched = known[same].where()
		return nil
	case len(known) > 0 && !portless:
		return t.changedKeyError(key, known)
	case len(authorities) > 0:
		// An impostor without a certificate would show a bare key.
		return t.fail(key, fmt.Sprintf("the host showed the key %s without a certificate, but is to be certified by %s (%s)",
			describe(key), describe(authorities[0].key), authorities[0].where()),
			"Give the host a certificate of that authority (HostCertificate in its sshd_config), or make its key known by a "+
				"line of its own. "+t.vouch(key))
	case len(unread) > 0:
		// The host is not new: another key may be known of it, or an authority.
		return t.fail(key, fmt.Sprintf("%s names this host and cannot be read: %v", unread[0].where(), unread[0].err),
			fmt.Sprintf("The host showed the key %s. Fix or remove that line. %s", describe(key), t.vouch(key)))
	case t.hop.policy == HostKeyAcceptNew:
		return t.accept(key)
	}
	return t.fail(key, fmt.Sprintf("the host key is not known: %s", describe(key)), t.acceptable(t.vouch(key)))
}

// checkCertificate checks a certificate: its authority, its names and its dates.
func (t *trust) checkCertificate(cert *ssh.Certificate) error {
	authorities := t.list.authorities(t.name)
	authority := slices.IndexFunc(authorities, func(l knownLine) bool { return sameKey(l.key, cert.SignatureKey) })
	if authority < 0 {
		return t.checkUncertified(cert)
	}
	name, _, err := net.SplitHostPort(t.name)
	if err == nil && cert.CertType != ssh.HostCert {
		err = errors.New("it is a certificate for users")
	}
	if err == nil {
		err = (&ssh.CertChecker{}).CheckCert(canonicalHost(name), cert)
	}
	if err != nil {
		return t.fail(cert, fmt.Sprintf("the host's certificate %s is refused: %v", describe(cert), err),
			"Renew the certificate on the host. `ssh-keygen -Lf` shows its names and dates; the clock of this machine counts "+
				"too.")
	}
	t.vouched = "authority in " + authorities[authority].where()
	return nil
}

// checkUncertified checks the key in a certificate whose authority is not known. As with
// ssh, such a certificate counts for nothing, and the host has proved that it has the key.
func (t *trust) checkUncertified(cert *ssh.Certificate) error {
	known, _ := t.list.keys(t.name)
	same := slices.IndexFunc(known, func(l knownLine) bool { return sameKey(l.key, cert.Key) })
	if same >= 0 {
		t.vouched = known[same].where()
		return nil
	}
	problem := fmt.Sprintf("the host showed the key %s with a certificate of an authority that is not known: %s",
		describe(cert.Key), describe(cert.SignatureKey))
	return t.fail(cert.Key, problem,
		t.vouch(cert.Key)+"\n\nor, if the authority is yours, add this line to that known_hosts file:\n\n    "+
			"@cert-authority "+recordLine(t.name, cert.SignatureKey))
}

func (t *trust) checkRevoked(key ssh.PublicKey, where string) error {
	return t.fail(key, fmt.Sprintf("the host key %s is marked as revoked in %s", describe(key), where),
		"Somebody withdrew this key. Do not go on until the host has a new one.")
}

func (t *trust) fail(key ssh.PublicKey, problem, advice string) error {
	e := &HostKeyError{Host: knownName(t.name), Problem: problem, Advice: advice}
	if key != nil {
		e.Fingerprint = ssh.FingerprintSHA256(key)
	}
	return e
}

// vouch says how to make a key known, with the exact lines. They are indented, because
// Terraform wraps all other lines.
func (t *trust) vouch(key ssh.PublicKey) string {
	file, state := "~/.ssh/known_hosts", ""
	if len(t.hop.knownHosts) > 0 {
		file = t.hop.knownHosts[0]
		if _, err := os.Stat(file); isAbsent(err) {
			state = ", which does not exist yet"
		}
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	where := "the host's configuration"
	if t.hop.jump {
		where = "the object of this jump host in jump_hosts"
	}
	return fmt.Sprintf("Compare the fingerprint with what `ssh-keygen -lf /etc/ssh/ssh_host_%s_key.pub` prints on the "+
		"host's own console. "+
		"If they are equal, either add this line to %s%s:\n\n    %s\n\nor pin the key in %s:\n\n    "+
		"host_keys = [%q]",
		fileKind(key.Type()), file, state, recordLine(t.name, key), where, line)
}

// acceptable adds the policy that would have taken the key, for a host that is new.
func (t *trust) acceptable(advice string) string {
	if t.hop.policy == HostKeyAcceptNew {
		return advice
	}
	return advice + "\n\nor set host_key_policy = \"accept-new\" to accept the first key that a new host shows."
}

func (t *trust) pinMismatch(key ssh.PublicKey) error {
	var want []string
	for _, k := range t.pins.keys {
		want = append(want, describe(k))
	}
	want = append(want, t.pins.fingerprints...)
	return t.fail(key, fmt.Sprintf("the host showed the key %s, but is pinned to %s", describe(key),
		strings.Join(want, ", ")),
		"Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which before you change host_keys: credentials sent to an impostor are lost. "+
			"A fingerprint pins one key, and a host has one of each kind; pin the one of kind "+key.Type()+
			" if the host is the right one.")
}

func (t *trust) changedKeyError(key ssh.PublicKey, want []knownLine) error {
	var known []string
	for _, k := range want {
		known = append(known, fmt.Sprintf("%s (%s)", describe(k.key), k.where()))
	}
	return t.fail(key, fmt.Sprintf("the host key has changed: the host showed %s, known is %s", describe(key),
		strings.Join(known, ", ")),
		fmt.Sprintf("Either the host was installed anew or given other keys, or another machine answers under its address. "+
			"Find out which. If the new key is right, remove the old one with:\n\n    ssh-keygen -R %s -f %s\n\nand make the "+
			"new one known. %s",
			quoteHost(knownName(t.name)), want[0].file, t.vouch(key)))
}

// noCommonKey explains a handshake in which the host has no key of a kind that
// is known of it.
func (t *trust) noCommonKey(err *ssh.AlgorithmNegotiationError) error {
	where := "host_keys"
	if t.pins.empty() {
		where = strings.Join(t.hop.knownHosts, ", ")
	}
	return t.fail(nil, fmt.Sprintf("the host has no key of a kind that is known of it: known are %s, the host offers %s",
		strings.Join(t.algorithms(), ", "), strings.Join(err.RequestedAlgorithms, ", ")),
		fmt.Sprintf("The host lost the key that %s names, or was installed anew. Look at it with `ssh-keyscan %s` from a "+
			"network you trust, and make one of its keys known.", where, t.hop.host))
}

// listAdvice helps where what says which keys are known, or revoked, was not understood.
func listAdvice(err error) string {
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return fmt.Sprintf("Make %s a file that this user can read, or name another file.", unread.Path)
	case errors.Is(err, errKRL):
		return "Make the list anew with ssh-keygen -k, or name another one."
	}
	return "Fix or remove the line that is named."
}

// recording serialises writers of record files within this process.
var recording sync.Mutex

// accept records a new host's key, and refuses the host if that fails: a key
// that is not recorded would be new again next time, whoever shows it.
func (t *trust) accept(key ssh.PublicKey) error {
	recording.Lock()
	defer recording.Unlock()
	// Another connection may have recorded a key of this host since the list was read.
	list, err := t.read()
	if err != nil {
		return t.fail(key, err.Error(), listAdvice(err))
	}
	if known, portless := list.keys(t.name); len(known) > 0 && !portless {
		return t.judge(list, key)
	}
	if err := appendLine(t.hop.record, recordLine(t.name, key)); err != nil {
		return t.fail(key, fmt.Sprintf("the new host key %s cannot be recorded: %v", describe(key), err),
			"accept-new needs a file it can write; check its directory and permissions.")
	}
	t.vouched = "recorded now in " + t.hop.record
	return nil
}

// recordLine is the line of known_hosts for the key of host:port.
func recordLine(address string, key ssh.PublicKey) string {
	return knownName(address) + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// appendLine adds a line of its own to a file, also to one whose last line has no end.
func appendLine(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
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
