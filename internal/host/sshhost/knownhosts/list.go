package knownhosts

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // hashed host names know no other hash
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// The markers that a line of known_hosts may begin with.
const (
	markAuthority = "cert-authority"
	markRevoked   = "revoked"
	// markUnread is our own, for a line whose key was not understood. No file has a marker
	// with a space.
	markUnread = "not read"
)

// knownLine is one line of a known_hosts file.
type knownLine struct {
	mark  string
	names []string // canonical patterns, or one hashed name
	key   ssh.PublicKey
	file  string
	line  int
	err   error // why key is nil: of markUnread only
}

func (l knownLine) where() string { return fmt.Sprintf("%s:%d", l.file, l.line) }

// knownList is what some known_hosts files say.
type knownList []knownLine

// maxKnownHosts bounds one file: a list of a hundred thousand hosts is smaller.
const maxKnownHosts = 64 << 20

// readKnownHosts reads files that exist.
func readKnownHosts(files []string) (knownList, error) {
	var list knownList
	for _, name := range files {
		data, err := ReadFile(name, maxKnownHosts)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		// The usual 64 KiB would end the whole list at one long line, and so hide the keys after it.
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			l, err := parseKnownLine(lines.Bytes())
			if errors.Is(err, io.EOF) {
				continue // empty, or a comment
			}
			l.file, l.line = name, n
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.where(), err)
			}
			list = append(list, l)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return list, nil
}

// parseKnownLine reads one line. As with ssh, a line that is not understood, such as one
// with a type of key of tomorrow, hides no other line. One that withdraws a key is an error:
// the key would pass. io.EOF is a line that says nothing.
func parseKnownLine(text []byte) (l knownLine, err error) {
	var names []string
	l.mark, names, l.key, _, _, err = ssh.ParseKnownHosts(text)
	if err != nil {
		fields := strings.FieldsFunc(string(text), func(r rune) bool { return r == ' ' || r == '\t' })
		switch {
		case errors.Is(err, io.EOF):
			return l, err
		case strings.HasPrefix(fields[0], "@"+markRevoked) && fields[0] != "@"+markRevoked:
			return l, fmt.Errorf("%q is no marker: a blank is missing behind @%s, so that no key is withdrawn", fields[0],
				markRevoked)
		case fields[0] == "@"+markRevoked:
			return l, fmt.Errorf("the line withdraws a key that is not understood: %w", err)
		}
		// Behind a marker come the names.
		if strings.HasPrefix(fields[0], "@") {
			fields = fields[1:]
		}
		l, names = knownLine{mark: markUnread, err: err}, strings.Split(fields[0], ",")
	}
	for _, pattern := range names {
		l.names = append(l.names, canonicalPattern(pattern))
	}
	return l, nil
}

// ReadFile reads a whole file of at most limit bytes; it may be a device or a pipe.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", limit)}
	}
	return data, err
}

// canonicalHost writes a host name or address in the one way in which it is
// compared. Names are the same in upper and lower case, and with the dot of the
// root; addresses of IPv6 can be written in many ways.
func canonicalHost(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		name = name[1 : len(name)-1]
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.String()
	}
	if len(name) > 1 {
		name = strings.TrimSuffix(name, ".")
	}
	return name
}

// knownName is how known_hosts names host:port: the host alone on port 22, and
// [host]:port otherwise.
func knownName(address string) string {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return canonicalHost(address)
	}
	if port == "" || port == "22" {
		return canonicalHost(name)
	}
	return "[" + canonicalHost(name) + "]:" + port
}

func canonicalPattern(pattern string) string {
	if strings.HasPrefix(pattern, "|") {
		return pattern // hashed: case counts
	}
	rest, negated := strings.CutPrefix(pattern, "!")
	if strings.HasPrefix(rest, "[") {
		rest = knownName(rest)
	} else {
		rest = canonicalHost(rest)
	}
	if negated {
		return "!" + rest
	}
	return rest
}

// matches reports whether the line is about one of the names.
func (l knownLine) matches(names ...string) bool {
	found := false
	for _, pattern := range l.names {
		if bare, negated := strings.CutPrefix(pattern, "!"); negated {
			if slices.ContainsFunc(names, func(n string) bool { return like(bare, n) }) {
				return false
			}
			continue
		}
		found = found || slices.ContainsFunc(names, func(n string) bool { return like(pattern, n) })
	}
	return found
}

