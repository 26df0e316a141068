//go:build !linux

package sshconn

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing: the option is Linux's. Keepalives notice the loss.
func setUserTimeout(time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
