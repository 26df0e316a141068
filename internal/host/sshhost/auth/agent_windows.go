package auth

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/Microsoft/go-winio"
)

// DefaultAgent is asked where neither the configuration nor SSH_AUTH_SOCK names one:
// the service ssh-agent of Windows, and agents that stand in for it.
const DefaultAgent = `\\.\pipe\openssh-ssh-agent`

// dialAgent reaches agents behind a named pipe, and those that offer a Unix socket,
// which Windows has since 2018.
func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	if pipe := strings.ReplaceAll(socket, "/", `\`); strings.HasPrefix(pipe, `\\`) {
		return winio.DialPipeContext(ctx, pipe)
	}
	if strings.HasPrefix(socket, "/") {
		return nil, errors.New("sockets of Git Bash, MSYS2 and Cygwin are open to their own programs only; " +
			"use the agent of Windows, or another one with a named pipe")
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
