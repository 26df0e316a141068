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
