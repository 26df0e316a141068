package sshconn

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout makes the kernel give a connection up whose data stays
// unacknowledged for so long. Without it, a write after the peer vanished may
// wait a quarter of an hour for the retransmissions to end.
func setUserTimeout(d time.Duration) func(network, address string, c syscall.RawConn) error {
	if d <= 0 {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		// An older kernel or a sandbox may refuse; keepalives still notice the loss.
		return c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		})
	}
}
