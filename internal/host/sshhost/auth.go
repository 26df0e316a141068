package sshhost

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// AuthError says that the host would not let the user in, with everything that
// was tried.
type AuthError struct {
	User    string
	Offered []string // what the server accepts
	Tried   []string // in order, keys with fingerprint and source
	Notes   []string // what could not be tried, and why
}

func (e *AuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server rejected user %s; it accepts: %s; tried: %s", e.User, list(e.Offered), list(e.Tried))
	if len(e.Notes) > 0 {
		fmt.Fprintf(&b, "; not tried: %s", strings.Join(e.Notes, "; "))
	}
	return b.String()
}

func list(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	return strings.Join(items, ", ")
}

// advice says what to do, from what was missing.
func (e *AuthError) advice() string {
	switch {
	case len(e.Tried) == 0:
		return "There is no key or password to try. Configure private_key_file, start an agent (SSH_AUTH_SOCK) and ssh-add " +
			"a key, or set password. " +
			"Terraform does not ask questions, so a key with a passphrase needs the agent or the passphrase."
	case !slices.Contains(e.Offered, "publickey") && len(e.Offered) > 0:
		return "The server takes no keys; it wants one of: " + strings.Join(e.Offered, ", ") + "."
	default:
		return "Check that the user is right and that one of the keys tried is in the user's authorized_keys on the host; " +
			"sshd's log there names the reason. Note that `ssh` may use a key or user from elsewhere: `ssh -v` shows which."
	}
}

// login answers the server's requests for authentication, one method at a time.
type login struct {
	hop     *hop
	ring    *keyring
	wire    *wire
	next    int
	closed  bool // the connection was lost before the server answered the last attempt
	spent   bool // the password was sent: it is never sent twice
	offered []string
	tried   []string
	notes   []string
}

// choose is the ssh.ClientAuthCallback: it offers keys one by one, then the password. A
// callback, unlike a list of methods, learns what the server accepts and which key was
// refused.
func (l *login) choose(ctx *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	if l.wire.failed.Load() {
		// The library goes on to the next method after a connection is lost.
		l.closed = true
		return nil, l.failure()
	}
	for _, m := range ctx.AllowedMethods {
		if !slices.Contains(l.offered, m) {
			l.offered = append(l.offered, m)
		}
	}
	allowed := func(m string) bool { return slices.Contains(ctx.AllowedMethods, m) }
	if l.next < len(l.ring.offer) && allowed("publickey") {
		id := l.ring.offer[l.next]
		l.next++
		l.tried = append(l.tried, "key "+id.String())
		return ssh.PublicKeys(id.signer), nil
	}
	if l.hop.cfg.Password != "" && !l.spent {
		if allowed("password") {
			l.spent = true
			l.tried = append(l.tried, "password")
			return ssh.Password(l.hop.cfg.Password), nil
		}
		if allowed("keyboard-interactive") && !slices.Contains(l.tried, "keyboard-interactive") {
			l.tried = append(l.tried, "keyboard-interactive")
			return ssh.KeyboardInteractive(l.answer), nil
		}
	}
	return nil, l.failure()
}

var errNotOurs = errors.New("the server asks for something else than one password")

// answer gives the password to a server that asks for exactly one hidden thing,
// once. A second question means a wrong password or a second factor.
func (l *login) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	switch {
	case len(questions) == 0:
		return nil, nil
	case len(questions) > 1 || echos[0] || l.spent:
		l.notes = append(l.notes, fmt.Sprintf("keyboard-interactive: the server asked %q, and Terraform can only answer one "+
			"hidden question, with the password", questions))
		return nil, errNotOurs
	}
	l.spent = true
	return []string{l.hop.cfg.Password}, nil
}

// acceptedBy is what let the user in: the last thing that was tried.
func (l *login) acceptedBy() string {
	if len(l.tried) == 0 {
		return "nothing: the server asks for no key or password"
	}
	return l.tried[len(l.tried)-1]
}

func (l *login) failure() *AuthError {
	notes := slices.Concat(l.ring.notes, l.notes)
	if l.hop.cfg.Password == "" &&
		(slices.Contains(l.offered, "password") || slices.Contains(l.offered, "keyboard-interactive")) {
		notes = append(notes, "password: none is configured")
	}
	return &AuthError{User: l.hop.user, Offered: l.offered, Tried: l.tried, Notes: notes}
}
