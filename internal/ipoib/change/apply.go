package change

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// Defaults of Options.
const (
	defaultConfirmTimeout = 90 * time.Second
	defaultSettleTimeout  = 15 * time.Second
	defaultPoll           = 300 * time.Millisecond
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
	if o.ConfirmTimeout <= 0 {
		o.ConfirmTimeout = defaultConfirmTimeout
	}
	if o.SettleTimeout <= 0 {
		o.SettleTimeout = defaultSettleTimeout
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	return o
}

// Result is what Apply and Remove did.
type Result = managed.Result[*found.Look]

// Apply makes the interface what d says, now and at boot. It is safe to repeat.
// It checks d again; what blocks is *safety.RefusedError. A change that could not be
// confirmed over a new connection is *UnconfirmedError.
func Apply(ctx context.Context, h *hosts.Host, d ipoib.Request, o Options) (Result, error) {
	o = o.withDefaults()
	c, err := begin(ctx, h, d, o)
	if err != nil {
		return Result{}, err
	}
	if err = c.prepare(ctx); err != nil {
		return Result{}, err
	}
	if !c.look.ToDo(c.d) {
		return Result{Look: c.look, Warnings: c.warnings}, nil
	}
	c.takeOver()
	if err = c.freeNames(ctx); err != nil {
		return Result{}, err
	}
	expected := judge.NotActivated(c.look, c.d)
	if err = c.noted(ctx, c.d.Config.Words(), c.net.apply); err != nil {
		if e := (*UnconfirmedError)(nil); errors.As(err, &e) {
			e.Expected = cmp.Or(e.Expected, expected, mtuRefused(e.Err, c.t.Name, c.d))
		}
		return Result{Changed: true}, err
	}
	c.noteAside()
	c.awaitGroup(ctx)
	r, err := c.result(ctx, d)
	if err != nil {
		return r, err
	}
	if said := judge.GroupMissing(r.Look, d); said != "" {
		r.Warnings = append(r.Warnings, said)
	}
	return r, nil
}

// Remove takes away what Apply left on the host and nothing else, with the same
// confirmation.
func Remove(ctx context.Context, h *hosts.Host, d ipoib.Request, o Options) (Result, error) {
	o = o.withDefaults()
	c, err := begin(ctx, h, d, o)
	if err != nil {
		return Result{}, err
	}
	if !c.look.Removable() {
		return Result{Look: c.look, Left: []string{"Host " + h.Name() + " has no configuration of this resource, so " +
			"there was nothing to remove. If the interface is still set up somewhere, check that the provider block names the " +
			"right host."}}, nil
	}
	if err = safety.Refusal("remove "+c.what(), judge.CheckRemove(c.look, d)); err != nil {
		return Result{}, err
	}
	c.removing = true
	c.setAsides()
	if err = c.freeNames(ctx); err != nil {
		return Result{}, err
	}
	if err = c.noted(ctx, "none", c.net.remove); err != nil {
		return Result{Changed: true}, err
	}
	c.noteAside()
	r, err := c.result(ctx, d)
	r.Left = c.left
	return r, err
}

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

// begin reads the host, and first undoes what an earlier run has left unconfirmed: what this change
// replaces, and what an undo of it would put back, must be what somebody wanted.
func begin(ctx context.Context, h *hosts.Host, d ipoib.Request, o Options) (*change, error) {
	c := &change{name: rand.Text(), h: h, d: d, o: o}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	plat, err := platform.Of(c.look.Snapshot())
	if err != nil {
		return nil, err
	}
	c.plat = plat
	c.net = trueNASStack{}
	if c.look.Stack != ipoib.StackMiddleware {
		c.net = fileStack{driverOf(c.look.Stack, c.t)}
	}
	undone, err := c.net.recover(ctx, c)
	if err != nil {
		return nil, err
	}
	if undone != "" {
		c.warnings = append(c.warnings, fmt.Sprintf("An earlier change of the interface of port %s %s.", d.PortGUID, undone))
		return c, c.read(ctx)
	}
	return c, nil
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

// prepare checks, loads the modules, and waits for the interface.
func (c *change) prepare(ctx context.Context) error {
	if c.d.Config.MTU == 0 {
		c.d.Config.MTU = ipoib.DefaultMTU(c.plat.About().Kind, c.d.Config.Mode)
	}
	if err := safety.Refusal("configure "+c.what(), judge.Check(c.look, c.d, judge.PlanFacts{})); err != nil {
		return err
	}
	modules := append([]string{"ib_ipoib"}, platform.RDMAModules(c.look.Snapshot())...)
	if err := c.plat.EnsureModules(ctx, c.h, modules...); err != nil {
		return err
	}
	err := within(ctx, c.o.SettleTimeout, c.o.Poll, func(ctx context.Context) (bool, error) {
		if err := c.read(ctx); err != nil {
			return false, err
		}
		// The change itself makes a P_Key child.
		ready := c.present || c.t.Parent != ""
		if !ready {
			c.h.Invalidate() // the interface appears without a command of ours
		}
		return ready, nil
	})
	if err != nil {
		return fmt.Errorf("%s: ib_ipoib is loaded, but no interface of port %s (link layer %q, driver %q) appeared: %w",
			c.h.Name(), c.d.PortGUID, c.look.LinkLayer, c.look.Driver, err)
	}
	// Now that the interface is there, check what only it shows.
	return safety.Refusal("configure "+c.what(), judge.Check(c.look, c.d, judge.PlanFacts{}))
}

// what names the interface as the operator's plan does.
func (c *change) what() string {
	s := "IPoIB interface " + c.h.Name() + "/" + c.d.PortGUID.String()
	if c.d.PKey != 0 {
		s += fmt.Sprintf("/0x%04x", c.d.PKey)
	}
	return s
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
