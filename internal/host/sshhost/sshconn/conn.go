package sshconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// Conn is one established connection, through however many hops.
type Conn struct {
	clients []*ssh.Client // the target last
	wires   []*wire
	Proofs  []Proof // of each machine on the way

	// Of a machine behind jump hosts whose connection is shared; else nil.
	via      *Conn
	leave    func() // gives via back
	reach    func(ctx context.Context, address string) (net.Conn, error)
	sessions *semaphore.Weighted

	once sync.Once
	gone chan struct{} // closed when the connection is lost or closed
	why  error         // set before gone is closed
}

// Proof is what one handshake has shown of one machine.
type Proof struct{ HostKey, Vouched, Login string }

func newConn(sessions int) *Conn {
	return &Conn{sessions: semaphore.NewWeighted(int64(sessions)), gone: make(chan struct{})}
}

func (l *Conn) client() *ssh.Client { return l.clients[len(l.clients)-1] }

// Turns is the number of waits so far for any hop that is not shared.
func (l *Conn) Turns() (n int) {
	for _, w := range l.wires {
		n += int(w.turns.Load())
	}
	return n
}

// Close ends the connection; the first reason is the one that Why tells.
func (l *Conn) Close(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.gone)
		// The target first: its farewell goes through the hops before it.
		for i := len(l.clients) - 1; i >= 0; i-- {
			_ = l.clients[i].Close()
		}
		// A hop whose handshake has not ended has a wire, and no client yet.
		for _, w := range l.wires {
			_ = w.Close()
		}
		if l.via != nil {
			l.leave()
		}
	})
}

// Why is the reason for which the connection ended; nil before.
func (l *Conn) Why() error {
	if !l.Lost() {
		return nil
	}
	return l.why
}

// Lost reports whether the connection ended.
func (l *Conn) Lost() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// LostSoon reports whether the connection is lost, for use when something on it
// ended too early: the end of the whole may be noticed a moment after its parts.
func (l *Conn) LostSoon() bool {
	moment := time.NewTimer(100 * time.Millisecond)
	defer moment.Stop()
	select {
	case <-l.gone:
		return true
	case <-moment.C:
		return false
	}
}

// reason prefers what is known about the connection over what a channel says.
func (l *Conn) reason(err error) error {
	if l.LostSoon() {
		return l.why
	}
	return err
}

var (
	// ErrDropped is the reason of a connection that nobody needs any more.
	ErrDropped = errors.New("the connection was closed by this side")
	// ErrSilent is a host that does not answer, as far as this side can see.
	ErrSilent = errors.New("the host stopped answering")
)

// watch notices the loss of the connection: at once if the other side closes it,
// after some unanswered keepalives if it falls silent.
func (l *Conn) watch(h *sshconfig.Hop) {
	client := l.client()
	go func() {
		err := client.Wait()
		if l.via != nil && l.via.LostSoon() {
			l.Close(l.via.Why()) // a jump host that fell silent says more than the end of what went through it
			return
		}
		if err == nil {
			err = errors.New("the host closed the connection")
		}
		l.Close(fmt.Errorf("connection lost: %w", err))
	}()
	if h.Interval > 0 {
		go l.keepAlive(client, h.Interval, h.Count)
	}
}

// Any server answers: one that does not know the request has to refuse it (RFC 4254, section 4), and a
// refusal is a sign of life too.
func (l *Conn) keepAlive(client *ssh.Client, interval time.Duration, count int) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	// Room for one: an answer that comes after the end must not keep its goroutine.
	answers := make(chan struct{}, 1)
	pending, missed := false, 0
	for {
		select {
		case <-l.gone:
			return
		case <-answers:
			pending, missed = false, 0
		case <-ticker.C:
			// One request at a time: on a dead way they would pile up in the kernel's buffer.
			if pending {
				if missed++; missed >= count {
					l.Close(fmt.Errorf("connection lost: %w: %d keepalives in %s without an answer", ErrSilent, missed,
						interval*time.Duration(missed)))
					return
				}
				continue
			}
			pending = true
			go func() {
				// An error means that the connection is lost; Wait says why.
				if _, _, err := client.SendRequest("keepalive@openssh.com", true, nil); err == nil {
					answers <- struct{}{}
				}
			}()
		}
	}
}

// Channel is one open session with its place among those allowed.
type Channel struct {
	ssh.Channel
	Requests <-chan *ssh.Request
	release  func()
	tries    int // it took to open: one round trip each
}

// Shut gives the place back and closes the channel, once.
func (c *Channel) Shut() {
	_ = c.Close()
	c.release()
}

// openTries bounds the attempts to open a session that the server refuses:
// another user of the same connection may just have closed one, and sshd counts
// it until its process is gone.
const openTries = 4

// Open opens a session. Nothing has been asked of the host when it fails.
func (l *Conn) Open(ctx context.Context) (*Channel, error) {
	if err := l.sessions.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for a free session: %w", context.Cause(ctx))
	}
	release := sync.OnceFunc(func() { l.sessions.Release(1) })
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		c, err := l.openOnce(ctx, release)
		var refused *ssh.OpenChannelError
		if err == nil {
			c.tries = try
			return c, nil
		}
		// Only a refusal is worth another attempt. It is also the only end after which the connection serves on.
		if !errors.As(err, &refused) {
			release()
			if ctx.Err() == nil {
				// Anything but a refusal is the connection's end, seen before watch saw it.
				l.Close(fmt.Errorf("connection lost: %w", err))
				err = l.why
			}
			return nil, err
		}
		if try == openTries {
			release()
			return nil, err
		}
		if err := poll.Pause(ctx, pause); err != nil {
			release()
			return nil, err
		}
		// 50, 150 and 450 ms: longer than sshd's process of a session takes to end.
		pause *= 3
	}
}

func (l *Conn) openOnce(ctx context.Context, release func()) (*Channel, error) {
	type opened struct {
		c   *Channel
		err error
	}
	result := make(chan opened, 1)
	go func() {
		ch, requests, err := l.client().OpenChannel("session", nil)
		if err != nil {
			result <- opened{err: err}
			return
		}
		result <- opened{c: &Channel{Channel: ch, Requests: requests, release: release}}
	}()
	select {
	case r := <-result:
		return r.c, r.err
	case <-ctx.Done():
	case <-l.gone:
	}
	// The answer may still come; then nobody wants the session any more.
	go func() {
		if r := <-result; r.err == nil {
			go ssh.DiscardRequests(r.c.Requests)
			_ = r.c.Close()
		}
	}()
	if l.Lost() {
		return nil, l.why
	}
	return nil, context.Cause(ctx)
}
