package cards

import (
	"errors"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Error is a failure of an operation on a card.
type Error = explain.Failure

// Fact is a label and a value at the end of an error's text.
type Fact = explain.Fact

// WithExit adds the output and status of the command that caused the error.
func WithExit(e *Error) *Error {
	if _, exit := Exit(e.Err); exit != nil {
		// The ends of both streams: tools of this family print their errors on standard output.
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
