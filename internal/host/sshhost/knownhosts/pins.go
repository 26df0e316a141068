package knownhosts

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// pins are the keys a host is pinned to, as whole keys or fingerprints.
type pins struct {
	keys         []ssh.PublicKey
	fingerprints []string
}

// CheckPins refuses a line that is neither a public key nor a fingerprint.
func CheckPins(lines []string) error {
	_, err := parsePins(lines)
	return err
}

func parsePins(lines []string) (pins, error) {
	var p pins
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "SHA256:") {
			// ssh-keygen leaves the padding of base64 out; other programs print it.
			p.fingerprints = append(p.fingerprints, strings.TrimRight(line, "="))
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return pins{}, fmt.Errorf("host key %q is neither a public key (ssh-ed25519 AAAA…) nor a fingerprint (SHA256:…)",
				line)
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

func (p pins) empty() bool { return len(p.keys) == 0 && len(p.fingerprints) == 0 }

func (p pins) allow(key ssh.PublicKey) bool {
	if cert, ok := key.(*ssh.Certificate); ok && p.allow(cert.Key) {
		return true // the host proved that it has the key
	}
	return slices.Contains(p.fingerprints, ssh.FingerprintSHA256(key)) ||
		slices.ContainsFunc(p.keys, func(k ssh.PublicKey) bool { return sameKey(k, key) })
}

// algorithms returns the signature algorithms of the pinned keys, or nil, which
// is any, if a fingerprint hides the type of its key.
func (p pins) algorithms() []string {
	// Even beside whole keys: to ask for their kinds only would hide the one with the fingerprint.
	if len(p.fingerprints) > 0 {
		return nil
	}
	var out []string
	for _, k := range p.keys {
		out = append(out, signatureAlgorithms(k.Type())...)
	}
	return out
}
