package sshconn

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconfig"
)

// Jumps are the connections to jump hosts that several hosts share: one login for all that are reached the same way.
// sshd of a jump host drops logins beyond its MaxStartups, and a thousand hosts would be a thousand of them. The zero
// value is ready; nil shares nothing. It is safe for concurrent use.
type Jumps struct {
	Most int // hosts that share one connection; 0: 256

	mu  sync.Mutex
	all []*way
}

// usualMost leaves room: each host is a file of sshd's process for the connection, which may open 1,024.
const usualMost = 256

// way is one connection through jump hosts, and how many hosts use it.
type way struct {
	hops   []*sshconfig.Hop
	cancel context.CancelFunc
	users  int

	done chan struct{} // closed when conn or err is set
	conn *Conn
	err  error
}

// take gives the way through hops, and logs in if there is none yet. Whoever takes it leaves it once. Two ways are the
// same only if each setting of each hop is: another key or another policy is another login.
func (j *Jumps) take(ctx context.Context, hops []*sshconfig.Hop,
	login func(context.Context) (*Conn, error)) (*way, error) {
	j.mu.Lock()
	most := cmp.Or(j.Most, usualMost)
	i := slices.IndexFunc(j.all, func(w *way) bool {
		// In this order: ended is the only one that can change without the lock, and a way that ends later is
		// noticed by who opens a connection on it.
		return w.users < most && slices.EqualFunc(w.hops, hops, (*sshconfig.Hop).Same) && !w.ended()
	})
	if i < 0 {
		i = len(j.all)
		j.all = append(j.all, j.enter(ctx, hops, login))
	}
	w := j.all[i]
	w.users++
	j.mu.Unlock()
	var err error
	select {
	case <-w.done:
		err = w.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		j.leave(w)
		return nil, err
	}
	return w, nil
}

// enter logs in for all who wait: if the first of them gives up, the others go on.
func (j *Jumps) enter(ctx context.Context, hops []*sshconfig.Hop, login func(context.Context) (*Conn, error)) *way {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &way{hops: hops, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		if w.conn, w.err = login(ctx); w.err != nil {
			j.forget(w)
		}
	}()
	return w
}

// leave gives a way back; the last one closes it.
func (j *Jumps) leave(w *way) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if w.users--; w.users > 0 {
		return
	}
	j.drop(w)
	w.cancel()
	// In the background: closing waits for the peer, and the lock is held here.
	go func() {
		if <-w.done; w.conn != nil {
			w.conn.Close(ErrDropped)
		}
	}()
}

// forget has the next host log in anew. Who uses the way goes on with it.
func (j *Jumps) forget(w *way) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop(w)
}

// drop is forget for those that hold j.mu.
func (j *Jumps) drop(w *way) {
	j.all = slices.DeleteFunc(j.all, func(other *way) bool { return other == w })
}

// ended reports whether the connection was lost.
func (w *way) ended() bool {
	select {
	case <-w.done:
		return w.err != nil || w.conn.Lost()
	default:
		return false
	}
}

// open connects to a machine behind the jump hosts. If there is no answer in time, and none to a question to the jump
// host itself that was sent at the same moment, then it is the jump host that is silent: nobody waits for it again.
func (j *Jumps) open(ctx context.Context, w *way, address string) (net.Conn, error) {
	answered := make(chan struct{})
	go func() {
		if _, _, err := w.conn.client().SendRequest("keepalive@openssh.com", true, nil); err == nil {
			close(answered)
		}
	}()
	conn, err := w.conn.client().DialContext(ctx, "tcp", address)
	if errors.Is(context.Cause(ctx), os.ErrDeadlineExceeded) {
		select {
		case <-answered:
		default:
			j.forget(w)
		}
	}
	return conn, err
}
