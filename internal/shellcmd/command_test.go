package shellcmd

import (
	"os/exec"
	"strings"
	"testing"
)

func TestJoin_readBackByRealShell(t *testing.T) {
	args := []string{"", " ", "a b", "'", "''", `"`, `\`, `\'`, "$HOME", "$(id)", "`id`", "*", "?", "[a]", "~", "a\nb",
		"\t", "-n", "--", "#x", "!x", "a=b", "é", "\x01", "\x7f", ";", "|", "&&", ">x"}
	if got := echo(t, args); strings.Join(got, "\x00") != strings.Join(args, "\x00") {
		t.Errorf("got %q, want %q", got, args)
	}
}

// echo has /bin/sh take the joined arguments apart and print them back.
func echo(t *testing.T, args []string) []string {
	t.Helper()
	text := Join(append([]string{"printf", `%s\0`}, args...))
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", text).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func FuzzJoin(f *testing.F) {
	f.Add("a b", "'")
	f.Add(`\`, "$x\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) || len(a)+len(b) > 4096 {
			return
		}
		if got := echo(t, []string{a, b}); len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("got %q, want %q", got, []string{a, b})
		}
	})
}

func TestRedact(t *testing.T) {
	const secret = `p'w "1"\x`
	for _, text := range []string{"said " + secret, Quote("x " + secret), "open sesame"} {
		if text = Redact(text, secret, "open sesame"); strings.Contains(text, `"1"`) || strings.Contains(text, "sesame") {
			t.Errorf("a secret shows in %q", text)
		}
	}
	if got := Redact("ab abc", "ab", "abc", ""); got != "(redacted) (redacted)" {
		t.Errorf("overlapping secrets leave a rest: %q", got)
	}
}

func TestCommand_copiesWhatItIsGiven(t *testing.T) {
	base := New("ls", "-l")
	base.Argv()[0] = "rm"
	if got := base.String(); got != "ls -l" {
		t.Errorf("got %q", got)
	}
}

// A parameter may be a script of its own, which nobody wants to read in a message.
func TestCommand_scriptIsShownWithoutItsTexts(t *testing.T) {
	if got := Script("save it", "true\n", "/var/x", "set -eu\nrm -rf\n").String(); got != "script 'save it' /var/x '…'" {
		t.Errorf("got %q", got)
	}
}
