package shellcmd

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Interpreter is the remote command under which every composed text runs. It is
// constant and free of quoting because sshd hands it to the user's login shell:
// fish halves backslashes inside quotes, tcsh expands ! inside them, and one
// argument longer than 128 KiB cannot be passed at all.
const Interpreter = "exec /bin/sh -s"

// rootInterpreter is what sudo is asked to run; one command, so that a sudoers
// rule can name it.
const rootInterpreter = "/bin/sh -s"

// Elevation says how a composed text gets to uid 0.
type Elevation struct {
	Mode ElevationMode
	// Password is written into the text, on standard input only; it never
	// becomes an argument or an environment variable of any process.
	Password string
	// Verified says that Password was accepted before, so that the text need not
	// try it alone first.
	Verified bool
}

// ElevationMode is a way to uid 0.
type ElevationMode int

// The ways to uid 0.
const (
	Direct ElevationMode = iota // the session has the privileges it needs
	Detect                      // uid 0 already, or else sudo
	Sudo                        // sudo whatever the uid
)

// Compose returns the text for the standard input of Interpreter. The answer is
// framed on standard output and standard error; a Scanner reads it.
//
// The whole text is one compound command. A shell reads a compound command to
// its end before it runs any of it, so a text that was cut off on its way is a
// syntax error and runs nothing, where a plain list of commands would run up to
// the middle of a line.
func Compose(cmd Command, frame Frame, how Elevation) (string, error) {
	body, err := body(cmd, frame)
	if err != nil {
		return "", err
	}
	if !cmd.root || how.Mode == Direct {
		return body, nil
	}
	if strings.ContainsAny(how.Password, "\x00\n") {
		return "", fmt.Errorf("the sudo password contains a line break or NUL, which sudo cannot read")
	}
	return elevate(body, frame, how), nil
}

// body is the text that does the work, whoever runs it.
func body(cmd Command, frame Frame) (string, error) {
	inner, err := inner(cmd)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("{\n")
	b.WriteString(environment)
	// mstflint and its kin log into files named by these; a stray setting of the
	// user's would write on the host during what is meant to be a read.
	b.WriteString("unset FLINT_LOG_FILE FLASH_DEBUG FW_COMPS_DEBUG MFT_DEBUG\n")
	// The home directory may be unreadable for root (NFS with root_squash).
	b.WriteString("cd /\n")
	fmt.Fprintf(&b, "printf '%%s\\n' '%s'\n", frame.begin())
	fmt.Fprintf(&b, "printf '%%s\\n' '%s' >&2\n", frame.begin())
	if err := feed(&b, inner, cmd.stdin, frame.delimiter("IN")); err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	// Both streams end with a marker, so that the answer is complete without
	// waiting for the session to close: a child left behind may hold it open.
	fmt.Fprintf(&b, "set -- \"$?\"\nprintf '%%s\\n' '%s' >&2\nprintf '%%s %%s\\n' '%s' \"$1\"\n}\n", frame.end(),
		frame.end())
	return b.String(), nil
}

// environment comes first in every shell of ours. Non-interactive sessions of
// some distributions lack the sbin directories; messages must be in English to
// be told apart; files made on the way are nobody else's.
const environment = "LC_ALL=C; export LC_ALL\n" +
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH\n" +
	"umask 077\n"

// inner is the command itself as a subshell, so that an exit inside a script
// ends the subshell and the end marker still follows.
func inner(cmd Command) (string, error) {
	if len(cmd.argv) == 0 || cmd.argv[0] == "" {
		return "", fmt.Errorf("the command names no program")
	}
	for i, arg := range cmd.argv {
		if strings.ContainsRune(arg, 0) {
			return "", fmt.Errorf("%s: argument %d contains a NUL byte, which no program can be given", cmd, i)
		}
	}
	begin := "(\n"
	if cmd.unless != "" {
		begin += fmt.Sprintf("[ ! -e %[1]s ] || { echo not run, for there is %[1]s >&2; exit 75; }\n", Quote(cmd.unless))
	}
	if cmd.with != "" {
		begin += fmt.Sprintf("[ -e %[1]s ] || { echo not run, for there is no %[1]s >&2; exit 75; }\n", Quote(cmd.with))
	}
	if cmd.before != nil {
		first, err := inner(*cmd.before)
		if err != nil {
			return "", err
		}
		begin += first + " </dev/null >/dev/null 2>&1\n"
	}
	if cmd.script == "" {
		return begin + forceQuote(cmd.argv[0]) + quoteRest(cmd.argv) + "\n)", nil
	}
	if strings.ContainsRune(cmd.script, 0) {
		return "", fmt.Errorf("%s: the script contains a NUL byte", cmd)
	}
	return begin + "set --" + quoteRest(cmd.argv) + "\n" + strings.TrimRight(cmd.script, "\n") + "\n)", nil
}

