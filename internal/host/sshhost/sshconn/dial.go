package sshconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/knownhosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
)

// dialError is one failed attempt to reach one hop.
type dialError struct {
	hop    *sshconfig.Hop
	op     string // as host.UnreachableError.Op
	advice string
	passes bool // another attempt may succeed
	err    error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// Dial reaches the last hop through the ones before it, and tries again while
// the failure is one that passes: sshd drops connections beyond MaxStartups
// before its banner, and a host that boots refuses them. The way through jump hosts is one of jumps.
func Dial(ctx context.Context, name string, chain []*sshconfig.Hop, cfg sshconfig.Config, jumps *Jumps) (*Conn, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 300*time.Millisecond, 3*time.Second
	tries := 0
	l, err := backoff.Retry(ctx, func() (*Conn, error) {
		tries++
		l, err := attempt(ctx, chain, cfg.MaxSessions, jumps)
		var failed *dialError
		if errors.As(err, &failed) && (!failed.passes || cfg.GiveUpEarly && errors.Is(failed.err, os.ErrDeadlineExceeded)) {
			return nil, backoff.Permanent(err)
		}
		return l, err
		// Attempts are the bound; the library's own of 15 minutes would cut a long ConnectTimeout short.
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(uint(cfg.ConnectAttempts)), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return nil, unreachable(name, chain, tries, err)
	}
	return l, nil
}

// unreachable turns the last attempt's failure into the error that callers see.
func unreachable(name string, chain []*sshconfig.Hop, tries int, err error) error {
	target := chain[len(chain)-1]
	out := &host.UnreachableError{Host: name, Address: target.Address(), Op: host.OpConnect, Err: err}
	var failed *dialError
	if !errors.As(err, &failed) {
		return out
	}
	out.Op, out.Advice, out.Err = failed.op, failed.advice, failed.err
	if tries > 1 {
		out.Err = fmt.Errorf("%w (%d attempts)", failed.err, tries)
	}
	if failed.hop != target {
		out.Err = fmt.Errorf("jump host %s: %w", failed.hop.Address(), out.Err)
	}
	return out
}

// attempt dials every hop once, or takes the way through all but the last from jumps.
func attempt(ctx context.Context, chain []*sshconfig.Hop, sessions int, jumps *Jumps) (*Conn, error) {
	l := newConn(sessions)
	own := chain
	if before := len(chain) - 1; jumps != nil && before > 0 {
		w, err := jumps.take(ctx, chain[:before], func(ctx context.Context) (*Conn, error) {
			// One session is never used: what goes through a jump host are forwarded connections, which sshd's
			// MaxSessions does not count.
			return attempt(ctx, chain[:before], 1, nil)
		})
		if err != nil {
			return nil, err
		}
		l.via, l.leave, l.Proofs = w.conn, func() { jumps.leave(w) }, slices.Clone(w.conn.Proofs)
		l.reach = func(ctx context.Context, address string) (net.Conn, error) { return jumps.open(ctx, w, address) }
		own = chain[before:]
	}
	for _, h := range own {
		client, err := step(ctx, h, l)
		if err != nil {
			l.Close(err)
			return nil, err
		}
		l.clients = append(l.clients, client)
	}
	l.watch(chain[len(chain)-1])
	return l, nil
}

// step dials one hop, from here or through the hop before it.
func step(ctx context.Context, h *sshconfig.Hop, l *Conn) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout,
		fmt.Errorf("no answer within %s: %w", h.Timeout, os.ErrDeadlineExceeded))
	defer cancel()
	conn, err := open(ctx, h, l)
	if err != nil {
		return nil, connectError(ctx, h, err)
	}
	// Before the handshake: who closes the connection meanwhile has to find it.
	w := &wire{Conn: conn}
	l.wires = append(l.wires, w)
	client, seen, err := handshake(ctx, h, w)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	l.Proofs = append(l.Proofs, seen)
	return client, nil
}

func open(ctx context.Context, h *sshconfig.Hop, l *Conn) (net.Conn, error) {
	if n := len(l.clients); n > 0 {
		// The jump host resolves the name, and chooses the family.
		return l.clients[n-1].DialContext(ctx, "tcp", h.Address())
	}
	if l.reach != nil {
		return l.reach(ctx, h.Address())
	}
	return openFirst(ctx, h)
}

// meeting is one handshake with one machine.
type meeting struct {
	hop   *sshconfig.Hop
	wire  *wire
	trust *knownhosts.Trust
	login *auth.Login
}

// handshake agrees on keys, checks the host's, and logs in. The library knows no
// context; closing the connection is what ends it.
func handshake(ctx context.Context, h *sshconfig.Hop, w *wire) (*ssh.Client, Proof, error) {
	t, err := knownhosts.NewTrust(&h.Trust)
	if err != nil {
		return nil, Proof{}, &dialError{hop: h, op: host.OpVerify, err: err, advice: knownhosts.ListAdvice(err)}
	}
	ring, err := auth.Load(ctx, &h.Keys)
	if err != nil {
		return nil, Proof{}, &dialError{hop: h, op: host.OpKey, err: err, advice: auth.KeyAdvice(err)}
	}
	defer ring.Close()
	l := &auth.Login{Credentials: &h.Keys, Ring: ring, Lost: w.failed.Load}
	stop := context.AfterFunc(ctx, func() { _ = w.Close(); ring.Close() })
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(w, h.Address(), &ssh.ClientConfig{
		User:              h.User,
		HostKeyCallback:   t.Check,
		HostKeyAlgorithms: t.Algorithms(),
		AuthCallback:      l.Choose,
		// sshd logs it, so that the host's owner sees who called.
		ClientVersion: "SSH-2.0-terraform-provider-infiniband",
	})
	if err != nil {
		return nil, Proof{}, (&meeting{h, w, t, l}).failure(ctx, err)
	}
	return ssh.NewClient(conn, channels, requests), Proof{knownhosts.Describe(t.Shown), t.Vouched, l.AcceptedBy()}, nil
}

