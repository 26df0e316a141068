//go:build linux

package vfiouser

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// line is a connection whose reads block their thread. A processor waits for each answer,
// and mstflint reads a flash in hundreds of thousands of accesses. The runtime's poller
// would let every request wake two threads, and an access take twice as long.
type line struct {
	file *os.File
	fd   int
}

// newLine takes a connection over.
func newLine(c *net.UnixConn) (*line, error) {
	file, err := c.File()
	if err != nil {
		return nil, err
	}
	fd := int(file.Fd()) // makes it block
	return &line{file, fd}, c.Close()
}

// hangUp ends reads that are under way and those to come. It may be called at any time
// before close.
func (l *line) hangUp() { _ = unix.Shutdown(l.fd, unix.SHUT_RDWR) }

func (l *line) close() error { return l.file.Close() }

// receive reads like recvmsg(2): some bytes into p, and control messages into oob.
func (l *line) receive(p, oob []byte) (n, rights int, err error) {
	for {
		n, rights, _, _, err = unix.Recvmsg(l.fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n == 0:
			err = io.EOF
		}
		return n, rights, err
	}
}

// Read fills a part of p. Package syscall, unlike unix, tells the race
// detector what net tells it of such a connection.
func (l *line) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(l.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n == 0 && len(p) > 0:
			err = io.EOF
		}
		return max(0, n), err
	}
}

// Write sends all of p.
func (l *line) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		n, err := syscall.Write(l.fd, p[sent:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return sent, err
		}
		sent += max(0, n)
	}
	return sent, nil
}
