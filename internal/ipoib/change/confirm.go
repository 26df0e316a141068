package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// confirm proves the change over a new connection and keeps it. The host decides, by
// renaming a directory that the undo renames too, so a confirmation and an undo at the same
// moment cannot both happen. A checkpoint that is gone was rolled back.
func (c *change) confirm(ctx context.Context, prove func(context.Context, host.Host) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3, errNoTime)
	defer cancel()
	fresh, err := c.h.Fresh(ctx)
	if err != nil {
		return err
	}
	defer fresh.Close() //nolint:errcheck // the connection has served its purpose
	if err = prove(ctx, fresh); err != nil {
		return err
	}
	// Once more: the network service may have gone on in the background.
	gone, err := c.putBack(ctx, fresh)
	if err != nil {
		return err
	}
	g := c.guard()
	if c.checkpoint != "" {
		if _, err := fresh.Run(ctx, nmcli.DestroyCheckpoint(c.checkpoint)); err != nil {
			return fmt.Errorf("NetworkManager has gone back to the former configuration: %w", err)
		}
	}
	if _, err := fresh.Run(ctx, g.Decide()); err != nil {
		return undecided(err)
	}
	if c.removing {
		maps.DeleteFunc(gone, func(k kept, _ []string) bool { return k.name == c.t.Name })
	}
	c.warnings = append(c.warnings, gone.sentences()...)
	// Nothing undoes the change from here on; what is left over is harmless.
	if _, err := fresh.Run(ctx, g.Forget()); err != nil {
		c.warnings = append(c.warnings,
			fmt.Sprintf("The change is confirmed and holds, but %s remains on %s: %v. It has no effect. The next plan names "+
				"it, and its apply puts it away.", g.Dir(), c.h.Name(), err))
	}
	return nil
}

// errUnanswered is a confirmation that may have arrived.
var errUnanswered = errors.New("the confirmation was sent, and its answer did not come")

// undecided says what is known of a confirmation that failed.
func undecided(err error) error {
	var exit *host.ExitError
	switch {
	case isTaken(err):
		return fmt.Errorf("another change of the interface has taken the place of this one: %w", err)
	case errors.As(err, &exit) && exit.Status == netundo.Begun:
		return fmt.Errorf("the host has begun to undo the change: %w", err)
	case errors.As(err, &exit):
		return fmt.Errorf("the host could not store the confirmation: %w", err)
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// undo undoes a failed change at once if the host still answers; otherwise the timer
// does it. It gives no error if the host has the confirmation.
func (c *change) undo(ctx context.Context, deadline time.Time, problem string, cause error) error {
	e := &UnconfirmedError{Host: c.h.Name(), Interface: c.t.Name, Problem: problem, UndoneBy: deadline, Err: cause,
		Kept: c.guard().Dir(), Differed: c.look.UndoDiffers(), MayHold: errors.Is(cause, errUnanswered)}
	// Also after Ctrl-C: a change that was not proven must not stay.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	var lost *host.UnreachableError
	if errors.As(cause, &lost) || errors.Is(cause, errNoTime) {
		c.h.Drop() // a new connection may work where the one in use hangs
	}
	r, err := c.h.Run(ctx, c.guard().UndoNow())
	how, rest, _ := strings.Cut(string(r.Stdout), "\n")
	if err == nil && how == netundo.Confirmed {
		return nil
	}
	e.UndoErr, e.TakenOver, e.Lost = err, err == nil && how == netundo.TakenOver, endedOf(rest).sentences()
	e.Undone = err == nil && !e.TakenOver
	return e
}

// isTaken reports whether the host refused a step because of another change.
func isTaken(err error) bool {
	var exit *host.ExitError
	return errors.As(err, &exit) && exit.Status == netundo.Taken
}
