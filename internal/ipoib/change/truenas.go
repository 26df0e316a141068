package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

const tunableComment = "Terraform (ibfabric/infiniband): IPoIB mode"

// apply changes the mode, then the stored row, then the tunable: each step that fails leaves what
// takeBack can put back.
func (t trueNASStack) apply(ctx context.Context, c *change) error {
	if err := c.nothingPending(ctx); err != nil {
		return err
	}
	// The mode comes before the commit: it decides which MTU the kernel accepts, and the
	// middleware does not report a refused one.
	if c.look.Live.Mode != c.d.Config.Mode {
		cmd := coreutils.WriteKernelFile(modeFile(c.look.Name), c.d.Config.Mode.String())
		if _, err := c.h.Run(ctx, cmd); err != nil {
			return fmt.Errorf("switching %s to %s mode: %w", c.look.Name, c.d.Config.Mode, err)
		}
	}
	err := t.storeAddresses(ctx, c)
	if err == nil {
		// The mode comes last, so that a boot never combines it with the former MTU.
		err = c.storeMode(ctx)
	}
	if err == nil {
		return nil
	}
	// Also after Ctrl-C: nothing of a refused change must stay.
	backCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	return errors.Join(err, c.takeBack(backCtx))
}

// takeBack undoes what a change that failed later has left: a first transaction that
// was checked in, then mode and MTU, which the middleware does not restore.
func (c *change) takeBack(ctx context.Context) error {
	var errs []error
	if c.committed {
		steps, err := c.back(ctx)
		if err == nil {
			err = c.commitUnproved(ctx, steps...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the new configuration of %s stays stored: %w", c.look.Name, err))
		}
	}
	old := c.look.Live
	if old.Mode == c.d.Config.Mode || old.Mode == "" {
		return errors.Join(errs...)
	}
	if _, err := c.h.Run(ctx, coreutils.WriteKernelFile(modeFile(c.look.Name), old.Mode.String())); err != nil {
		return errors.Join(append(errs, fmt.Errorf("%s stays in %s mode: %w", c.look.Name, c.d.Config.Mode, err))...)
	}
	// The kernel lowers the MTU with the mode and does not raise it again.
	if _, err := c.h.Run(ctx, iproute.SetMTU(c.look.Name, old.MTU)); err != nil {
		errs = append(errs, fmt.Errorf("%s does not have its former MTU %d: %w", c.look.Name, old.MTU, err))
	}
	return errors.Join(errs...)
}

// nothingPending asks at the moment of the change: a rollback or commit takes all
// pending changes of the host with it, also those of a person at the web interface.
func (c *change) nothingPending(ctx context.Context) error {
	// First, so that what somebody stores after the question differs from it.
	stored, err := c.readStored(ctx, c.h)
	if err != nil {
		return err
	}
	pending, waiting, err := c.pending(ctx, c.h)
	if err != nil {
		return err
	}
	if pending || waiting > 0 {
		f := finding.TrueNASChangePending.Find("%s: pending changes: %t, seconds left for a check-in: %d.", c.h.Name(),
			pending, waiting)
		return &safety.RefusedError{What: "configure " + c.what(), Findings: []finding.Finding{f}}
	}
	c.stored = stored
	return nil
}

// storeMode has the mode set whenever the interface appears.
func (c *change) storeMode(ctx context.Context) error {
	m := c.look.Middleware()
	if err := m.TunablesErr; err != nil {
		return fmt.Errorf("%s: the middleware's tunables are not understood: %w", c.h.Name(), err)
	}
	rule := found.UdevRule(c.d.Config.Mode, c.d.PortGUID)
	cmd := midclt.CreateUdevTunable(found.TunableStem(c.d.PortGUID), rule, tunableComment)
	if t, ok := m.Tunable(c.d.PortGUID); ok {
		if t.Enabled && found.RuleMode(t.Value, c.d.PortGUID) == c.d.Config.Mode {
			return nil
		}
		cmd = midclt.UpdateTunable(t.ID, rule)
	}
	if _, err := c.h.Run(ctx, cmd); err != nil {
		return fmt.Errorf("storing the udev tunable that sets the mode: %w", err)
	}
	return nil
}

// storeAddresses stores addresses and MTU. An MTU above the API's limit goes
// into the row afterwards, so the row has to exist.
func (trueNASStack) storeAddresses(ctx context.Context, c *change) error {
	all, err := c.look.Middleware().Interfaces, c.look.Middleware().InterfacesErr
	if err != nil {
		return fmt.Errorf("%s: the middleware's interfaces are not understood: %w", c.h.Name(), err)
	}
	var steps []midclt.Step
	if midclt.NothingStored(all) {
		// Without it the first stored interface has all others cleared. Check has
		// seen the consent and that no other interface has addresses.
		steps = append(steps, midclt.Store(c.d.Consent.KeepInterface, midclt.Update{DHCP: true, IPv6Auto: true}))
	}
	want, private := c.d.Config, c.d.Config.MTU > midclt.MaxMTU
	first := want
	first.MTU = min(want.MTU, midclt.MaxMTU)
	row := 0
	if private {
		if row, err = c.rowOf(ctx, c.look.Name); err != nil {
			return err
		}
	}
	// The private method changes a row and makes none.
	if !private || row == 0 {
		if err = c.commit(ctx, first, append(steps, c.step(first, true))...); err != nil {
			return err
		}
	}
	if !private {
		return nil
	}
	if row == 0 {
		if row, err = c.rowOf(ctx, c.look.Name); err != nil {
			return err
		}
	}
	if row == 0 {
		return fmt.Errorf("%s: the middleware stored %s, but its row is not found; the MTU is %d", c.h.Name(), c.look.Name,
			first.MTU)
	}
	return c.commit(ctx, want, c.step(want, false), midclt.StoreRowMTU(row, want.MTU))
}

// step stores our interface. DHCP and autoconfiguration are always said to be
// off: a row made without that inherits "on" on a fresh host. The MTU too: a
// row without one makes the middleware set 1500.
func (c *change) step(want ipoib.Config, withMTU bool) midclt.Step {
	mark, aliases := found.OwnerMark(c.d.PortGUID), midclt.Aliases(ipconf.SortedAddresses(want.Addresses))
	u := midclt.Update{Description: &mark, Aliases: &aliases}
	if withMTU {
		u.MTU = &want.MTU
	}
	return midclt.Store(c.look.Name, u)
}

// commit makes stored configuration live, proves it over a new connection and
// checks in over that; otherwise it is rolled back.
func (c *change) commit(ctx context.Context, want ipoib.Config, steps ...midclt.Step) error {
	deadline := time.Now().Add(c.o.ConfirmTimeout)
	guard, err := c.transact(ctx, deadline, steps...)
	if err != nil {
		return err
	}
	if err := c.checkin(ctx, guard, want, steps...); err != nil {
		return c.rollback(ctx, deadline, guard, "it could not be proved over a new connection", err)
	}
	c.committed = true
	return nil
}

// commitUnproved commits a removal: only the host has to answer after it.
func (c *change) commitUnproved(ctx context.Context, steps ...midclt.Step) error {
	deadline := time.Now().Add(c.o.ConfirmTimeout)
	guard, err := c.transact(ctx, deadline, steps...)
	if err != nil {
		return err
	}
	fresh, err := c.h.Fresh(ctx)
	if err != nil {
		return c.rollback(ctx, deadline, guard, "the host could not be reached anew", err)
	}
	defer fresh.Close() //nolint:errcheck // the connection has served its purpose
	if err := c.settle(ctx, fresh, guard, steps...); err != nil {
		return c.rollback(ctx, deadline, guard, "the check-in failed", err)
	}
	return nil
}

// transact stores and commits, and returns the id of the guard for a restart
// before the check-in.
func (c *change) transact(ctx context.Context, deadline time.Time, steps ...midclt.Step) (int, error) {
	guard, err := c.bootGuard(ctx)
	if err != nil {
		return 0, err
	}
	cmd := midclt.Transaction(c.o.ConfirmTimeout, guard, steps...)
	r, err := c.h.Run(ctx, cmd)
	var exit *host.ExitError
	switch failed := errors.As(err, &exit); {
	case !failed:
	case exit.Status == midclt.NotTakenBack:
		c.committed = false // a commit of the former configuration would confirm this one first
		return 0, notTakenBack(c.h.Name(), c.look.Name, guardComment(c.d.PortGUID), exit)
	case exit.Status != midclt.TakenBack:
		return 0, c.rollback(ctx, deadline, 0, "it is not known how far the middleware came", err)
	default:
		return 0, fmt.Errorf("the middleware has refused the change of %s and removed what it had stored: %s: %w",
			c.look.Name, midclt.Messages(exit.Stderr), err)
	}
	var watch *host.ObserveError
	if errors.As(err, &watch) {
		return 0, err // nothing was sent: there is nothing to undo and nothing to wait for
	}
	if err != nil {
		return 0, c.rollback(ctx, deadline, 0, "the connection was lost during the commit", err)
	}
	id, err := midclt.ParseGuard(r.Stdout)
	if err != nil {
		return 0, c.rollback(ctx, deadline, 0, "the host's answer was not understood", c.misread(cmd.String(), r, err))
	}
	return id, nil
}

// checkin proves what is committed over a new connection, and keeps it. It ends with time to spare
// before the middleware would go back by itself.
func (c *change) checkin(ctx context.Context, guard int, want ipoib.Config, steps ...midclt.Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3,
		errors.New("no time is left before the middleware undoes the change"))
	defer cancel()
	// A check-in over the connection in use would prove nothing.
	fresh, err := c.h.Fresh(ctx)
	if err != nil {
		return err
	}
	defer fresh.Close() //nolint:errcheck // the connection has served its purpose
	// The commit reports success also if an interface could not be configured.
	if err = waitFor(ctx, fresh, c.t, want, c.o); err != nil {
		return err
	}
	return c.settle(ctx, fresh, guard, steps...)
}

