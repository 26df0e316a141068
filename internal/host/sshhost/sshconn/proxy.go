package sshconn

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
)

// proxyConn is a connection through the program of a ProxyCommand: its standard input
// and output are the line.
type proxyConn struct {
	io.WriteCloser
	io.Reader
	cmd  *exec.Cmd
	said *sshconfig.Tail
	once sync.Once
}

// startProxy runs the program as ssh does: by the user's shell with exec, so that the
// process to end is the program itself.
func startProxy(h *sshconfig.Hop) (net.Conn, error) {
	p := &proxyConn{said: &sshconfig.Tail{}}
	if runtime.GOOS == "windows" {
		p.cmd = exec.Command("cmd", "/c", h.Proxy) //nolint:gosec,noctx // the operator's own command, for as long as the line
	} else {
		shell := cmp.Or(os.Getenv("SHELL"), "/bin/sh")
		p.cmd = exec.Command(shell, "-c", "exec "+h.Proxy) //nolint:gosec,noctx // as above
	}
	// Without a context: the program lives as long as the line, not as the attempt that started it.
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
		return nil, fmt.Errorf("ProxyCommand %q does not start: %w", h.Proxy, err)
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
	return fmt.Errorf("the ProxyCommand ended%s: %w", p.said.Said(), err)
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

// openFirst reaches the first machine of a chain, over the network or by a program.
func openFirst(ctx context.Context, h *sshconfig.Hop) (net.Conn, error) {
	if h.Proxy != "" {
		return startProxy(h)
	}
	d := net.Dialer{Control: setUserTimeout(h.Interval * time.Duration(h.Count+1))}
	if h.Bind != "" {
		from, err := net.ResolveTCPAddr(h.Family, net.JoinHostPort(h.Bind, "0"))
		if err != nil {
			return nil, fmt.Errorf("BindAddress %s: %w", h.Bind, err)
		}
		d.LocalAddr = from
	}
	return d.DialContext(ctx, h.Family, h.Address())
}
