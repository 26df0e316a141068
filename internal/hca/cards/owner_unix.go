//go:build unix

package cards

import (
	"errors"
	"os"
	"syscall"
)

// alive reports whether a process runs, whoever it belongs to.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
