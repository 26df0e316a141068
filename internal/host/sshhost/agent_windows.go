package sshhost

import (
	"context"
	"errors"
	"net"
)

// dialAgent reaches agents that offer a Unix socket, which Windows has since
// 2018; OpenSSH's own agent there listens on a named pipe, which needs another
// library than the standard one.
func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	if len(socket) > 2 && socket[:2] == `\\` {
		return nil, errors.New("agents behind a named pipe are not supported; use a private key file")
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// defaultAgent is asked where neither the configuration nor SSH_AUTH_SOCK names one.
const defaultAgent = ""
