package shellcmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// answer is what one composed text said when a shell ran it.
type answer struct {
	stdout, stderr string
	status         int
	scanner        *Scanner
}

// feedShell runs text as sshd's child would: on standard input of /bin/sh -s.
func feedShell(t *testing.T, text string, env ...string) (stdout, stderr []byte) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-s")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, &errs
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.Bytes(), errs.Bytes()
}

func scan(t *testing.T, frame Frame, stdout, stderr []byte, chunk int) answer {
	t.Helper()
	var sink bytes.Buffer
	s := &Scanner{Frame: frame, Sink: &sink}
	for len(stdout) > 0 {
		n := min(chunk, len(stdout))
		if _, err := s.Write(stdout[:n]); err != nil {
			t.Fatal(err)
		}
		stdout = stdout[n:]
	}
	status, _ := s.Ended()
	own, _ := frame.TrimStderr(stderr)
	return answer{sink.String(), string(own), status, s}
}

// composeCase is one command and what its answer must be.
type composeCase struct {
	name           string
	cmd            Command
	stdout, stderr string
	status         int
}

var composeCases = []composeCase{
	{"unless something is there that is not", New("echo", "ran").Unless("/no such/path"), "ran\n", "", 0},
	{"unless something is there", New("echo", "ran").Unless("/bin/sh"), "", "not run, for there is /bin/sh\n", 75},
	{"only with what is there", New("echo", "ran").OnlyWith("/bin/sh"), "ran\n", "", 0},
	{"only with what is not there", New("echo", "ran").OnlyWith("/no such/path"),
		"", "not run, for there is no /no such/path\n", 75},
	{"a script, unless something is there", Script("s", "echo $1", "ran").Unless("/bin/sh"),
		"", "not run, for there is /bin/sh\n", 75},
	{"arguments verbatim", New("printf", "<%s>", "", "a b", "'", `"`, `\`, `\\n`, "$HOME", "`id`", "*", "~", "a\nb", "-n",
		"é", "#", "!"), `<><a b><'><"><\><\\n><$HOME><` + "`id`" + `><*><~><a` + "\nb" + `><-n><é><#><!>`, "", 0},
	{"status", New("sh", "-c", "echo no >&2; exit 3"), "", "no\n", 3},
	{"builtin that exits", New("exit", "7"), "", "", 7},
	{"no standard input", New("cat"), "", "", 0},
	{"standard input", New("cat").WithStdin("a $HOME\n'b'\n\\\n"), "a $HOME\n'b'\n\\\n", "", 0},
	{"standard input without newline", New("cat").WithStdin("it's `it`"), "it's `it`", "", 0},
	{"output without newline", New("printf", "%s", "x"), "x", "", 0},
	{"script", Script("demo", "printf '%s|' \"$#\" \"$@\"\nexit 4\n", "one two", "/it's"), "2|one two|" + "/it's" + "|",
		"", 4},
	{"script without arguments", Script("demo", "echo $# # a comment"), "0\n", "", 0},
	{"script with standard input", Script("demo", "while read -r l; do echo \"<$l>\"; done").WithStdin("1\n2\n"),
		"<1>\n<2>\n", "", 0},
	{"script with set -u", Script("demo", "set -u; set -e; false; echo no"), "", "", 1},
	{"script with a here-document", Script("demo", "cat <<E\n$1\nE", "v"), "v\n", "", 0},
	{"prelude", Script("demo", `echo "$LC_ALL $PATH ${FLINT_LOG_FILE-unset}"; umask; pwd`),
		"C /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin unset\n0077\n/\n", "", 0},
}

func (c composeCase) check(t *testing.T, got answer, text string) {
	t.Helper()
	if !got.scanner.Began() {
		t.Fatalf("no begin marker: %q %q", got.scanner.Preamble(), got.stderr)
	}
	if _, ok := got.scanner.Ended(); !ok {
		t.Fatalf("no end marker after %q %q", got.stdout, got.stderr)
	}
	if got.stdout != c.stdout || got.stderr != c.stderr || got.status != c.status {
		t.Errorf("got %q %q %d, want %q %q %d\n%s", got.stdout, got.stderr, got.status, c.stdout, c.stderr, c.status, text)
	}
}

func TestCompose_inRealShell(t *testing.T) {
	for _, tt := range composeCases {
		t.Run(tt.name, func(t *testing.T) {
			frame := NewFrame()
			text, err := Compose(tt.cmd, frame, Elevation{})
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr := feedShell(t, text, "FLINT_LOG_FILE=/x", "LC_ALL=de_DE.UTF-8")
			for _, chunk := range []int{1, 7, 1 << 20} {
				tt.check(t, scan(t, frame, stdout, stderr, chunk), text)
			}
		})
	}
}

func TestCompose_cutTextRunsNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "made")
	frame := NewFrame()
	text, err := Compose(New("touch", file).WithStdin("x\n"), frame, Elevation{})
	if err != nil {
		t.Fatal(err)
	}
	rooted, err := Compose(New("touch", file).AsRoot().WithStdin("x\n"), frame, Elevation{Mode: Detect, Password: "pw"})
	if err != nil {
		t.Fatal(err)
	}
	// The last byte is the newline after the closing brace.
	for i := range len(text) - 1 {
		stdout, _ := feedShell(t, text[:i])
		if _, err := os.Stat(file); err == nil || bytes.Contains(stdout, []byte(frame.begin())) {
			t.Fatalf("a text cut after %d bytes ran: %q", i, text[:i])
		}
	}
	for i := 0; i < len(rooted)-1; i += 11 {
		feedShell(t, rooted[:i])
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("a text cut after %d bytes ran: %q", i, rooted[:i])
		}
	}
	feedShell(t, text)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the whole text did not run: %v", err)
	}
}

