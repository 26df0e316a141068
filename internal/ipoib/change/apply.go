package change

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

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
	// Asked before the change: afterwards the look is of an interface that the undo has touched.
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
	// Before this change is checked: what an interrupted one has left is nobody's wish, and would be saved as the
	// state to go back to.
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
	// Modules load at once and interfaces come by udev: their names change within the first moments.
	err := within(ctx, c.o.SettleTimeout, c.o.Poll, func(ctx context.Context) (bool, error) {
		if err := c.read(ctx); err != nil {
			return false, err
		}
		// The change itself makes a P_Key child, or a bond.
		ready := c.present || c.t.Parent != "" || portsReady(c.t)
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

// noted makes the change and notes it on the host.
func (c *change) noted(ctx context.Context, to string, do func(context.Context, *change) error) error {
	noted, note := changes.Begin(ctx, changes.Change{ID: c.name, What: changes.Network, Object: c.recordName(),
		From: c.look.Words(), To: to})
	err := do(noted, c)
	outcome, text := changes.Verified, ""
	var unconfirmed *UnconfirmedError
	switch {
	case errors.As(err, &unconfirmed) && (unconfirmed.Undone || unconfirmed.TakenOver):
		outcome, text = changes.Undone, unconfirmed.Error()
	case err != nil:
		outcome, text = changes.Failed, err.Error()
	}
	if warning := note.End(ctx, c.h, outcome, text); warning != "" {
		c.warnings = append(c.warnings, warning)
	}
	return err
}

// recordName names the interface in the records of the host.
func (c *change) recordName() string {
	name := "port " + c.d.PortGUID.String()
	if c.t.PKey != 0 {
		name += fmt.Sprintf(" P_Key 0x%04x", c.t.PKey)
	}
	if c.t.Name != "" {
		name += " (" + c.t.Name + ")"
	}
	return name
}
