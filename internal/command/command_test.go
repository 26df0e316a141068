package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// program has one command, which prints its arguments and returns 7.
func program() Program {
	return Program{Name: "prog", Version: "1.2.3", Serve: func(debug bool) error { return fmt.Errorf("served %t", debug) },
		Commands: []Command{{Name: "look", Summary: "Look at hosts",
			Run: func(_ context.Context, args []string, std Streams) int {
				fs := NewFlags("look [options] HOST…", "Looks at hosts.")
				port := fs.Int("port", 22, "the `PORT`")
				rest, status, done := Parse(fs, args, std)
				if done {
					return status
				}
				fmt.Fprint(std.Out, *port, rest)
				return 7
			}}}}
}

func TestProgram_dispatches(t *testing.T) {
	t.Setenv(cookie, "")
	const list = "Usage: prog COMMAND [arguments]\n\nCommands:\n  look       Look at hosts\n  help       "
	for _, tc := range []struct {
		args     string
		status   int
		out, err string // what they begin with
	}{
		{"", Failed, "", "This program is a plugin: Terraform and OpenTofu start it. Started by hand it needs a command.\n\n" + list},
		{"-help", OK, list, ""},
		{"--help", OK, list, ""},
		{"help", OK, list, ""},
		{"-version", OK, "prog 1.2.3\n", ""},
		{"-debug", Failed, "", "served true\n"},
		{"loook", Usage, "", "prog: there is no command \"loook\".\n\n" + list},
		{"-loook", Usage, "", "prog: there is no command \"-loook\".\n\n" + list},
		{"help loook", Usage, "", "prog: there is no command \"loook\".\n\n" + list},
		{"look a", 7, "22 [a]", ""},
		{"look a -port 23 b", 7, "23 [a b]", ""},
		{"look -port=23 -- -port b", 7, "23 [-port b]", ""},
		{"look -help", OK, "Usage: terraform-provider-infiniband look [options] HOST…\n\nLooks at hosts.\n\nOptions:\n", ""},
		{"help look", OK, "Usage: terraform-provider-infiniband look [options] HOST…\n", ""},
		{"look -prt 1", Usage, "", "look: flag provided but not defined: -prt\nRun with -help to see the options.\n"},
	} {
		var out, err bytes.Buffer
		status := program().Main(t.Context(), strings.Fields(tc.args), Streams{Out: &out, Err: &err})
		if status != tc.status || !begins(out.String(), tc.out) || !begins(err.String(), tc.err) {
			t.Errorf("%q: status %d, want %d\nout: %q\nwant %q\nerr: %q\nwant %q", tc.args, status, tc.status, out.String(),
				tc.out, err.String(), tc.err)
		}
	}
}

// begins is strict about an empty beginning: nothing else may be printed then.
func begins(got, want string) bool {
	return strings.HasPrefix(got, want) && (want != "" || got == "")
}

func TestProgram_servesAnEngine(t *testing.T) {
	t.Setenv(cookie, "x")
	var err bytes.Buffer
	if status := program().Main(t.Context(), nil, Streams{Err: &err}); status != Failed || err.String() != "served false\n" {
		t.Errorf("status %d, %q", status, err.String())
	}
}

// full is a standard output that takes nothing, as /dev/full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestProgram_fails_where_it_cannot_print(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"look a", "-help", "-version"} {
		var err bytes.Buffer
		status := program().Main(t.Context(), strings.Fields(args), Streams{Out: full{}, Err: &err})
		if status != Failed || !strings.HasPrefix(err.String(), "prog: standard output cannot be written, so what it shows "+
			"is not complete: no space left on device\n") {
			t.Errorf("%q: status %d, %q", args, status, err.String())
		}
	}
}

func TestStreams_OutFile(t *testing.T) {
	t.Parallel()
	for _, out := range []io.Writer{os.Stdout, &output{Writer: os.Stdout}} {
		if f, ok := (Streams{Out: out}).OutFile(); !ok || f != os.Stdout {
			t.Errorf("%T: %v, %t", out, f, ok)
		}
	}
	if f, ok := (Streams{Out: &output{Writer: full{}}}).OutFile(); ok {
		t.Errorf("a file %v", f)
	}
}

func TestWrongUsage(t *testing.T) {
	var err bytes.Buffer
	if status := WrongUsage(NewFlags("look HOST", ""), errors.New("no host is named"), Streams{Err: &err}); status != Usage {
		t.Errorf("status %d", status)
	}
	if want := "look: no host is named\nRun with -help to see the options.\n"; err.String() != want {
		t.Errorf("%q", err.String())
	}
}
