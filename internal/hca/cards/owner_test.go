//go:build linux

package cards

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An apply that was killed and that nobody has reaped is no owner of a job: the next
// apply would wait for it.
func TestProcessName_of_one_that_nobody_reaped(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	pid := cmd.Process.Pid
	if name := processName(pid); !strings.HasPrefix(name, strconv.Itoa(pid)+"@") {
		t.Errorf("a process that runs is %q", name)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); processName(pid) != "" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		t.Fatalf("it was reaped: %v", err)
	}
	if name := processName(pid); name != "" {
		t.Errorf("a process that was killed is %q", name)
	}
}
