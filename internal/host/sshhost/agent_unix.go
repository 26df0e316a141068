//go:build !windows

package sshhost

import (
	"context"
	"net"
)

func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// defaultAgent is asked where neither the configuration nor SSH_AUTH_SOCK names one.
const defaultAgent = ""
