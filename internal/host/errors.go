package host

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// ExitError says that a command ran and failed. Only this kind can mean
// "the thing is not there".
type ExitError struct {
	Host    string
	Command string // quoted, redacted
	Status  int    // exit status; 128+n if ended by signal n
	Signal  string // without SIG, if the transport reported one
	Stdout  string
	Stderr  string
}

func (e *ExitError) Error() string {
	s := fmt.Sprintf("%s: command ended with status %d: %s", e.Host, e.Status, e.Command)
	if t := strings.TrimSpace(e.Stderr); t != "" {
		s += ": " + firstLine(t)
	}
	return s
}

// ScriptName is the name of the script in a Command of an error; empty if it is a program.
func ScriptName(command string) string {
	name, script := strings.CutPrefix(command, shellcmd.ScriptWord)
	if !script {
		return ""
	}
	if quoted, is := strings.CutPrefix(name, "'"); is {
		name, _, _ = strings.Cut(quoted, "'")
	} else {
		name, _, _ = strings.Cut(name, " ")
	}
	return name
}

// The steps at which a host can be out of reach.
const (
	OpKey          = "read the private key"    // on this machine: nothing was offered
	OpOffer        = "offer a key or password" // there was none
	OpConnect      = "connect"
	OpVerify       = "verify host key"
	OpAuthenticate = "authenticate"
	OpRun          = "run"
	OpUpload       = "upload"
	OpDownload     = "download"
)

// UnreachableError says that the host did not answer, or that the answer was
// lost. MayHaveRun is true if the command had been handed over: its outcome is
// then unknown and must be read back.
type UnreachableError struct {
	Host       string
	Address    string
	Op         string // one of the Op constants
	Command    string
	MayHaveRun bool
	Reading    bool   // the command changes nothing on the host
	Silent     bool   // nothing came until a limit ran out
	Limit      string // the time that ran out, as "command_timeout = 5s"; empty if none did
	Advice     string // what to check, one or more sentences
	Err        error
}

// Lasting reports whether another attempt fails as well until somebody repairs
// something: a key that is wrong or cannot be read, or a host key that is not known.
func (e *UnreachableError) Lasting() bool {
	return e.Op == OpKey || e.Op == OpOffer || e.Op == OpVerify || e.Op == OpAuthenticate
}

func (e *UnreachableError) Error() string {
	if e.Limit != "" {
		return fmt.Sprintf("%s (%s): did not end within %s", e.Host, e.Address, e.Limit)
	}
	return fmt.Sprintf("%s (%s): unable to %s: %v", e.Host, e.Address, e.Op, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// OutputError says that a command ran and its output was not understood.
type OutputError struct {
	Host    string
	Command string
	Problem string // what was expected and what was there, with the line number
	Output  string
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("%s: output of %s not understood: %s", e.Host, e.Command, e.Problem)
}

// PrivilegeError says that the host answered and that root was refused.
type PrivilegeError struct {
	Host   string
	User   string
	Reason string // one of the Reason constants
	Advice string // what to do about it, one or more sentences
	Stderr string // what sudo said, redacted
}

// Why root was refused.
const (
	ReasonNoSudo         = "sudo not installed"
	ReasonPasswordNeeded = "password needed"
	ReasonWrongPassword  = "wrong password"
	ReasonNotInSudoers   = "not in sudoers"
	ReasonRequireTTY     = "requiretty"
	ReasonRefused        = "sudo refused"
)

func (e *PrivilegeError) Error() string {
	return fmt.Sprintf("%s: user %s cannot become root: %s", e.Host, e.User, e.Reason)
}

// TransferError says that the host answered and that a file could not be moved
// to it or from it: no space, no permission, another content than promised.
// What was at Path before is still there.
type TransferError struct {
	Host   string
	Op     string // "upload" or "download"
	Path   string
	Advice string // what to check, one or more sentences; may be empty
	Err    error
}

func (e *TransferError) Error() string {
	return fmt.Sprintf("%s: unable to %s %s: %v", e.Host, e.Op, e.Path, e.Err)
}

func (e *TransferError) Unwrap() error { return e.Err }

// ObserveError says that a change was asked of a host in observe mode.
type ObserveError struct{ Host, Command string }

func (e *ObserveError) Error() string {
	return fmt.Sprintf("%s is in observe mode; refused: %s", e.Host, e.Command)
}

func firstLine(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }
