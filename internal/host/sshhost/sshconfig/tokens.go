package sshconfig

import (
	"crypto/sha1" //nolint:gosec // %C knows no other hash
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// expand replaces ~, ${VARIABLE} and the % tokens that a value may hold before a
// connection exists. ssh refuses a token that it does not know, and so does this.
func (u *userConfig) expand(text string, h *Hop) (string, error) {
	text = os.Expand(tilde(u.home, text), func(name string) string {
		// Only ${NAME} is a variable to ssh; os.Expand also offers $NAME.
		if !strings.Contains(text, "${"+name+"}") {
			return "$" + name
		}
		return os.Getenv(name)
	})
	return u.tokens(text, h)
}

func (u *userConfig) tokens(text string, h *Hop) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if rest == "" {
			return "", fmt.Errorf("%w: %q ends with %%", errNoToken, text)
		}
		value, known := u.token(rest[0], h)
		if !known {
			return "", fmt.Errorf("%w: %%%c", errNoToken, rest[0])
		}
		b.WriteString(value)
		text = rest[1:]
	}
}

func (u *userConfig) token(t byte, h *Hop) (value string, known bool) {
	switch t {
	case '%':
		return "%", true
	case 'h':
		return h.Host, true
	// As it was asked for, before HostName; %h is after.
	case 'n':
		return h.Alias, true
	case 'k':
		if h.Trust.Alias != "" {
			return h.Trust.Alias, true
		}
		return h.Alias, true
	case 'p':
		return strconv.Itoa(h.Port), true
	case 'r':
		return h.User, true
	case 'j':
		jump, _ := h.set.first("ProxyJump")
		return jumpHost(jump), true
	}
	return u.localToken(t, h)
}

// localToken is a token of this machine.
func (u *userConfig) localToken(t byte, h *Hop) (value string, known bool) {
	switch name, _ := os.Hostname(); t {
	case 'd':
		return u.home, true
	case 'u':
		return u.local, true
	case 'i':
		if me, err := user.Current(); err == nil {
			return me.Uid, true
		}
	case 'l':
		return name, true
	case 'L':
		name, _, _ = strings.Cut(name, ".")
		return name, true
	// As OpenSSH makes it: SHA-1 of %l%h%p%r%j (ssh_config(5)). It names files, nothing relies on its
	// strength.
	case 'C':
		jump, _ := h.set.first("ProxyJump")
		all := name + h.Host + strconv.Itoa(h.Port) + h.User + jumpHost(jump)
		sum := sha1.Sum([]byte(all)) //nolint:gosec // see the import
		return hex.EncodeToString(sum[:]), true
	}
	return "", false
}

// jumpHost is the host of the last hop in a ProxyJump, as %j names it.
func jumpHost(spec string) string {
	parts := strings.Split(spec, ",")
	j, err := ParseJump(strings.TrimSpace(parts[len(parts)-1]))
	if err != nil || j.Address == none {
		return ""
	}
	return j.Address
}
