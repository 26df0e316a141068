package shellcmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// TestCompose_inInterpreter runs the same texts in the shell of the simulated
// hosts, after parsing them as strict POSIX.
func TestCompose_inInterpreter(t *testing.T) {
	for _, tt := range composeCases {
		if tt.name == "prelude" {
			continue // the interpreter keeps no umask of its own
		}
		t.Run(tt.name, func(t *testing.T) {
			frame := NewFrame()
			text, err := Compose(tt.cmd, frame, Elevation{})
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr := feedInterp(t, text)
			tt.check(t, scan(t, frame, stdout, stderr, 1<<20), text)
		})
	}
}

// feedInterp runs text in the interpreter that simulated hosts use.
func feedInterp(t *testing.T, text string) (stdout, stderr []byte) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "stdin")
	if err != nil {
		t.Fatalf("not POSIX: %v\n%s", err, text)
	}
	var out, errs bytes.Buffer
	runner, err := interp.New(interp.StdIO(strings.NewReader(""), &out, &errs))
	if err != nil {
		t.Fatal(err)
	}
	var status interp.ExitStatus
	if err := runner.Run(t.Context(), file); err != nil && !errors.As(err, &status) {
		t.Fatalf("%v\n%s", err, text)
	}
	return out.Bytes(), errs.Bytes()
}
