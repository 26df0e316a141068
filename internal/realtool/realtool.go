// Package realtool finds and runs the real programs that tests compare ours with. It is
// for tests only; it must not know what a program prints.
package realtool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Required names the variable of the environment that makes a missing program a
// failure. .ci/run sets it where it has installed the programs: a comparison
// that is skipped there would be one that nobody makes.
const Required = "INFINIBAND_REAL_TOOLS"

// Path returns the path of an installed program. It skips the test where the
// program is missing and not required.
func Path(t testing.TB, program string) string {
	t.Helper()
	path := Find(program)
	if path == "" {
		ReportMissing(t, program+" is not installed: no comparison with the real tool")
	}
	return path
}

// Find returns the path of a program, or "". It also looks in sbin, which is not
// on every user's PATH.
func Find(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin"} {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// ReportMissing ends a test that lacks a real program or a right: it skips the test,
// or fails it where the comparison is required.
func ReportMissing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(Required) != "" {
		t.Fatalf("%s, and %s requires it", why, Required)
	}
	t.Skip(why)
}

// Run runs a program and returns what it printed, with its errors if it failed, and its
// status.
func Run(t testing.TB, program string, args ...string) (string, int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).Output() //nolint:gosec // for tests, which name it
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return string(out) + string(exit.Stderr), exit.ExitCode()
	}
	return string(out), 0
}

// Transcript collects what a program prints while others read it.
type Transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