// like compares a name with a pattern of ssh: * and ? stand for anything and for
// one character, and |1|salt|hash for one name that is not told.
func like(pattern, name string) bool {
	if strings.HasPrefix(pattern, "|") {
		return hashes(pattern, name)
	}
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == name
	}
	p, n, star, mark := 0, 0, -1, 0
	// One place to go back to is enough for *, and keeps a pattern of many of them linear where a recursion
	// would take time without bound: the file may come from a repository.
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func hashes(pattern, name string) bool {
	part := strings.Split(pattern, "|") // "", "1", salt, hash
	if len(part) != 4 || part[1] != "1" {
		return false
	}
	salt, err := base64.StdEncoding.DecodeString(part[2])
	if err != nil {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(part[3])
	if err != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt) // the format knows no other hash
	_, _ = mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), want)
}

// keys returns the lines with keys of the host at address itself, and whether they
// stand under its name without the port: ssh takes such a key too, but its absence
// says nothing about this port.
func (d knownList) keys(address string) (lines []knownLine, portless bool) {
	if lines = d.about("", knownName(address), address); len(lines) > 0 {
		return lines, false
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, false
	}
	lines = d.about("", canonicalHost(name), name)
	return lines, len(lines) > 0
}

// authorities returns the lines with authorities that may vouch for the host.
func (d knownList) authorities(address string) []knownLine {
	return d.with(markAuthority, address)
}

// unread returns the lines that name the host and were not understood.
func (d knownList) unread(address string) []knownLine { return d.with(markUnread, address) }

// with returns the lines with a mark that name the host, with its port or without.
func (d knownList) with(mark, address string) []knownLine {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		name = address
	}
	return d.about(mark, knownName(address), canonicalHost(name))
}

// about returns the lines with a mark that match a name. The name as it was written
// counts for hashed entries, which other programs make without lower case.
func (d knownList) about(mark, name, written string) (out []knownLine) {
	names := []string{name}
	if host, port, err := net.SplitHostPort(written); err == nil {
		if written = "[" + host + "]:" + port; port == "22" {
			written = host
		}
	}
	if written != name {
		names = append(names, written)
	}
	for _, l := range d {
		if l.mark == mark && l.matches(names...) {
			out = append(out, l)
		}
	}
	return out
}

// revocation returns the line that revokes a key, whichever host it stands for.
func (d knownList) revocation(key ssh.PublicKey) (knownLine, bool) {
	for _, l := range d {
		if l.mark != markRevoked {
			continue
		}
		for _, part := range partsOf(key) {
			if sameKey(l.key, part) {
				return l, true
			}
		}
	}
	return knownLine{}, false
}

// partsOf returns what has to be good for a key to be good: of a certificate, also
// the key that it certifies and that of its authority.
func partsOf(key ssh.PublicKey) []ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return []ssh.PublicKey{cert, cert.Key, cert.SignatureKey}
	}
	return []ssh.PublicKey{key}
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// signatureAlgorithms are the ones that a host with a key of this type may use.
// ssh-rsa names a kind of key and its signature with SHA-1. The same key signs with SHA-2 (RFC 8332),
// which OpenSSH has demanded by default since 8.8.
func signatureAlgorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	}
	return []string{keyType}
}

// algorithms returns the signature algorithms to offer to the host at address, the
// ones of keys that are known of it first; nil is any.
func (d knownList) algorithms(address string) (out []string) {
	known, portless := d.keys(address)
	vouched := len(d.authorities(address)) > 0
	if len(known) == 0 && !vouched {
		return nil
	}
	add := func(algorithms ...string) {
		for _, a := range algorithms {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	supported := ssh.SupportedAlgorithms().HostKeys
	// An authority vouches for certificates only, so those come before bare keys.
	if vouched {
		add(slices.DeleteFunc(slices.Clone(supported), func(a string) bool { return !strings.Contains(a, "-cert-") })...)
	}
	for _, l := range known {
		add(signatureAlgorithms(l.key.Type())...)
	}
	// Other kinds last: one host at another port may have any.
	if len(known) == 0 || portless {
		add(supported...)
	}
	return out
}
