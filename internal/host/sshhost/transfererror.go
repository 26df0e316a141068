package sshhost

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

var hexSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// notReadable is the status of installScript where root cannot read what the user has
// staged: homes on NFS with root_squash.
const notReadable = 72

// rootNeedsToRead is the advice where root can read neither.
const rootNeedsToRead = "The user stages a file in the home directory, or else in " + awayDir + ", and root copies " +
	"it to its place. Root must be able to read one of them. A home directory on NFS with root_squash hides its " +
	"files from root."

var errNoSpace = errors.New("no space left on the host")

// transferError is the error for a file that a host that answers did not take
// or give.
func (h *Host) transferError(op, name string, err error) *host.TransferError {
	e := &host.TransferError{Host: h.name, Op: op, Path: name, Err: err}
	text := err.Error()
	var exit *host.ExitError
	if errors.As(err, &exit) {
		text = exit.Stderr
		// The script's own sentence comes last, after the tool's.
		lines := strings.Split(strings.TrimSpace(text), "\n")
		e.Err = &scriptError{lines[len(lines)-1], exit}
		if exit.Status == notReadable {
			e.Advice = rootNeedsToRead
		}
	}
	switch {
	case errors.Is(err, errNoise):
		e.Advice = fmt.Sprintf("A start-up file of the user %s on the host, such as ~/.bashrc or ~/.zshenv, prints "+
			"something in every session. "+
			"Let it print only in interactive sessions: put `case $- in *i*) ;; *) return ;; esac` at its beginning. Or use "+
			"`Subsystem sftp internal-sftp` in sshd_config.", h.target().User)
	case errors.Is(err, errNoSpace) || strings.Contains(text, "No space left") || strings.Contains(text, "quota exceeded"):
		e.Advice = "The file system is full. An upload needs its size in the home directory and again at its place."
		if !errors.Is(err, errNoSpace) {
			e.Err = fmt.Errorf("%w: %w", errNoSpace, e.Err)
		}
	case strings.Contains(text, "Read-only file system"):
		e.Advice = "The file system is read-only, as the system directories of an appliance are."
	case strings.HasSuffix(strings.TrimSpace(text), " is a directory"):
		e.Advice = "A directory is at this path. Look what is in it and move it away, then apply again."
	case strings.Contains(text, "SHA-256"):
		e.Advice = "The file changed on its way, or on this machine since it was hashed. Nothing was put in place."
	}
	return e
}

// scriptError is a script's failure told by its own last words.
type scriptError struct {
	words string
	exit  *host.ExitError
}

func (s *scriptError) Error() string { return s.words }
func (s *scriptError) Unwrap() error { return s.exit }
