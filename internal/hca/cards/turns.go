package cards

import (
	"context"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// turns has the commands of this process that open a card of one host run one after the
// other. The host's locks do the same for all processes, but a command that waits there
// holds a session, and sshd grants ten for each connection. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	hosts map[string]chan struct{}
}

// run runs a command in the host's turn, which ends with it.
func (t *turns) run(ctx context.Context, h host.Host, cmd shellcmd.Command) (host.Result, error) {
	t.mu.Lock()
	if t.hosts == nil {
		t.hosts = map[string]chan struct{}{}
	}
	if t.hosts[h.Name()] == nil {
		t.hosts[h.Name()] = make(chan struct{}, 1)
	}
	turn := t.hosts[h.Name()]
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return host.Result{}, context.Cause(ctx)
	}
	defer func() { <-turn }()
	return h.Run(ctx, cmd)
}
