package middleware

import (
	"errors"
	"strings"
)

// ValidationError is one line of a refused call.
type ValidationError struct {
	Errno     string // EINVAL, ENOENT, EEXIST
	Attribute string // data.mtu, interface_update.mtu; empty prints as ALL
	Message   string
}

// ValidationErrors is a call refused because of its arguments. midclt prints
// one line per error and nothing else.
type ValidationErrors []ValidationError

func (v ValidationErrors) Error() string {
	lines := make([]string, 0, len(v))
	for _, e := range v {
		attr := e.Attribute
		if attr == "" {
			attr = "ALL"
		}
		lines = append(lines, "["+e.Errno+"] "+attr+": "+e.Message)
	}
	return strings.Join(lines, "\n")
}

// CallError is a failure that the server raises with an errno name; midclt
// follows it with a Python traceback.
type CallError struct{ Errno, Message string }

func (e *CallError) Error() string { return "[" + e.Errno + "] " + e.Message }

// ErrNoMethod is the answer to a method that does not exist.
var ErrNoMethod = errors.New("Method does not exist") //nolint:staticcheck // the literal text of midclt

// ErrMatchNotFound is what {"get": true} without a match raises.
var ErrMatchNotFound = errors.New("MatchNotFound()") // the literal text of midclt

// errorText renders an error the way midclt prints it on stderr.
func errorText(err error) string {
	var (
		verrs ValidationErrors
		call  *CallError
	)
	switch {
	case errors.As(err, &verrs), errors.Is(err, ErrNoMethod):
		return err.Error() + "\n"
	case errors.As(err, &call):
		return call.Error() + "\n" + traceback + "middlewared.service_exception.CallError: " + call.Error() + "\n\n"
	default:
		return err.Error() + "\n" + "Traceback (most recent call last):\n  ...\n\n"
	}
}

// The body of a traceback differs from release to release; readers must stop
// at its first line.
const traceback = `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/middlewared/api/base/server/ws_handler/rpc.py", line 361, in process_method_call
    ...
`

func invalidField(attr, msg string) ValidationErrors {
	return ValidationErrors{{Errno: "EINVAL", Attribute: attr, Message: msg}}
}

func notFound(msg string) ValidationErrors {
	return ValidationErrors{{Errno: "ENOENT", Message: msg}}
}
