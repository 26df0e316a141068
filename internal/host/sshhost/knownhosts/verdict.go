package knownhosts

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Check is the ssh.HostKeyCallback.
func (t *Trust) Check(_ string, _ net.Addr, key ssh.PublicKey) error {
	t.Shown = key
	if err := t.verdict(key); err != nil {
		return err
	}
	return t.sameAsFirst(key)
}

// sameAsFirst refuses a key that is known and is not the one of the first connection: another
// machine would get the rest of what was begun on the first one. Known keys of two machines under one
// address are left by a new installation, or belong to an address that moves.
func (t *Trust) sameAsFirst(key ssh.PublicKey) error {
	bare := key
	if cert, ok := key.(*ssh.Certificate); ok {
		bare = cert.Key // the certificate may have been renewed
	}
	if t.host.first.CompareAndSwap(nil, &bare) {
		return nil
	}
	first := *t.host.first.Load()
	if sameKey(first, bare) {
		return nil
	}
	return refusal(fmt.Sprintf("the host showed the key %s, and when this run began it showed %s", Describe(bare),
		Describe(first)),
		"Both keys are known, and another machine may answer under this address now. Nothing more is done there. Find out "+
			"which machine it is: ssh-keygen -lf on its console shows its keys. Then run the same command again.")
}

// verdict says whether a key is known.
// What is revoked comes first: neither a pin nor an authority makes a withdrawn key good.
func (t *Trust) verdict(key ssh.PublicKey) error {
	if l, ok := t.list.revocation(key); ok {
		return t.checkRevoked(key, l.where())
	}
	if where, ok := t.revoked.names(key); ok {
		return t.checkRevoked(key, where)
	}
	if !t.pins.empty() {
		if t.pins.allow(key) {
			t.Vouched = "host_keys"
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
func (t *Trust) judge(list knownList, key ssh.PublicKey) error {
	known, portless := list.keys(t.name)
	authorities, unread := list.authorities(t.name), list.unread(t.name)
	same := slices.IndexFunc(known, func(l knownLine) bool { return sameKey(l.key, key) })
	switch {
	case same >= 0:
		t.Vouched = known[same].where()
		return nil
	// Before the authorities: a key that differs from a known one is refused under every policy.
	case len(known) > 0 && !portless:
		return t.changedKeyError(key, known)
	// Before accept-new: a host that has an authority is not new.
	case len(authorities) > 0:
		// An impostor without a certificate would show a bare key.
		return refusal(fmt.Sprintf("the host showed the key %s without a certificate, but is to be certified by %s (%s)",
			Describe(key), Describe(authorities[0].key), authorities[0].where()),
			"Give the host a certificate of that authority (HostCertificate in its sshd_config), or make its key known by a "+
				"line of its own. "+t.vouch(key))
	case len(unread) > 0:
		// The host is not new: another key may be known of it, or an authority.
		return refusal(fmt.Sprintf("%s names this host and cannot be read: %v", unread[0].where(), unread[0].err),
			fmt.Sprintf("The host showed the key %s. Fix or remove that line. %s", Describe(key), t.vouch(key)))
	case t.host.Policy == AcceptNew:
		return t.accept(key)
	}
	return refusal(fmt.Sprintf("the host key is not known: %s", Describe(key)), t.acceptable(t.vouch(key)))
}

// checkCertificate checks a certificate: its authority, its names and its dates.
func (t *Trust) checkCertificate(cert *ssh.Certificate) error {
	authorities := t.list.authorities(t.name)
	authority := slices.IndexFunc(authorities, func(l knownLine) bool { return sameKey(l.key, cert.SignatureKey) })
	if authority < 0 {
		return t.checkUncertified(cert)
	}
	name, _, err := net.SplitHostPort(t.name)
	// A user's certificate of the same authority would let its owner pass for a host.
	if err == nil && cert.CertType != ssh.HostCert {
		err = errors.New("it is a certificate for users")
	}
	if err == nil {
		err = (&ssh.CertChecker{}).CheckCert(canonicalHost(name), cert)
	}
	if err != nil {
		return refusal(fmt.Sprintf("the host's certificate %s is refused: %v", Describe(cert), err),
			"Renew the certificate on the host. `ssh-keygen -Lf` shows its names and dates; the clock of this machine counts "+
				"too.")
	}
	t.Vouched = "authority in " + authorities[authority].where()
	return nil
}

// checkUncertified checks the key in a certificate whose authority is not known. As with
// ssh, such a certificate counts for nothing, and the host has proved that it has the key.
func (t *Trust) checkUncertified(cert *ssh.Certificate) error {
	known, _ := t.list.keys(t.name)
	same := slices.IndexFunc(known, func(l knownLine) bool { return sameKey(l.key, cert.Key) })
	if same >= 0 {
		t.Vouched = known[same].where()
		return nil
	}
	problem := fmt.Sprintf("the host showed the key %s with a certificate of an authority that is not known: %s",
		Describe(cert.Key), Describe(cert.SignatureKey))
	return refusal(problem,
		t.vouch(cert.Key)+"\n\nor, if the authority is yours, add this line to that known_hosts file:\n\n    "+
			"@cert-authority "+recordLine(t.name, cert.SignatureKey))
}

func (t *Trust) checkRevoked(key ssh.PublicKey, where string) error {
	return refusal(fmt.Sprintf("the host key %s is marked as revoked in %s", Describe(key), where),
		"Somebody withdrew this key. Do not go on until the host has a new one.")
}

// recording serialises writers of record files within this process.
var recording sync.Mutex

// accept records a new host's key, and refuses the host if that fails: a key
// that is not recorded would be new again next time, whoever shows it.
func (t *Trust) accept(key ssh.PublicKey) error {
	recording.Lock()
	defer recording.Unlock()
	// Another connection may have recorded a key of this host since the list was read.
	list, err := t.read()
	if err != nil {
		return refusal(err.Error(), ListAdvice(err))
	}
	// It may be another key than this: two connections may have met two machines.
	if known, portless := list.keys(t.name); len(known) > 0 && !portless {
		return t.judge(list, key)
	}
	if err := appendLine(t.host.Record, recordLine(t.name, key)); err != nil {
		return refusal(fmt.Sprintf("the new host key %s cannot be recorded: %v", Describe(key), err),
			"accept-new needs a file it can write; check its directory and permissions.")
	}
	t.Vouched = "recorded now in " + t.host.Record
	return nil
}
