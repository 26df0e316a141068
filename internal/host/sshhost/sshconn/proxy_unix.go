//go:build !windows

package sshconn

import (
	"os/exec"
	"syscall"
)

// isolate gives a program a process group of its own. Ctrl-C in a terminal goes to
// every process of a group: it must not cut the line to a host that is being changed.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a program with all that it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
