// Package shellcmd describes a program to run on a host as an argument vector,
// and turns it into the text of a POSIX shell script with every value quoted.
//
// It must not run anything, open a file or know what a host is.
package shellcmd

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// Command is one program with its arguments, or one constant script with
// positional parameters. The zero value is not a command; use New or Script.
//
// Its fields are unexported so that no caller can build one from a string that
// holds values: a value is always an element of the argument vector.
type Command struct {
	argv    []string
	script  string
	stdin   string
	root    bool
	changes bool
	timeout time.Duration
	unless  string
	with    string
	private bool
	before  *Command
}

// New returns the command that runs program with args, each passed verbatim.
func New(program string, args ...string) Command {
	return Command{argv: append([]string{program}, args...)}
}

// Script returns a command that runs a constant POSIX sh script with args as
// $1, $2 … Values never go into text; they are positional parameters.
// name stands for the script in messages.
func Script(name, text string, args ...string) Command {
	return Command{argv: append([]string{name}, args...), script: text}
}

// WithStdin gives the command text to read. It must be valid UTF-8 without
// NUL, because it travels inside the script as a here-document.
func (c Command) WithStdin(text string) Command { c.stdin = text; return c }

// AsRoot marks the command as one that needs uid 0.
func (c Command) AsRoot() Command { c.root = true; return c }

// Changes marks the command as one that changes the host. Such a command is
// refused on a host in observe mode and makes cached facts of the host stale.
func (c Command) Changes() Command { c.changes = true; return c }

// Unless has the command not run if there is a file or directory at path, an absolute
// one: the host looks at the moment of running it, however long the request was on
// its way. It then fails with status 75.
func (c Command) Unless(path string) Command { c.unless = path; return c }

// OnlyWith has the command not run if path is not there, by the same status 75.
func (c Command) OnlyWith(path string) Command { c.with = path; return c }

// After has a constant script run before the command, as the same user. Whatever comes of
// it, the command runs and nothing of the script shows: neither its output nor its status.
func (c Command) After(first Command) Command { c.before = &first; return c }

// WithTimeout bounds the run; zero means the transport's default.
func (c Command) WithTimeout(d time.Duration) Command { c.timeout = d; return c }

// Confidential marks a command that prints what nobody but this program may see, such
// as the files of a network with their passwords: no message shows any of it, however
// the command ends.
func (c Command) Confidential() Command { c.private = true; return c }

// Secret reports whether the command was marked with Confidential.
func (c Command) Secret() bool { return c.private }

// Within returns the command run by a constant script, which is given args and then the
// command's own words; everything else about it stays. A script cannot be run so.
func (c Command) Within(name, text string, args ...string) Command {
	c.argv, c.script = slices.Concat([]string{name}, args, c.argv), text
	return c
}

// Argv returns a copy of the argument vector; of a script, its name and parameters.
func (c Command) Argv() []string { return append([]string(nil), c.argv...) }

// IsScript reports whether the command is a constant script.
func (c Command) IsScript() bool { return c.script != "" }

// Stdin returns the text that the command reads.
func (c Command) Stdin() string { return c.stdin }

// Root reports whether the command needs uid 0.
func (c Command) Root() bool { return c.root }

// Changing reports whether the command changes the host.
func (c Command) Changing() bool { return c.changes }

// Timeout returns the bound set by WithTimeout, or zero.
func (c Command) Timeout() time.Duration { return c.timeout }

// String returns the command quoted for a POSIX shell; it is what messages show and
// what a person may paste into a terminal. A script begins with ScriptWord, and its
// parameters of several lines are left out: one may be a script of hundreds of lines.
func (c Command) String() string {
	if c.script == "" {
		return Join(c.argv)
	}
	words := make([]string, 0, 1+len(c.argv))
	for _, arg := range c.argv {
		if strings.Contains(arg, "\n") {
			arg = "…"
		}
		words = append(words, arg)
	}
	return ScriptWord + Join(words)
}

// ScriptWord begins what messages show of a script, which nobody can paste into a terminal.
const ScriptWord = "script "

// Redact replaces secrets in text, as they are and in their quoted forms.
func Redact(text string, secrets ...string) string {
	var forms []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		escaped := strconv.Quote(s)
		forms = append(forms, s, Quote(s), escaped[1:len(escaped)-1],
			strings.ReplaceAll(s, "'", `'"'"'`), strings.ReplaceAll(s, "'", `'\''`))
	}
	// The longest first, so that a secret inside another one leaves no rest.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, "(redacted)")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Quote returns s as one word of a POSIX shell.
func Quote(s string) string { return shellescape.Quote(s) }

// Join returns argv as shell text, each element quoted.
func Join(argv []string) string { return shellescape.QuoteCommand(argv) }