func quoteRest(argv []string) string {
	var b strings.Builder
	for _, arg := range argv[1:] {
		b.WriteByte(' ')
		b.WriteString(Quote(arg))
	}
	return b.String()
}

// forceQuote quotes a word even if it holds nothing special: unquoted, a program
// called "if" is a keyword and one called "a=b" an assignment.
func forceQuote(s string) string {
	if q := Quote(s); q != s {
		return q
	}
	return "'" + s + "'"
}

// feed writes inner with its standard input: nothing, a here-document, or, for
// text that does not end in a newline and thus cannot be a here-document, the
// output of the shell's own printf. Without a redirection the command would
// read the rest of the script.
func feed(b *strings.Builder, inner, stdin, delimiter string) error {
	switch {
	case stdin == "":
		fmt.Fprintf(b, "%s </dev/null\n", inner)
		return nil
	case strings.ContainsRune(stdin, 0):
		return fmt.Errorf("the standard input contains a NUL byte, which cannot travel inside a script; upload a file " +
			"instead")
	case !utf8.ValidString(stdin):
		return fmt.Errorf("the standard input is not valid UTF-8; upload a file instead")
	case strings.HasSuffix(stdin, "\n"):
		if strings.Contains(stdin, delimiter) {
			return fmt.Errorf("the standard input contains the end marker of its here-document")
		}
		fmt.Fprintf(b, "%s <<'%s'\n%s%s\n", inner, delimiter, stdin, delimiter)
		return nil
	default:
		fmt.Fprintf(b, "printf '%%s' %s | %s\n", forceQuote(stdin), inner)
		return nil
	}
}

// elevate wraps body in a text that finds its way to uid 0, says which way it
// took, and with what status the way ended: 127 is a missing sudo, and any
// other failure before body's begin marker is a refusal.
func elevate(body string, frame Frame, how Elevation) string {
	var b strings.Builder
	b.WriteString("{\n")
	b.WriteString(environment)
	sudo := "printf '%s\\n' '" + frame.sudoMark() + "'\nset -- sudo -n -- " + rootInterpreter + "; " +
		frame.report(viaSudo) + "\n"
	if how.Password != "" {
		sudo = sudoWithPassword(frame, how)
	}
	if how.Mode == Detect {
		fmt.Fprintf(&b, "if [ \"$(id -u)\" = 0 ]; then\nset -- %s; %s\nelse\n%sfi\n", rootInterpreter, frame.report(viaRoot),
			sudo)
	} else {
		b.WriteString(sudo)
	}
	delimiter := frame.delimiter("ROOT")
	if how.Password == "" {
		fmt.Fprintf(&b, "\"$@\" <<'%s'\n%s%s\n", delimiter, body, delimiter)
	} else {
		// The password goes first, and only if the way taken is the one that asks.
		fmt.Fprintf(&b, "{\nif [ \"$2\" = -k ]; then\ncat %sfi\ncat\n} <<'%s' | \"$@\"\n%s%s\n",
			passwordDocument(frame, how.Password), delimiter, body, delimiter)
	}
	fmt.Fprintf(&b, "printf '%%s %%s\\n' '%s' \"$?\"\n}\n", frame.left())
	return b.String()
}

// sudoWithPassword sets the positional parameters to the sudo that works.
//
// sudo -S reads the password from the same standard input as the script, and
// only if it asks: where it does not ask, the shell would run the password as
// its first line. Hence -n is tried first, and -k makes sure that -S asks.
// Where the password is wrong, sudo would take the script's next lines for
// further attempts and lock the account; hence the first use feeds the password
// alone, so that the second attempt meets the end of the input.
func sudoWithPassword(frame Frame, how Elevation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "printf '%%s\\n' '%s'\n", frame.sudoMark())
	fmt.Fprintf(&b, "if sudo -n -- %s </dev/null >/dev/null 2>&1; then\nset -- sudo -n -- %s; %s\nelse\n",
		rootInterpreter, rootInterpreter, frame.report(viaSudo))
	fmt.Fprintf(&b, "set -- sudo -k -S -p '' -- %s; %s\n", rootInterpreter, frame.report(viaPassword))
	if !how.Verified {
		fmt.Fprintf(&b, "\"$@\" >/dev/null %s", passwordDocument(frame, how.Password))
		fmt.Fprintf(&b, "set -- \"$?\" \"$@\"\nif [ \"$1\" != 0 ]; then\nprintf '%%s %%s\\n' '%s' \"$1\"\nexit "+
			"0\nfi\nshift\n",
			frame.left())
	}
	b.WriteString("fi\n")
	return b.String()
}

func passwordDocument(frame Frame, password string) string {
	d := frame.delimiter("WORD")
	return "<<'" + d + "'\n" + password + "\n" + d + "\n"
}

// report is the shell text that names the way to uid 0 that was taken.
func (f Frame) report(way string) string {
	return "printf '%s\\n' '" + f.nonce + ":via " + way + "'"
}