func TestCompose_refusals(t *testing.T) {
	tests := []struct {
		name string
		cmd  Command
		how  Elevation
		want string
	}{
		{"zero value", Command{}, Elevation{}, "the command names no program"},
		{"no program", New(""), Elevation{}, "the command names no program"},
		{"NUL in argument", New("cat", "a\x00b"), Elevation{}, "argument 1 contains a NUL byte"},
		{"NUL in script", Script("s", "echo \x00"), Elevation{}, "the script contains a NUL byte"},
		{"NUL in standard input", New("cat").WithStdin("\x00"), Elevation{}, "upload a file instead"},
		{"invalid UTF-8 in standard input", New("cat").WithStdin("\xff\n"), Elevation{}, "not valid UTF-8"},
		{"line break in the sudo password", New("id").AsRoot(), Elevation{Mode: Sudo, Password: "a\nb"},
			"the sudo password contains a line break or NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compose(tt.cmd, NewFrame(), tt.how)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestScanner_answersThatAreNotOurs(t *testing.T) {
	frame := NewFrame()
	tests := []struct {
		name, out    string
		began, ended bool
		sink         string
	}{
		{"nothing", "", false, false, ""},
		{"noise only", "Welcome!\n", false, false, ""},
		{"noise without a newline before the marker", "Welcome!" + frame.begin() + "\nx" + frame.end() + " 0\n", true, true,
			"x"},
		{"cut in the end marker", frame.begin() + "\nx" + frame.end()[:9], true, false, "x"},
		{"cut in the status", frame.begin() + "\nx" + frame.end() + " 1", true, false, "x"},
		{"status that is no number", frame.begin() + "\nx" + frame.end() + " ?\n", true, false, "x"},
		{"output after the end", frame.begin() + "\nx" + frame.end() + " 0\ny", true, true, "x"},
		{"much noise", strings.Repeat("noise\n", 40000) + frame.begin() + "\nx" + frame.end() + " 0\n", true, true, "x"},
		{"binary", frame.begin() + "\n\x00\xfftpi-" + frame.end() + " 0\n", true, true, "\x00\xfftpi-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, chunk := range []int{1, 13, 4096} {
				got := scan(t, frame, []byte(tt.out), nil, chunk)
				_, ended := got.scanner.Ended()
				if got.scanner.Began() != tt.began || ended != tt.ended {
					t.Errorf("chunk %d: began %v ended %v, want %v %v", chunk, got.scanner.Began(), ended, tt.began, tt.ended)
				}
				if want := tt.sink; got.stdout != want {
					t.Errorf("chunk %d: sink %q, want %q", chunk, got.stdout, want)
				}
			}
		})
	}
}
