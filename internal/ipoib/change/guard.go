package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// savedState is the live state that an undo goes back to.
func (c *change) savedState(way netundo.Stack, want ipoib.Config) netundo.Before {
	now := c.look.Live
	b := netundo.Before{
		Stack: way, Interface: c.t.Name, Existed: c.present, Mode: now.Mode, MTU: now.MTU, Up: c.look.Live.Up,
		Added: ipconf.Without(want.Addresses, now.Addresses), Removed: ipconf.Without(now.Addresses, want.Addresses),
		RoutesAdded: ipconf.Without(want.Routes, now.Routes), RoutesRemoved: c.oldRoutes(want),
		RoutesOurs: slices.Concat(want.Routes, c.oldRoutes(want)),
	}
	if b.Ports = c.portsBefore(); c.t.Bond.Name != "" {
		b.Mode = "" // that of its ports
	}
	for _, f := range c.taken {
		b.RulesEnd = b.RulesEnd || slices.ContainsFunc(f.Unkept, isRules)
	}
	if n := c.look.Netdev; n != nil {
		b.Profile = n.NMProfile
	}
	return b
}

// runGuarded makes a change that the host undoes unless it is confirmed over a new
// connection. do makes the change; prove reads back over that connection.
func (c *change) runGuarded(ctx context.Context, way netundo.Stack, want ipoib.Config, files []string,
	do func(context.Context) error, prove func(context.Context, host.Host) error,
) error {
	g := c.guard()
	// What an undo needs is on the disk of the host before the timer runs, and the timer runs before the first
	// change: a power cut at any point finds either nothing changed or a way back.
	if _, err := c.h.Run(ctx, g.Save(c.savedState(way, want), files...)); isTaken(err) {
		return fmt.Errorf("another apply changes %s of %s at this moment; nothing was changed. Apply again when it has ended",
			c.t.Name, c.h.Name())
	} else if err != nil {
		return c.callOff(ctx, time.Time{}, fmt.Errorf("saving the present configuration: %w", err))
	}
	// Before the timer starts, so that messages never name a later time than the host's.
	deadline := time.Now().Add(c.o.ConfirmTimeout)
	if err := c.arm(ctx, way); err != nil {
		return c.callOff(ctx, deadline, fmt.Errorf("starting the timer of the undo: %w", err))
	}
	if err := c.inTime(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			return err
		}
		_, err := c.putBack(ctx, c.h)
		return err
	}); err != nil {
		return c.undo(ctx, deadline, "the change failed", err)
	}
	if err := c.confirm(ctx, prove); err != nil {
		return c.undo(ctx, deadline, "it could not be proved over a new connection", err)
	}
	return nil
}

// callOff takes back what was prepared for a change that was not begun. It does not undo:
// an undo configures the interface anew, and nothing of it was changed.
func (c *change) callOff(ctx context.Context, undoneBy time.Time, cause error) error {
	// Also after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	var lost *host.UnreachableError
	if errors.As(cause, &lost) {
		c.h.Drop() // a new connection may work where the one in use hangs
	}
	var leftErr error
	if c.checkpoint != "" {
		_, leftErr = c.h.Run(ctx, nmcli.DestroyCheckpoint(c.checkpoint))
	}
	_, err := c.h.Run(ctx, c.guard().CallOff())
	return notBegun(c.h.Name(), c.t.Name, undoneBy, cause, errors.Join(leftErr, err))
}

// arm starts the timer and, with NetworkManager, a checkpoint, which also restores what
// only the daemon knows of the interface. A bond has none: it would be of one device, and the bond has three.
func (c *change) arm(ctx context.Context, way netundo.Stack) error {
	// The timer first: it works whatever NetworkManager says to the checkpoint.
	if _, err := c.h.Run(ctx, c.guard().Arm(c.o.ConfirmTimeout)); err != nil {
		return err
	}
	n := c.look.Netdev
	if way != netundo.NetworkManager && way != netundo.NetplanNM || n == nil || !n.NMManaged ||
		c.t.Bond.Name != "" {
		return nil
	}
	device, err := c.object(ctx, nmcli.FindDevice(c.t.Name))
	if err != nil {
		return err
	}
	lead := min(checkpointLead, c.o.ConfirmTimeout/4)
	if c.checkpoint, err = c.object(ctx,
		nmcli.CreateCheckpoint(device, max(c.o.ConfirmTimeout-lead, time.Second))); err != nil {
		return fmt.Errorf("NetworkManager makes no checkpoint: %w", err)
	}
	// The host's own undo rolls back by it first, for what no file has.
	_, err = c.h.Run(ctx, c.guard().Checkpoint(c.checkpoint))
	return err
}

// object asks for the path of an object of NetworkManager.
func (c *change) object(ctx context.Context, cmd shellcmd.Command) (string, error) {
	r, err := c.h.Run(ctx, cmd)
	if err != nil {
		return "", err
	}
	path, err := nmcli.ParseObject(string(r.Stdout))
	if err != nil {
		return "", c.misread(cmd.String(), r, err)
	}
	return path, nil
}

// runOrSay runs a command of the host's network manager, and says in words what its failure
// means. A connection that was cut says nothing about the manager.
func (c *change) runOrSay(ctx context.Context, cmd shellcmd.Command, failure string) error {
	_, err := c.run(ctx, cmd)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w", failure, err)
	}
	return err
}
