package opensm

import (
	"context"
	"sync"
	"time"
)

// The changes of one apply reach this process at nearly the same time, in no
// order. Two that restart at once would leave the fabric without any subnet
// manager, and a master that goes first makes it change hands twice.
var turns = struct {
	sync.Mutex
	coming  int           // those of which it is not known yet whether they are standbys to change
	waiting int           // standbys that wait or work
	busy    chan struct{} // holds a token while somebody works
}{busy: make(chan struct{}, 1)}

const (
	// gathering is how long it has to be quiet before a master goes: Terraform asks
	// to plan and then to apply, with a moment in between.
	gathering = 300 * time.Millisecond
	// comingTimeout bounds how long a master waits for those that are only coming,
	// which may be of other fabrics, and hundreds.
	comingTimeout = time.Minute
)

// Coming announces a subnet manager that may turn out to be a standby that will be
// changed, before its host is asked: hosts answer late and in any order. The
// caller says when that is known.
func Coming() (known func()) {
	change(1, 0)
	return sync.OnceFunc(func() { change(-1, 0) })
}

// Turn waits until a subnet manager may be changed: of those that run one at a
// time in this process, and the master after those that are not. known ends what
// Coming began. leave lets the next one in. One that does not run yet takes nothing
// away from its fabric.
func Turn(ctx context.Context, o Observed, known func()) (leave func(), err error) {
	if !o.Active {
		known()
		return func() {}, nil
	}
	master := o.Master()
	if !master {
		change(0, 1)
	}
	known()
	if master {
		if err = standbysFirst(ctx); err != nil {
			return nil, err
		}
	}
	select {
	case turns.busy <- struct{}{}:
	case <-ctx.Done():
		if !master {
			change(0, -1)
		}
		return nil, context.Cause(ctx)
	}
	return func() {
		<-turns.busy
		if !master {
			change(0, -1)
		}
	}, nil
}

func change(coming, waiting int) (allComing, allWaiting int) {
	turns.Lock()
	defer turns.Unlock()
	turns.coming += coming
	turns.waiting += waiting
	return turns.coming, turns.waiting
}

func standbysFirst(ctx context.Context) error {
	const look = gathering / 10
	begin := time.Now()
	for quiet := time.Duration(0); quiet < gathering; quiet += look {
		if !pause(ctx, look) {
			return context.Cause(ctx)
		}
		coming, waiting := change(0, 0)
		if waiting > 0 || coming > 0 && time.Since(begin) < comingTimeout {
			quiet = 0
		}
	}
	return nil
}
