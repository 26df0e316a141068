//go:build linux

package reallab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Uplink is the way of the operator to the SSH server of a machine. Connections can be
// broken, and the way can be cut.
type Uplink struct {
	Port int // on 127.0.0.1

	to       int
	listener net.Listener

	mu      sync.Mutex
	severed bool
	open    map[net.Conn]bool
}

// newUplink leads to a port of 127.0.0.1.
func newUplink(ctx context.Context, to int) (*Uplink, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("reallab: no TCP: %s", l.Addr()), l.Close())
	}
	u := &Uplink{Port: addr.Port, to: to, listener: l, open: map[net.Conn]bool{}}
	go u.serve()
	return u, nil
}

func (u *Uplink) serve() {
	for {
		near, err := u.listener.Accept()
		if err != nil {
			return
		}
		if !u.keep(near) {
			continue
		}
		//nolint:noctx // it ends with the connection
		far, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", u.to))
		if err != nil || !u.keep(far) {
			u.forget(near)
			continue
		}
		go u.carry(near, far)
		go u.carry(far, near)
	}
}

// carry takes what comes from one end to the other until one of them ends.
func (u *Uplink) carry(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	u.forget(from)
	u.forget(to)
}

// keep remembers a connection, or ends it if the way is cut.
func (u *Uplink) keep(c net.Conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.severed {
		_ = c.Close()
		return false
	}
	u.open[c] = true
	return true
}

func (u *Uplink) forget(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, c)
	_ = c.Close()
}

// Drop breaks all connections.
func (u *Uplink) Drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.open {
		_ = c.Close()
	}
	clear(u.open)
}

// Sever cuts the way, or mends it.
func (u *Uplink) Sever(severed bool) {
	u.mu.Lock()
	u.severed = severed
	u.mu.Unlock()
	if severed {
		u.Drop()
	}
}

func (u *Uplink) close() {
	u.Sever(true)
	_ = u.listener.Close()
}
