package sshconn

import (
	"os/exec"
	"syscall"
)

// isolate keeps Ctrl-C of the console from the program: it must not cut the line to a
// host that is being changed.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
