//go:build !windows

package sshconn

import (
	"errors"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
)

// Ctrl-C in the operator's terminal must not end the line to a host, and the end of
// the line must leave no program behind.
func TestProxy_isInAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	conn, err := startProxy(&sshconfig.Hop{Proxy: `sh -c 'sleep 600 & sleep 600'`})
	if err != nil {
		t.Fatal(err)
	}
	pid := conn.(*proxyConn).cmd.Process.Pid
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process %d is in group %d: %v", pid, group, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the program still runs: %v", err)
	}
}
