//go:build !windows

package auth

import (
	"context"
	"net"
)

func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// DefaultAgent is asked where neither the configuration nor SSH_AUTH_SOCK names one.
const DefaultAgent = ""
