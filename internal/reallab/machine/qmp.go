//go:build linux

package machine

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"time"
)

// events are what QEMU tells over its machine protocol (QMP).
type events struct {
	conn  net.Conn
	lines *bufio.Scanner
}

// listen connects to QEMU, which makes its socket when it has started.
func listen(socket string, limit time.Duration) (*events, error) {
	var conn net.Conn
	var err error
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if conn, err = net.DialTimeout("unix", socket, limit); err == nil { //nolint:noctx // it has its own limit
			break
		}
		if time.Now().After(end) {
			return nil, err
		}
	}
	e := &events{conn: conn, lines: bufio.NewScanner(conn)}
	if !e.lines.Scan() {
		return nil, errors.Join(errors.New("no greeting of QEMU"), e.lines.Err(), conn.Close())
	}
	_, err = conn.Write([]byte(`{"execute":"qmp_capabilities"}` + "\n"))
	return e, err
}

// wait gives the reason why the machine ended: "guest-reset" if its system restarts it,
// "guest-shutdown", or nothing if QEMU was killed.
func (e *events) wait() (reason string) {
	defer func() { _ = e.conn.Close() }()
	for e.lines.Scan() {
		var m struct {
			Event string
			Data  struct{ Reason string }
		}
		if json.Unmarshal(e.lines.Bytes(), &m) == nil && m.Event == "SHUTDOWN" {
			reason = m.Data.Reason
		}
	}
	return reason
}
