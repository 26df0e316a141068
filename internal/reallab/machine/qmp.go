//go:build linux

package machine

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// monitor speaks QEMU's machine protocol (QMP) with one QEMU. Its methods may be used from
// several goroutines.
type monitor struct {
	conn net.Conn

	asking  sync.Mutex // one command at a time
	replies chan reply
	ended   chan struct{} // closed when QEMU has hung up
	reason  string        // why the machine ended; to be read when ended is closed
}

// reply is a line that QEMU sends: the answer to a command, or an event.
type reply struct {
	Return json.RawMessage
	Error  *struct{ Class, Desc string }
	Event  string
	Data   struct{ Reason string }
}

var errHungUp = errors.New("QEMU has ended")

// dialMonitor connects to QEMU, which makes its socket when it has started.
func dialMonitor(socket string, limit time.Duration) (*monitor, error) {
	conn, err := dialSocket(socket, limit)
	if err != nil {
		return nil, err
	}
	q := &monitor{conn: conn, replies: make(chan reply), ended: make(chan struct{})}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return nil, errors.Join(errors.New("no greeting of QEMU"), lines.Err(), conn.Close())
	}
	go q.read(lines)
	return q, q.execute("qmp_capabilities", nil, nil)
}

// dialSocket waits until a program listens at a socket.
func dialSocket(socket string, limit time.Duration) (net.Conn, error) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.DialTimeout("unix", socket, limit) //nolint:noctx // it has its own limit
		if err == nil || time.Now().After(end) {
			return conn, err
		}
	}
}

func (q *monitor) read(lines *bufio.Scanner) {
	defer close(q.ended)
	defer func() { _ = q.conn.Close() }()
	for lines.Scan() {
		var r reply
		switch err := json.Unmarshal(lines.Bytes(), &r); {
		case err != nil:
			continue
		case r.Event == "":
			q.replies <- r
		case r.Event == "SHUTDOWN":
			q.reason = r.Data.Reason
		}
	}
}

// execute has QEMU carry out a command, and stores what it returns in result, if not nil.
func (q *monitor) execute(command string, arguments, result any) error {
	q.asking.Lock()
	defer q.asking.Unlock()
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(q.conn).Encode(request); err != nil {
		return fmt.Errorf("%s: %w", command, cmp.Or(err, errHungUp))
	}
	select {
	case r := <-q.replies:
		switch {
		case r.Error != nil:
			return fmt.Errorf("%s: %s", command, r.Error.Desc)
		case result != nil:
			return json.Unmarshal(r.Return, result)
		}
		return nil
	case <-q.ended:
		return fmt.Errorf("%s: %w", command, errHungUp)
	}
}

// wait gives the reason why the machine ended: "guest-reset" if its system restarts it,
// "guest-shutdown", or nothing if QEMU was killed.
func (q *monitor) wait() (reason string) {
	<-q.ended
	return q.reason
}

// await asks for a status until it is the awaited one.
func (q *monitor) await(command, status string, limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		var is struct {
			Status string
			Desc   string `json:"error-desc"`
		}
		err := q.execute(command, nil, &is)
		switch {
		case err != nil:
			return err
		case is.Status == status:
			return nil
		case is.Status == "failed" || time.Now().After(end):
			return fmt.Errorf("%s: %q after at most %s, want %q: %s", command, is.Status, limit, status, is.Desc)
		}
	}
}
