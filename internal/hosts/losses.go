package hosts

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Losses are the hosts that one request needed and that did not answer. It is safe for
// concurrent use.
type Losses struct {
	mu  sync.Mutex
	all map[string]error
}

type lossesKey struct{}

// WithLosses gives a context whose questions to hosts are watched.
func WithLosses(ctx context.Context) (context.Context, *Losses) {
	l := &Losses{all: map[string]error{}}
	return context.WithValue(ctx, lossesKey{}, l), l
}

// WithoutLosses gives one for a look at hosts that the request can do without.
func WithoutLosses(ctx context.Context) context.Context {
	return context.WithValue(ctx, lossesKey{}, (*Losses)(nil))
}

// All gives the last error of each host, by name.
func (l *Losses) All() map[string]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

func noteLoss(ctx context.Context, name string, err error) {
	l, _ := ctx.Value(lossesKey{}).(*Losses)
	if l == nil || !IsAway(err) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[name] = err
}

// IsAway reports whether err says that a host did not answer. One that refuses the key, or
// shows a wrong one, has answered.
func IsAway(err error) bool {
	var lost *host.UnreachableError
	return errors.As(err, &lost) && !lost.Lasting()
}

// IsDown reports whether the next attempt would end as this one did: no connection came about,
// the login failed, or the host was silent until a limit ran out.
func IsDown(err error) bool {
	var lost *host.UnreachableError
	return errors.As(err, &lost) && (lost.Lasting() || lost.Op == host.OpConnect || lost.Silent)
}
