package benchmark

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// sweptHost is a host whose port becomes Active some time after the first look.
type sweptHost struct {
	host.Host
	after time.Duration
	begin time.Time
}

func (h *sweptHost) Name() string { return "a" }

func (h *sweptHost) Run(context.Context, shellcmd.Command) (host.Result, error) {
	state := "2: INIT"
	if time.Since(h.begin) >= h.after {
		state = "4: ACTIVE"
	}
	return host.Result{Stdout: []byte(state + "\n5: LinkUp\nInfiniBand\n0x1\n0x1\n0x2\n")}, nil
}

// A port that has just got its link is waited for, and after it the interface above it.
// What is still missing when the time is over is named.
func TestAwaitSweep(t *testing.T) {
	over := errors.New("timeouts.create = 20s is over")
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		after time.Duration // the port is Active
		joins time.Duration // the interface carries packets
		limit time.Duration // of the operation
		fails error         // of the look at the way
		says  []string      // nil: it ends well
		least time.Duration
	}{
		"a sweep":                  {9 * time.Second, 9 * time.Second, time.Hour, nil, nil, 9 * time.Second},
		"an interface joins later": {3 * time.Second, 12 * time.Second, time.Hour, nil, nil, 12 * time.Second},
		"no subnet manager": {time.Hour, time.Hour, time.Hour, nil,
			[]string{"port 1 is Initializing. This did not change within 1m15s"}, sweep},
		"no partition": {3 * time.Second, time.Hour, time.Hour, nil,
			[]string{"no carrier. This did not change within 1m15s"}, sweep},
		"the timeout": {time.Hour, time.Hour, 20 * time.Second, nil,
			[]string{"port 1 is Initializing. This did not change until timeouts.create = 20s is over"}, 20 * time.Second},
		"the host fails": {3 * time.Second, time.Hour, time.Hour, broken, []string{"broken"}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.limit, over)
				defer cancel()
				err := awaitSweep(ctx, &NoWayError{"b", "a", "port 1 is Initializing"},
					[]idlePort{{&sweptHost{after: c.after, begin: begin}, "mlx4_0", 1}}, func(context.Context) error {
						switch {
						case c.fails != nil:
							return c.fails
						case time.Since(begin) < c.joins:
							return &NoWayError{"b", "a", "no carrier"}
						}
						return nil
					})
				if (err == nil) != (c.says == nil) || time.Since(begin) < c.least {
					t.Errorf("after %s: %v", time.Since(begin), err)
				}
				for _, want := range c.says {
					if err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("want %q in %v", want, err)
					}
				}
			})
		})
	}
}