// rollback has the middleware go back now. What it cannot be told it does by its own timer.
func (c *change) rollback(ctx context.Context, deadline time.Time, guard int, problem string, cause error) error {
	var edited *editedError
	if errors.As(cause, &edited) && edited.ended {
		return cause // nothing is pending any more
	}
	e := &UnconfirmedError{Host: c.h.Name(), Interface: c.look.Name, Problem: problem, UndoneBy: deadline, Err: cause}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	if edited != nil {
		e.Problem, e.Expected = "somebody else has edited interfaces of this host meanwhile", edited.explain()
	}
	var lost *host.UnreachableError
	if errors.As(cause, &lost) {
		c.h.Drop()
	}
	_, e.UndoErr = c.h.Run(ctx, midclt.Rollback(guard))
	e.Undone = e.UndoErr == nil
	return e
}

func (trueNASStack) remove(ctx context.Context, c *change) error {
	if err := c.nothingPending(ctx); err != nil {
		return err
	}
	if name := c.look.Persisted.Interface; name != "" {
		if err := c.removeRow(ctx, name); err != nil {
			return err
		}
	}
	m := c.look.Middleware()
	if err := m.TunablesErr; err != nil {
		return fmt.Errorf("%s: the middleware's tunables are not understood: %w", c.h.Name(), err)
	}
	if t, ok := m.Tunable(c.d.PortGUID); ok {
		if _, err := c.h.Run(ctx, midclt.DeleteTunable(t.ID)); err != nil {
			return fmt.Errorf("removing the udev tunable %s: %w", t.Var, err)
		}
	}
	c.left = append(c.left, "The kernel option modules_load=ib_ipoib stays, and the mode of the interface until the next "+
		"boot; both are harmless.")
	return nil
}

// removeRow removes our stored interface. The last row of a host is emptied and stays:
// without any row the middleware would run DHCP on every interface.
func (c *change) removeRow(ctx context.Context, name string) error {
	rows, err := c.rows(ctx)
	if err != nil {
		return err
	}
	last := !slices.ContainsFunc(rows, func(r midclt.Row) bool { return r.Interface != name })
	steps := []midclt.Step{midclt.Drop(name)}
	if last {
		none, mtu, text := []midclt.Alias{}, ipoib.SafeDatagramMTU, ""
		steps = []midclt.Step{midclt.Store(name, midclt.Update{Description: &text, Aliases: &none, MTU: &mtu})}
		c.left = append(c.left, fmt.Sprintf("The stored interface %s stays, without addresses: it is the only one, and "+
			"without any the middleware would run DHCP on every interface.", name))
	}
	if err := c.commitUnproved(ctx, steps...); err != nil {
		return fmt.Errorf("removing the stored interface %s: %w", name, err)
	}
	return nil
}
