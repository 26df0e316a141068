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
	waiting int           // standbys that wait or work
	busy    chan struct{} // holds a token while somebody works
}{busy: make(chan struct{}, 1)}

// gathering is how long a master waits for standbys of the same apply to show up.
const gathering = 300 * time.Millisecond

// Turn waits until a subnet manager may be changed: of those that run one at a
// time in this process, and the master after those that are not. leave lets the
// next one in. One that does not run yet takes nothing away from its fabric.
func Turn(ctx context.Context, o Observed) (leave func(), err error) {
	if !o.Active {
		return func() {}, nil
	}
	master := o.Master()
	if !master {
		count(1)
	} else if err = standbysFirst(ctx); err != nil {
		return nil, err
	}
	select {
	case turns.busy <- struct{}{}:
	case <-ctx.Done():
		if !master {
			count(-1)
		}
		return nil, context.Cause(ctx)
	}
	return func() {
		<-turns.busy
		if !master {
			count(-1)
		}
	}, nil
}

func count(by int) int {
	turns.Lock()
	defer turns.Unlock()
	turns.waiting += by
	return turns.waiting
}

func standbysFirst(ctx context.Context) error {
	for wait := gathering; ; wait = gathering / 10 {
		if !pause(ctx, wait) {
			return context.Cause(ctx)
		}
		if count(0) == 0 {
			return nil
		}
	}
}
