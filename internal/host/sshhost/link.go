package sshhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"

	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// link is one established connection, through however many hops.
type link struct {
	clients  []*ssh.Client // the target last
	wires    []*wire
	proofs   []proof // of each machine on the way
	sessions *semaphore.Weighted

	once sync.Once
	gone chan struct{} // closed when the connection is lost or closed
	why  error         // set before gone is closed
}

func newLink(sessions int) *link {
	return &link{sessions: semaphore.NewWeighted(int64(sessions)), gone: make(chan struct{})}
}

func (l *link) client() *ssh.Client { return l.clients[len(l.clients)-1] }

// turns is the number of waits for any hop so far.
func (l *link) turns() (n int) {
	for _, w := range l.wires {
		n += int(w.turns.Load())
	}
	return n
}

func (l *link) close(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.gone)
		for i := len(l.clients) - 1; i >= 0; i-- {
			_ = l.clients[i].Close()
		}
		for _, w := range l.wires {
			_ = w.Close()
		}
	})
}

func (l *link) lost() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// lostSoon reports whether the connection is lost, for use when something on it
// ended too early: the end of the whole may be noticed a moment after its parts.
func (l *link) lostSoon() bool {
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
func (l *link) reason(err error) error {
	if l.lostSoon() {
		return l.why
	}
	return err
}

var (
	errDropped = errors.New("the connection was closed by this side")
	errSilent  = errors.New("the host stopped answering")
)

// watch notices the loss of the connection: at once if the other side closes it,
// after some unanswered keepalives if it falls silent.
func (l *link) watch(h *hop) {
	client := l.client()
	go func() {
		err := client.Wait()
		if err == nil {
			err = errors.New("the host closed the connection")
		}
		l.close(fmt.Errorf("connection lost: %w", err))
	}()
	if h.interval > 0 {
		go l.keepAlive(client, h.interval, h.count)
	}
}

func (l *link) keepAlive(client *ssh.Client, interval time.Duration, count int) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	answers := make(chan struct{}, 1)
	pending, missed := false, 0
	for {
		select {
		case <-l.gone:
			return
		case <-answers:
			pending, missed = false, 0
		case <-ticker.C:
			if pending {
				if missed++; missed >= count {
					l.close(fmt.Errorf("connection lost: %w: %d keepalives in %s without an answer", errSilent, missed,
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

// channel is one open session with its place among those allowed.
type channel struct {
	ssh.Channel
	requests <-chan *ssh.Request
	release  func()
	tries    int // it took to open: one round trip each
}

// shut gives the place back and closes the channel, once.
func (c *channel) shut() {
	_ = c.Close()
	c.release()
}

// openTries bounds the attempts to open a session that the server refuses:
// another user of the same connection may just have closed one, and sshd counts
// it until its process is gone.
const openTries = 4

// open opens a session. Nothing has been asked of the host when it fails.
func (l *link) open(ctx context.Context) (*channel, error) {
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
		if !errors.As(err, &refused) {
			release()
			if ctx.Err() == nil {
				// Anything but a refusal is the connection's end, seen before watch saw it.
				l.close(fmt.Errorf("connection lost: %w", err))
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
		pause *= 3
	}
}

func (l *link) openOnce(ctx context.Context, release func()) (*channel, error) {
	type opened struct {
		c   *channel
		err error
	}
	result := make(chan opened, 1)
	go func() {
		ch, requests, err := l.client().OpenChannel("session", nil)
		if err != nil {
			result <- opened{err: err}
			return
		}
		result <- opened{c: &channel{Channel: ch, requests: requests, release: release}}
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
			go ssh.DiscardRequests(r.c.requests)
			_ = r.c.Close()
		}
	}()
	if l.lost() {
		return nil, l.why
	}
	return nil, context.Cause(ctx)
}
