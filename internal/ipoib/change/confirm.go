package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// confirm proves the change over a new connection and keeps it. The host decides, by
// renaming a directory that the undo renames too, so a confirmation and an undo at the same
// moment cannot both happen. A checkpoint that is gone was rolled back.
func (c *change) confirm(ctx context.Context, prove func(context.Context, host.Host) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3, errNoTime)
	defer cancel()
	// The connection in use proves nothing: it was there before the change, and lives on routes of before.
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
	// The checkpoint before the decision: one that is gone means that NetworkManager has gone back, and then
	// nothing may be kept.
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
	// The confirmation had arrived, and only its answer was lost.
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

// ConfirmedError says that a change was made and confirmed, and that the host could not be read
// after it.
type ConfirmedError struct{ explain.Failure }

// unread is the error on a change that holds. It first says what holds on the host: that the host
// cannot be read does not tell it.
func unread(hostName, name string, removed bool, err error) error {
	what := "The change of " + name + " was made and confirmed, now and for the next boot. Then the host could not be " +
		"read, so the state does not show the change. Nothing is undone."
	if removed {
		what = "The configuration of " + name + " was removed, and the host has confirmed it. Then the host could not be " +
			"read, so the state still has it. Apply again: it finds that nothing is left to remove."
	}
	return &ConfirmedError{explain.Failure{
		Heading: "The change of " + name + " of " + hostName + " is confirmed, but the host could not be read after it",
		Summary: hostName, What: what, Facts: []explain.Fact{{"Host", hostName}}, Err: err}}
}

// result reads the host after a change.
func (c *change) result(ctx context.Context, d ipoib.Request) (Result, error) {
	r := Result{Changed: true, Warnings: c.warnings}
	s, err := c.h.Snapshot(ctx)
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		// Once more, over a new connection: what was confirmed should be in the state.
		c.h.Drop()
		s, err = c.h.Snapshot(ctx)
	}
	if err != nil {
		name := c.t.Name
		if name == "" {
			name = "the interface of port " + d.PortGUID.String()
		}
		return r, unread(c.h.Name(), name, c.removing, err)
	}
	r.Look = found.At(s, d.Ref())
	return r, nil
}
