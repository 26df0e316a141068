package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Error says that the host would not let the user in, with everything that
// was tried.
type Error struct {
	User    string
	Offered []string // what the server accepts
	Tried   []string // in order, keys with fingerprint and source
	Notes   []string // what could not be tried, and why
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server rejected user %s; it accepts: %s; tried: %s", e.User, List(e.Offered), List(e.Tried))
	if len(e.Notes) > 0 {
		fmt.Fprintf(&b, "; not tried: %s", strings.Join(e.Notes, "; "))
	}
	return b.String()
}

// List is how messages name what was tried.
func List(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	return strings.Join(items, ", ")
}

// Advice says what to do, from what was missing.
func (e *Error) Advice() string {
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

// Login answers the server's requests for authentication, one method at a time.
type Login struct {
	Credentials *Credentials
	Ring        *Keyring
	Lost        func() bool // the connection is lost
	Closed      bool        // it was lost before the server answered the last attempt
	Spent       bool        // the password was sent: it is never sent twice

	next    int
	offered []string
	tried   []string
	notes   []string
}

// Choose is the ssh.ClientAuthCallback: it offers keys one by one, then the password. A
// callback, unlike a list of methods, learns what the server accepts and which key was
// refused.
func (l *Login) Choose(ctx *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	if l.Lost() {
		// The library goes on to the next method after a connection is lost.
		l.Closed = true
		return nil, l.Failure()
	}
	// What it accepts may change after a partial success, so that all of it is kept for the message.
	for _, m := range ctx.AllowedMethods {
		if !slices.Contains(l.offered, m) {
			l.offered = append(l.offered, m)
		}
	}
	allowed := func(m string) bool { return slices.Contains(ctx.AllowedMethods, m) }
	if l.next < len(l.Ring.offer) && allowed("publickey") {
		id := l.Ring.offer[l.next]
		l.next++
		l.tried = append(l.tried, "key "+id.String())
		return ssh.PublicKeys(id.signer), nil
	}
	if l.Credentials.Password != "" && !l.Spent {
		if allowed("password") {
			l.Spent = true
			l.tried = append(l.tried, "password")
			return ssh.Password(l.Credentials.Password), nil
		}
		// Many servers ask for a password only so (PAM). Spent is set by the answer: a server that asks
		// nothing has not seen it.
		if allowed("keyboard-interactive") && !slices.Contains(l.tried, "keyboard-interactive") {
			l.tried = append(l.tried, "keyboard-interactive")
			return ssh.KeyboardInteractive(l.answer), nil
		}
	}
	return nil, l.Failure()
}

var errNotOurs = errors.New("the server asks for something else than one password")

// answer gives the password to a server that asks for exactly one hidden thing,
// once. A second question means a wrong password or a second factor.
func (l *Login) answer(_, _ string, questions []string, echos []bool) ([]string, error) {
	switch {
	// Servers end the exchange with an empty question (RFC 4256, section 3.2).
	case len(questions) == 0:
		return nil, nil
	case len(questions) > 1 || echos[0] || l.Spent:
		l.notes = append(l.notes, fmt.Sprintf("keyboard-interactive: the server asked %q, and Terraform can only answer one "+
			"hidden question, with the password", questions))
		return nil, errNotOurs
	}
	l.Spent = true
	return []string{l.Credentials.Password}, nil
}

// AcceptedBy is what let the user in: the last thing that was tried.
func (l *Login) AcceptedBy() string {
	if len(l.tried) == 0 {
		return "nothing: the server asks for no key or password"
	}
	return l.tried[len(l.tried)-1]
}

// Failure is the error of a login that ended here.
func (l *Login) Failure() *Error {
	notes := slices.Concat(l.Ring.notes, l.notes)
	if l.Credentials.Password == "" &&
		(slices.Contains(l.offered, "password") || slices.Contains(l.offered, "keyboard-interactive")) {
		notes = append(notes, "password: none is configured")
	}
	return &Error{User: l.Credentials.User, Offered: l.offered, Tried: l.tried, Notes: notes}
}
