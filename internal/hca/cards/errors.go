package cards

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Fact is a label and a value at the end of an error's text.
type Fact [2]string

// Error is a failure of an operation on a card. Its paragraphs are those of a
// diagnostic; Err is what caused it, if anything did.
type Error struct {
	Summary string // "Unable to burn firmware on intel9/0000:01:00.0"
	Heading string // title of the diagnostic; set if it is not known whether the operation failed
	What    string // what happened
	Means   string // what it means for the card
	Check   string // what to check or to do
	Facts   []Fact
	Err     error
}

// Error gives one line.
func (e *Error) Error() string {
	s := e.Summary
	if e.What != "" {
		s += ": " + e.What
	}
	if e.Err != nil {
		s = strings.TrimSuffix(s, ".") + ": " + e.Err.Error()
	}
	return s
}

// Title is the summary of a diagnostic, or empty if that is the operation's.
func (e *Error) Title() string { return e.Heading }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Explain gives the detail of a diagnostic: the paragraphs, then the facts.
func (e *Error) Explain() string {
	var parts []string
	for _, p := range []string{e.What, e.Means, e.Check} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	var lines []string
	for _, f := range e.Facts {
		if v := strings.TrimSpace(f[1]); v != "" {
			lines = append(lines, f[0]+": "+v)
		}
	}
	if e.Err != nil {
		lines = append(lines, "Error: "+e.Err.Error())
	}
	if len(lines) > 0 {
		parts = append(parts, strings.Join(lines, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// WithExit adds the output and status of the command that caused the error.
func (e *Error) WithExit() *Error {
	if _, exit := Exit(e.Err); exit != nil {
		e.Facts = append(e.Facts, Fact{"Command", exit.Command}, Fact{"Exit status", strconv.Itoa(exit.Status)},
			Fact{"Stdout", Tail(exit.Stdout, 2000)}, Fact{"Stderr", Tail(exit.Stderr, 2000)})
	}
	return e
}

// WithBackup adds the directory of the backup to an error about a card.
func WithBackup(err error, path string) error {
	var e *Error
	if errors.As(err, &e) && path != "" {
		e.Facts = append(e.Facts, Fact{"Backup", path})
	}
	return err
}

// TransferAdvice says what to look for after a file could not be stored or moved: what
// the transport says, if it knows.
func TransferAdvice(err error, otherwise string) string {
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		return "The connection to the host broke, or could not be made. Run the same command again when the host answers."
	}
	var move *host.TransferError
	if errors.As(err, &move) && move.Advice != "" {
		return move.Advice
	}
	return otherwise
}

// Tail gives the end of a text, in bytes.
func Tail(s string, most int) string {
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// Exit gives the status of a command that ran and failed.
func Exit(err error) (int, *host.ExitError) {
	var exit *host.ExitError
	if errors.As(err, &exit) {
		return exit.Status, exit
	}
	return 0, nil
}

// MayPass reports whether another try may succeed.
func MayPass(err error) bool {
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		return !lost.Lasting()
	}
	var output *host.OutputError
	return errors.As(err, &output) // an answer cut by a broken connection
}