// connectError says why a hop could not be reached at all.
func connectError(ctx context.Context, h *sshconfig.Hop, err error) *dialError {
	e := &dialError{hop: h, op: host.OpConnect, err: err, passes: true}
	var dns *net.DNSError
	var refused *ssh.OpenChannelError
	switch {
	case h.Proxy != "":
		e.advice = fmt.Sprintf("ssh would reach this host by the same program, the ProxyCommand of the SSH client "+
			"configuration. Run it by hand: %s", h.Proxy)
	case errors.As(err, &dns):
		// A name that does not exist will not do so in a second.
		e.passes = dns.IsTemporary || dns.IsTimeout
		e.advice = fmt.Sprintf("The name %s does not resolve here. Check the host's address, or give it a HostName in "+
			"~/.ssh/config.", h.Host)
	case errors.As(err, &refused):
		e.advice = "The jump host could not connect to this host. Check the address as the jump host sees it, and " +
			"AllowTcpForwarding there."
		// A host that boots refuses the jump host too. One that is prohibited stays so.
		e.passes = refused.Reason == ssh.ConnectionFailed || refused.Reason == ssh.ResourceShortage
	case errors.Is(err, syscall.ECONNREFUSED):
		e.advice = fmt.Sprintf("The machine answers, but nothing listens on port %d. Check that sshd runs there and that "+
			"the port is right.", h.Port)
	case isHangup(err):
		e.advice = adviceDropped
	default:
		e.advice = "Check that the host is switched on, that address and port are right, and that no firewall is in between."
	}
	// The dialer only says that it was cancelled; the cause has the limit, or who gave up.
	if cause := context.Cause(ctx); cause != nil {
		e.err = cause
		e.passes = errors.Is(cause, os.ErrDeadlineExceeded)
	}
	return e
}

// failure sorts what went wrong after the connection stood.
func (m *meeting) failure(ctx context.Context, err error) *dialError {
	h, t := m.hop, m.trust
	var key *knownhosts.Error
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case errors.As(err, &key):
		return &dialError{hop: h, op: host.OpVerify, err: key, advice: key.Advice}
	case errors.As(err, &negotiation) && negotiation.What == "host key":
		if errors.As(t.NoCommonKey(negotiation), &key) {
			return &dialError{hop: h, op: host.OpVerify, err: key, advice: key.Advice}
		}
	case errors.As(err, &negotiation):
		return &dialError{hop: h, op: host.OpConnect, err: err,
			advice: "The host's SSH server is too old or too restricted for this client; allow one of the algorithms offered."}
	case context.Cause(ctx) != nil:
		return m.late(ctx, err)
	// A program that ends before a key came is a way that was not there, not a handshake that failed.
	case t.Shown == nil && h.Proxy != "":
		return connectError(ctx, h, err)
	case t.Shown == nil:
		return &dialError{hop: h, op: host.OpConnect, err: err, passes: isHangup(err),
			advice: adviceDropped}
	}
	return m.refusal(err)
}

// late says that a handshake did not end in time.
func (m *meeting) late(ctx context.Context, err error) *dialError {
	h, t := m.hop, m.trust
	if p, ok := m.wire.Conn.(*proxyConn); ok && t.Shown == nil {
		// Nobody saw a port, only a program from which no key came.
		e := connectError(ctx, h, err)
		e.err = fmt.Errorf("no SSH server answered through the ProxyCommand%s: %w", p.said.Said(), e.err)
		return e
	}
	cause := context.Cause(ctx)
	return &dialError{hop: h, op: host.OpConnect, err: fmt.Errorf("the SSH handshake did not end: %w", cause),
		advice: "The port is open, but no SSH server answered in time. Check that the port belongs to sshd, and whether " +
			"the host is overloaded or its logins hang.",
		passes: errors.Is(cause, os.ErrDeadlineExceeded) && t.Shown == nil}
}

// refusal says why a host that was trusted did not let the user in.
func (m *meeting) refusal(err error) *dialError {
	failed := m.login.Failure()
	if isHangup(err) || m.login.Closed {
		return m.closedInLogin(failed)
	}
	var refused *auth.Error
	if !errors.As(err, &refused) {
		failed.Notes = append(failed.Notes, fmt.Sprintf("the server ended the attempt: %v", err))
	}
	op := host.OpAuthenticate
	if len(failed.Tried) == 0 {
		op = host.OpOffer
	}
	return &dialError{hop: m.hop, op: op, err: failed, advice: failed.Advice()}
}

// closedInLogin is a login that the server broke off without a refusal. It is tried
// again while that is safe: a password is never sent twice, and a server may count
// refused keys.
func (m *meeting) closedInLogin(so *auth.Error) *dialError {
	text := "the connection was closed during the login"
	if len(so.Tried) > 0 {
		text += fmt.Sprintf("; tried until then: %s", auth.List(so.Tried))
	}
	return &dialError{hop: m.hop, op: host.OpConnect, err: errors.New(text), advice: adviceClosed,
		passes: !m.login.Spent && len(so.Tried) <= 1}
}

const adviceClosed = "The host did not say that a key or password is wrong. " +
	"sshd closes connections beyond its MaxStartups, after LoginGraceTime, and while the host shuts down; its log says " +
	"why. Run it again."

const adviceDropped = "The connection was closed before the host showed a key. " +
	"sshd does so beyond its MaxStartups, and while the host shuts down; other programs on that port do so too."

// isHangup reports whether the other side only closed the connection.
func isHangup(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
