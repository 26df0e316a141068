//go:build !windows

package rollout

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate gives the engine a process group of its own, so that Ctrl-C in a terminal does not reach it
// twice, and lets the end of its context interrupt it instead of killing it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
}
