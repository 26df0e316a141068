package cards

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// counted is a host that counts the commands that run at a time; each ends when gate
// lets it.
type counted struct {
	host.Host
	name       string
	began      chan struct{}
	gate       chan struct{}
	now, total atomic.Int32
	together   atomic.Bool
}

func (h *counted) Name() string { return h.name }

func (h *counted) Run(ctx context.Context, _ shellcmd.Command) (host.Result, error) {
	if h.now.Add(1) > 1 {
		h.together.Store(true)
	}
	h.total.Add(1)
	h.began <- struct{}{}
	defer h.now.Add(-1)
	select {
	case <-h.gate:
		return host.Result{}, nil
	case <-ctx.Done():
		return host.Result{}, ctx.Err()
	}
}

func newCounted(name string) *counted {
	return &counted{name: name, began: make(chan struct{}, 8), gate: make(chan struct{}, 8)}
}

// TestTurns_reads_of_one_host holds that parallel reads of this process ask a host one at
// a time, that another host is not kept waiting, and that who waits can be stopped.
func TestTurns_reads_of_one_host(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, busy, other := New(Config{}), newCounted("a"), newCounted("b")
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	read := func(ctx context.Context, h *counted) error {
		_, _, err := o.ask(ctx, h, pci, mstflint.Checksum(pci))
		return err
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := read(ctx, busy); err != nil {
				t.Error(err)
			}
		})
	}
	<-busy.began
	other.gate <- struct{}{}
	if err := read(ctx, other); err != nil {
		t.Error(err)
	}
	stopped, stop := context.WithCancelCause(ctx)
	why := errors.New("stopped by the operator")
	stop(why)
	if err := read(stopped, busy); !errors.Is(err, why) {
		t.Errorf("a read that was stopped while it waits: %v", err)
	}
	for range 4 {
		busy.gate <- struct{}{}
	}
	all.Wait()
	if busy.together.Load() || busy.total.Load() != 4 {
		t.Errorf("%d reads, together: %t", busy.total.Load(), busy.together.Load())
	}
}
