package sshhost

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// proxyConn is a connection through the program of a ProxyCommand: its standard input
// and output are the line.
type proxyConn struct {
	io.WriteCloser
	io.Reader
	cmd  *exec.Cmd
	said *tail
	once sync.Once
}

// startProxy runs the program as ssh does: by the user's shell with exec, so that the
// process to end is the program itself.
func startProxy(h *hop) (net.Conn, error) {
	p := &proxyConn{said: &tail{}}
	if runtime.GOOS == "windows" {
		p.cmd = exec.Command("cmd", "/c", h.proxy) //nolint:gosec,noctx // the operator's own command, for as long as the line
	} else {
		shell := cmp.Or(os.Getenv("SHELL"), "/bin/sh")
		p.cmd = exec.Command(shell, "-c", "exec "+h.proxy) //nolint:gosec,noctx // as above
	}
	isolate(p.cmd)
	p.cmd.Stderr = p.said
	// What the program has started may hold its streams longer than it lives.
	p.cmd.WaitDelay = time.Second
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.WriteCloser, p.Reader = in, out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("ProxyCommand %q does not start: %w", h.proxy, err)
	}
	return p, nil
}

// Read ends with what the program said before it ended; its end alone explains nothing.
func (p *proxyConn) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && n == 0 {
		return 0, p.ended(err)
	}
	return n, err
}

// Write ends so too: which of the two meets the end first is chance.
func (p *proxyConn) Write(b []byte) (int, error) {
	n, err := p.WriteCloser.Write(b)
	if err != nil {
		return n, p.ended(err)
	}
	return n, nil
}

func (p *proxyConn) ended(err error) error {
	_ = p.Close()
	return fmt.Errorf("the ProxyCommand ended%s: %w", p.said.text(), err)
}

// lastWords is the time that a program has to say why it ends.
const lastWords = 300 * time.Millisecond

// Close ends the program: most end by themselves with the end of their input.
func (p *proxyConn) Close() error {
	p.once.Do(func() {
		_ = p.WriteCloser.Close()
		late := time.AfterFunc(lastWords, func() { kill(p.cmd) })
		_ = p.cmd.Wait() // its status says nothing: it may be killed
		late.Stop()
	})
	return nil
}

// LocalAddr implements net.Conn.
func (p *proxyConn) LocalAddr() net.Addr { return proxyAddr{} }

// RemoteAddr implements net.Conn.
func (p *proxyConn) RemoteAddr() net.Addr { return proxyAddr{} }

// SetDeadline implements net.Conn; the caller bounds the line by closing it.
func (p *proxyConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (p *proxyConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (p *proxyConn) SetWriteDeadline(time.Time) error { return nil }

type proxyAddr struct{}

func (proxyAddr) Network() string { return "ProxyCommand" }
func (proxyAddr) String() string  { return "ProxyCommand" }

// tail keeps the last of what a program prints.
type tail struct {
	most int // bytes; 0 is 2000
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-cmp.Or(t.most, 2000)):]
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.Join(strings.Fields(string(t.kept)), " ")
	if text == "" {
		return ""
	}
	return "; it said: " + text
}

// openFirst reaches the first machine of a chain, over the network or by a program.
func openFirst(ctx context.Context, h *hop) (net.Conn, error) {
	if h.proxy != "" {
		return startProxy(h)
	}
	d := net.Dialer{Control: setUserTimeout(h.interval * time.Duration(h.count+1))}
	if h.bind != "" {
		from, err := net.ResolveTCPAddr(h.family, net.JoinHostPort(h.bind, "0"))
		if err != nil {
			return nil, fmt.Errorf("BindAddress %s: %w", h.bind, err)
		}
		d.LocalAddr = from
	}
	return d.DialContext(ctx, h.family, h.address())
}
