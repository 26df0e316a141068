package simssh

import (
	"net"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// line is the wire between client and server: it delays both directions without
// limiting the throughput, counts bytes and cuts at a chosen one.
type line struct {
	net.Conn
	machine *labsim.Machine

	mu      sync.Mutex
	in, out int64
	queue   chan chunk
	arrived chan chunk
	rest    []byte
	readErr error
	done    chan struct{}
	once    sync.Once
	drained sync.WaitGroup
}

type chunk struct {
	data []byte
	due  time.Time
	err  error
}

func newLine(c net.Conn, m *labsim.Machine) *line {
	l := &line{Conn: c, machine: m, done: make(chan struct{}), queue: make(chan chunk, 4096),
		arrived: make(chan chunk, 4096)}
	l.drained.Add(1)
	go l.receive()
	go l.send()
	return l
}

func (l *line) stop() {
	l.once.Do(func() { close(l.done) })
}

// Close sends what is on its way, then closes.
func (l *line) Close() error {
	l.stop()
	l.drained.Wait()
	return l.Conn.Close()
}

// cut drops the connection at once.
func (l *line) cut() {
	if tcp, ok := l.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = l.Conn.Close()
	l.stop()
}

func (l *line) latency() time.Duration { return l.machine.Faults.Get().Latency }

func (l *line) receive() {
	defer close(l.arrived)
	for {
		buf := make([]byte, 32<<10)
		n, err := l.Conn.Read(buf)
		if n > 0 {
			n = l.countIn(n)
		}
		select {
		case l.arrived <- chunk{data: buf[:n], due: time.Now().Add(l.latency()), err: err}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// countIn books received bytes and cuts at the injected one.
func (l *line) countIn(n int) int {
	l.machine.Count(func(c *labsim.Counters) { c.BytesIn += int64(n) })
	limit := l.machine.Faults.Get().CutAtByteIn
	l.mu.Lock()
	l.in += int64(n)
	over := l.in - limit
	l.mu.Unlock()
	if limit > 0 && over >= 0 {
		l.cut()
		return max(n-int(over), 0)
	}
	return n
}

// Read implements net.Conn.
func (l *line) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.readErr != nil {
			return 0, l.readErr
		}
		c, ok := <-l.arrived
		if !ok {
			return 0, net.ErrClosed
		}
		if wait := time.Until(c.due); wait > 0 {
			time.Sleep(wait)
		}
		l.rest, l.readErr = c.data, c.err
		if len(l.rest) == 0 {
			return 0, l.readErr
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Write implements net.Conn: the bytes leave after the line's latency.
func (l *line) Write(p []byte) (int, error) {
	select {
	case l.queue <- chunk{data: append([]byte{}, p...), due: time.Now().Add(l.latency())}:
		return len(p), nil
	case <-l.done:
		return 0, net.ErrClosed
	}
}

func (l *line) send() {
	defer l.drained.Done()
	for {
		select {
		case c := <-l.queue:
			if !l.transmit(c) {
				return
			}
		case <-l.done:
			for {
				select {
				case c := <-l.queue:
					if !l.transmit(c) {
						return
					}
				default:
					return
				}
			}
		}
	}
}

func (l *line) transmit(c chunk) bool {
	if wait := time.Until(c.due); wait > 0 {
		time.Sleep(wait)
	}
	limit := l.machine.Faults.Get().CutAtByteOut
	l.mu.Lock()
	room := limit - l.out
	l.out += int64(len(c.data))
	l.mu.Unlock()
	if limit > 0 && room < int64(len(c.data)) {
		_, _ = l.Conn.Write(c.data[:max(room, 0)])
		l.cut()
		return false
	}
	l.machine.Count(func(n *labsim.Counters) { n.BytesOut += int64(len(c.data)) })
	if _, err := l.Conn.Write(c.data); err != nil {
		l.stop()
		return false
	}
	return true
}
