//go:build linux

package machine

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// agent is the host's end of the line to the shell in a machine that is being copied.
type agent struct {
	conn  net.Conn
	lines *bufio.Scanner
}

func dialAgent(socket string, limit time.Duration) (*agent, error) {
	conn, err := dialSocket(socket, limit)
	if err != nil {
		return nil, err
	}
	return &agent{conn, bufio.NewScanner(conn)}, nil
}

// await reads until a line is as awaited. What else was said is in the error.
func (a *agent) await(line string, limit time.Duration) error {
	if err := a.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	var said []string
	for a.lines.Scan() {
		said = append(said, a.lines.Text())
		switch {
		case a.lines.Text() == line:
			return nil
		case strings.HasPrefix(a.lines.Text(), failure):
			return fmt.Errorf("the script in the machine failed: %q", said)
		}
	}
	return fmt.Errorf("no %q of the machine within %s, but %q: %w", line, limit, said, cmp.Or(a.lines.Err(), io.EOF))
}

// failure begins the line of a script that has ended too early.
const failure = "failed: "

// run has the machine run a script, each of whose commands must succeed.
func (a *agent) run(script string, limit time.Duration) error {
	const end = "done"
	if _, err := io.WriteString(a.conn, "set -e\ntrap 'echo "+failure+"$?' EXIT\n"+script+"echo "+end+"\n"); err != nil {
		return err
	}
	return a.await(end, limit)
}

// close ends the shell.
func (a *agent) close() error {
	_, err := io.WriteString(a.conn, "trap - EXIT\nexit 0\n")
	return cmp.Or(err, a.conn.Close())
}
