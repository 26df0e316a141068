package ipoib

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/udev"
)

// ubuntuStack is netplan with networkd, and a udev rule for the mode. The host
// undoes a change by a transient timer unless it is confirmed.
type ubuntuStack struct{}

// recover implements stack: the provider, or its machine, died between a change
// and its confirmation, and the timer has not run yet.
func (ubuntuStack) recover(ctx context.Context, c *change) (bool, error) {
	unit := c.guard().Unit()
	if c.s.Unit(unit+".timer").ActiveState != "active" && c.s.Unit(unit+".service").ActiveState != "active" {
		return false, nil
	}
	r, err := c.h.Run(ctx, c.guard().UndoNow())
	if err != nil {
		return false, fmt.Errorf("undoing an earlier change that was never confirmed: %w", err)
	}
	return strings.TrimSpace(string(r.Stdout)) == "undone", nil
}

func (c *change) guard() netundo.Guard { return netundo.Guard{Port: c.d.PortGUID} }

func (ubuntuStack) apply(ctx context.Context, c *change) error {
	want := c.d.Config
	return c.guarded(ctx, want.Addresses, func(ctx context.Context) error {
		rule := udevRule(c.d.PortGUID, want.Mode)
		if c.s.Files[udevPath(c.d.PortGUID)].Content != rule {
			if err := platform.WriteFile(ctx, c.h, udevPath(c.d.PortGUID), 0o644, rule); err != nil {
				return err
			}
			if _, err := c.h.Run(ctx, udev.Reload()); err != nil {
				return err
			}
		}
		if err := platform.WriteFile(ctx, c.h, netplanPath(c.d.PortGUID), 0o600, netplanText(c.before.Name, want)); err != nil {
			return err
		}
		return c.makeLive(ctx, want)
	}, func(ctx context.Context, h host.Host) error { return settled(ctx, h, c.before.Name, want, c.o) })
}

// makeLive gives the interface its mode, then has networkd configure it: the
// mode decides which MTU is legal, and networkd cannot set it.
func (c *change) makeLive(ctx context.Context, want Config) error {
	name := c.before.Name
	if _, err := c.h.Run(ctx, netplan.Generate()); err != nil {
		return fmt.Errorf("netplan does not accept the configuration: %w", err)
	}
	if c.before.Live.Mode != want.Mode {
		if _, err := c.h.Run(ctx, coreutils.WriteKernelFile(modeFile(name), want.Mode.String())); err != nil {
			return fmt.Errorf("switching %s to %s mode: %w", name, want.Mode, err)
		}
	}
	if _, err := c.h.Run(ctx, netplan.Reload()); err != nil {
		return err
	}
	if _, err := c.h.Run(ctx, netplan.Reconfigure(name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

func modeFile(name string) string { return "/sys/class/net/" + name + "/mode" }

// mend does what networkd left undone: it logs a refused MTU and goes on, and it
// keeps addresses that it did not set. The kernel's own words are in the error.
func (c *change) mend(ctx context.Context, want Config) error {
	name := c.before.Name
	if settled(ctx, c.h, name, want, Options{SettleTimeout: c.o.SettleTimeout / 3, Poll: c.o.Poll}) == nil {
		return nil
	}
	now, err := readLive(ctx, c.h, name)
	if err != nil {
		return err
	}
	for _, extra := range without(now.Addresses, want.Addresses) {
		if _, err := c.h.Run(ctx, iproute.DelAddress(name, extra)); err != nil {
			return err
		}
	}
	if now.MTU != want.MTU {
		if _, err := c.h.Run(ctx, iproute.SetMTU(name, want.MTU)); err != nil {
			return fmt.Errorf("%s mode, MTU %d: %w", now.Mode, want.MTU, err)
		}
	}
	return nil
}

// settled waits until the interface shows want.
func settled(ctx context.Context, h host.Host, name string, want Config, o Options) error {
	var last live
	problem := ""
	err := within(ctx, o.SettleTimeout, o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, h, name)
		if err != nil {
			return false, err
		}
		last, problem = now, now.missing(want)
		return problem == "", nil
	})
	if problem != "" {
		return errors.New(name + ": " + last.explain(problem, want))
	}
	return err
}

// guarded makes a change that the host undoes by itself unless it is confirmed
// over a new connection. do changes; prove reads back over that connection.
func (c *change) guarded(ctx context.Context, addresses []netip.Prefix, do func(context.Context) error, prove func(context.Context, host.Host) error) error {
	g := c.guard()
	before := netundo.Before{
		Interface: c.before.Name, Mode: c.before.Live.Mode, MTU: c.before.Live.MTU, Up: c.before.Up,
		Added:   without(addresses, c.before.Live.Addresses),
		Removed: without(c.before.Live.Addresses, addresses),
	}
	if _, err := c.h.Run(ctx, g.Save(before, netplanPath(c.d.PortGUID), udevPath(c.d.PortGUID))); err != nil {
		return fmt.Errorf("saving the present configuration of %s: %w", c.before.Name, err)
	}
	if _, err := c.h.Run(ctx, g.Arm(c.o.ConfirmTimeout)); err != nil {
		return fmt.Errorf("arming the timer that undoes the change of %s unless it is confirmed; nothing was changed: %w", c.before.Name, err)
	}
	deadline := time.Now().Add(c.o.ConfirmTimeout)
	if err := do(ctx); err != nil {
		return c.undo(ctx, deadline, "the change failed", err)
	}
	if err := c.confirm(ctx, prove); err != nil {
		return c.undo(ctx, deadline, "it could not be proved over a new connection", err)
	}
	return nil
}

// confirm proves the change over a new connection and keeps it. The decision is
// taken on the host, by making a directory that the undo makes too, so that a
// confirmation and an undo at the same moment cannot both happen.
func (c *change) confirm(ctx context.Context, prove func(context.Context, host.Host) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3, errors.New("no time is left before the host undoes the change"))
	defer cancel()
	fresh, err := c.h.Fresh(ctx)
	if err != nil {
		return err
	}
	defer fresh.Close() //nolint:errcheck // the connection has served its purpose
	if err := prove(ctx, fresh); err != nil {
		return err
	}
	g := c.guard()
	if _, err := fresh.Run(ctx, g.Decide()); err != nil {
		return fmt.Errorf("the host has begun to undo the change: %w", err)
	}
	// From here on nothing undoes the change; what is left over is harmless.
	for _, cmd := range []shellcmd.Command{g.Disarm(), g.Forget()} {
		if _, err := fresh.Run(ctx, cmd); err != nil {
			c.warnings = append(c.warnings, fmt.Sprintf("The change is confirmed, but %s remains on %s: %v.", g.Dir(), c.h.Name(), err))
		}
	}
	return nil
}

