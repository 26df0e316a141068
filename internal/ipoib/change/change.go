package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// Options tune how a change is confirmed; the zero value is what users get.
type Options struct {
	// ConfirmTimeout is how long the host waits for the confirmation over a new
	// connection before it undoes the change by itself; zero means 90 seconds.
	ConfirmTimeout time.Duration
	// SettleTimeout is how long the interface may take to show what was
	// configured; zero means 15 seconds.
	SettleTimeout time.Duration
	// Poll is the pause between two looks; zero means 300 milliseconds.
	Poll time.Duration
}

func (o Options) withDefaults() Options {
	return Options{cmp.Or(o.ConfirmTimeout, 90*time.Second), cmp.Or(o.SettleTimeout, 15*time.Second),
		cmp.Or(o.Poll, 300*time.Millisecond)}
}

// Result is what Apply and Remove did.
type Result = managed.Result[*found.Look]

// change carries one Apply or Remove through its steps.
type change struct {
	name     string // names this change on the host
	h        *hosts.Host
	d        ipoib.Request
	o        Options
	plat     platform.Platform
	net      stack
	look     *found.Look       // of the host before the change
	t        found.Target      // the interface as this change writes files for it
	present  bool              // there is an interface now
	taken    []found.Unmanaged // definitions of others that the change takes over
	aside    []aside           // files that the change keeps beside their places
	warnings []string
	left     []string

	removing   bool
	checkpoint string        // of NetworkManager, while the change is not confirmed
	committed  bool          // TrueNAS: a transaction of this change was checked in already
	stored     midclt.Stored // TrueNAS: what the middleware has stored, but for what is not checked in
}

// stack is a host's way of configuring an interface.
type stack interface {
	apply(ctx context.Context, c *change) error
	remove(ctx context.Context, c *change) error
	// recover undoes an earlier change that was never confirmed, and says what became of
	// it; empty if there was none.
	recover(ctx context.Context, c *change) (string, error)
}

// read reads the host; it collects anew only if something was changed.
func (c *change) read(ctx context.Context) error {
	s, err := c.h.Snapshot(ctx)
	if err != nil {
		return err
	}
	c.look = found.At(s, c.d.Ref())
	c.t, c.present = c.look.Target, c.look.Present
	return nil
}

// within calls look until it reports done, it fails, or limit has passed. The limit is for
// what is awaited and not for the host's answers, which on a busy host may take longer:
// it cuts no look off, and what came during the last one is seen by one more.
func within(ctx context.Context, limit, pause time.Duration, look func(context.Context) (bool, error)) error {
	until, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	err := poll.Until(until, pause, pause, func(context.Context) (bool, error) { return look(ctx) })
	if until.Err() == nil || ctx.Err() != nil || !errors.Is(err, context.Cause(until)) {
		return err
	}
	if done, failed := look(ctx); done || failed != nil {
		return failed
	}
	return err
}

// driver is what differs in how the network stacks that are configured by files take these files.
// fileStack has the rest, above all the guard. What the files say is in package found.
type driver interface {
	// take makes the stack apply the written files now.
	take(ctx context.Context, c *change, want ipoib.Config) error
	// note makes the stack read the written files where the interface already is as they
	// say.
	note(ctx context.Context, c *change) error
	// release makes the stack forget the interface after our files were removed.
	release(ctx context.Context, c *change) error
	// way says how an undo makes the stack read its files again.
	way() netundo.Stack
}

// fileStack is a network stack that is configured by files. The host undoes a change by
// a transient timer, or at its next boot, unless the change is confirmed.
type fileStack struct{ driver }

// guard is the undo of this change. It is named after the interface, so that a second apply of the
// same interface meets it, and after the change, so that neither takes the other's steps for its own.
func (c *change) guard() netundo.Guard { return netundo.Guard{ID: c.t.ID(), Change: c.name} }

// checkpointLead is how long before the timer NetworkManager rolls back by itself. The
// timer then restores the files byte by byte.
const checkpointLead = 3 * time.Second

// aside is a file that the change keeps beside its place.
type aside struct{ path, saved string }

// errNoTime ends a step that the host would not have time for.
var errNoTime = errors.New("no time is left before the host undoes the change")

// inTime bounds a step so that it ends long before the host undoes the change. A change
// that cuts its own connection blocks until the undo restores it. If it went on then,
// it would cut the connection for good.
func (c *change) inTime(ctx context.Context, do func(context.Context) error) error {
	// Two thirds leave time to undo over the same connection before the timer does it without one.
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3, errNoTime)
	defer cancel()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoTime) {
		return fmt.Errorf("%w: %w", errNoTime, err)
	}
	return err
}

// run runs a step of the change. A step that was sent before the connection was cut may
// arrive after the undo; the host does not run it then.
func (c *change) run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	// Only what changes: a look after the undo does no harm.
	if cmd.Changing() {
		cmd = c.guard().Step(cmd)
	}
	return c.h.Run(ctx, cmd)
}

// trueNASStack is the middleware. It commits what it stores with its own rollback
// timer, and the check-in comes over a new connection. It does not know the mode, which
// becomes a udev tunable.
type trueNASStack struct{}