// undo takes a failed change back at once if the host still answers; otherwise
// the timer does.
func (c *change) undo(ctx context.Context, deadline time.Time, problem string, cause error) error {
	e := &UnconfirmedError{Host: c.h.Name(), Interface: c.before.Name, Problem: problem, UndoneBy: deadline, Err: cause}
	// Also after Ctrl-C: a change that was not proved must not stay.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	var lost *host.UnreachableError
	if errors.As(cause, &lost) {
		c.h.Drop() // the connection in use may hang for long where a new one does not
	}
	_, e.UndoErr = c.h.Run(ctx, c.guard().UndoNow())
	e.Undone = e.UndoErr == nil
	return e
}

func (ubuntuStack) remove(ctx context.Context, c *change) error {
	netplanFile, rule := netplanPath(c.d.PortGUID), udevPath(c.d.PortGUID)
	gone := c.before.Persisted.Config.Addresses
	keep := without(c.before.Live.Addresses, gone)
	err := c.guarded(ctx, keep, func(ctx context.Context) error {
		for _, file := range []string{netplanFile, rule} {
			if !platform.Owned(c.s.Files[file].Content) {
				continue
			}
			if _, err := c.h.Run(ctx, coreutils.RemoveFile(file)); err != nil {
				return err
			}
		}
		if _, err := c.h.Run(ctx, udev.Reload()); err != nil {
			return err
		}
		return c.release(ctx, keep)
	}, func(ctx context.Context, h host.Host) error {
		if !c.before.Present {
			return nil
		}
		now, err := readLive(ctx, h, c.before.Name)
		if err != nil {
			return err
		}
		if left := without(now.Addresses, keep); len(left) > 0 {
			return fmt.Errorf("%s still has %s", c.before.Name, joinPrefixes(left))
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.left = append(c.left, fmt.Sprintf("The kernel modules stay loaded, now and at boot (%s), and the mode of %s stays until the next boot; both are harmless.",
		platform.ModulesLoadPath, c.before.Name))
	return nil
}

// release has networkd let go of the interface and takes our addresses away.
func (c *change) release(ctx context.Context, keep []netip.Prefix) error {
	for _, cmd := range []shellcmd.Command{netplan.Generate(), netplan.Reload()} {
		if _, err := c.h.Run(ctx, cmd); err != nil {
			return err
		}
	}
	if !c.before.Present {
		return nil
	}
	now, err := readLive(ctx, c.h, c.before.Name)
	if err != nil {
		return err
	}
	for _, extra := range without(now.Addresses, keep) {
		if _, err := c.h.Run(ctx, iproute.DelAddress(c.before.Name, extra)); err != nil {
			return err
		}
	}
	if len(keep) == 0 && c.before.Live.Mode != "" {
		_, err := c.h.Run(ctx, iproute.SetDown(c.before.Name))
		return err
	}
	return nil
}
