package change

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// editedError says that somebody has stored something else while a change waited for its
// check-in.
type editedError struct {
	differences []midclt.Difference
	ended       bool // they have confirmed or reverted the pending changes, and ours is not stored as this change has it
}

func (e *editedError) Error() string {
	if e.ended {
		return "somebody else has ended the test of this change, by \"Save Changes\" or \"Revert\" in the TrueNAS web " +
			"interface. Now something else is stored than this change has written (" + e.list() + "). The provider leaves " +
			"that as it is. Plan again to see what the host has now"
	}
	return "stored meanwhile: " + e.list()
}

func (e *editedError) list() string {
	texts := make([]string, len(e.differences))
	for i, d := range e.differences {
		texts[i] = d.String()
	}
	return strings.Join(texts, "; ")
}

// explain says why the change is undone, and that the edit goes with it: the middleware puts
// back all interfaces together.
func (e *editedError) explain() string {
	return "Somebody else has edited interfaces meanwhile, for example in the TrueNAS web interface: " + e.list() + ". " +
		"The middleware confirms and undoes all pending interface changes together. This change is undone, so that the " +
		"edit is not confirmed unseen. That undoes the edit, too. If it is still wanted, make the edit again in the web " +
		"interface, and finish it (Network: Test Changes, Save Changes). Then plan again."
}

// settle checks in, unless that would confirm more than the steps of this change.
func (c *change) settle(ctx context.Context, h host.Host, guard int, steps ...midclt.Step) error {
	now, err := c.readStored(ctx, h)
	if err != nil {
		return err
	}
	end := midclt.Checkin(guard)
	// The middleware checks in everything that is pending, whoever has stored it.
	if others := now.Differences(c.stored.After(steps...)); len(others) > 0 {
		if err := c.mayKeep(ctx, h, guard, now, others); err != nil {
			return err
		}
		end = midclt.DeleteInitScript(guard)
	}
	if _, err := h.Run(ctx, end); err != nil {
		return err
	}
	c.stored = now
	return nil
}

// mayKeep decides what becomes of a change if others have stored something meanwhile. It
// is nil if they have confirmed it with their own edit: then only the guard is left of it.
func (c *change) mayKeep(ctx context.Context, h host.Host, guard int, now midclt.Stored,
	others []midclt.Difference) error {
	pending, waiting, err := c.pending(ctx, h)
	switch {
	case err != nil:
		return err
	case pending || waiting > 0:
		return &editedError{differences: others}
	case len(now.Differences(c.stored)) == 0:
		return errors.New("the change was undone already, by the middleware or in its web interface")
	case !slices.ContainsFunc(others, func(d midclt.Difference) bool { return d.Interface == c.rowName() }):
		return nil
	}
	// What somebody has made of our row is theirs now, and must not be taken back.
	c.committed = false
	_, err = h.Run(ctx, midclt.DeleteInitScript(guard))
	return errors.Join(&editedError{others, true}, err)
}

// readStored asks the middleware anew: the snapshot is from before the change.
func (c *change) readStored(ctx context.Context, h host.Host) (midclt.Stored, error) {
	r, err := h.Run(ctx, midclt.QueryInterfaces())
	if err != nil {
		return nil, err
	}
	s, err := midclt.ParseStored(r.Stdout)
	if err != nil {
		return nil, c.misread(midclt.QueryInterfaces().String(), r, err)
	}
	return s, nil
}

// rowName is the name of the interface whose row the change writes.
func (c *change) rowName() string {
	if c.removing {
		return c.look.Persisted.Interface
	}
	return c.look.Name
}

// misread is an answer of a program that is not understood.
func (c *change) misread(command string, r host.Result, err error) error {
	return &host.OutputError{Host: c.h.Name(), Command: command, Problem: err.Error(), Output: string(r.Stdout)}
}

// pending asks whether changes of any interface are pending, and for the seconds left for
// their check-in.
func (c *change) pending(ctx context.Context, h host.Host) (pending bool, waiting int, err error) {
	r, err := h.Run(ctx, midclt.HasPendingChanges())
	if err != nil {
		return false, 0, err
	}
	if pending, err = midclt.ParseBool(r.Stdout); err != nil {
		return false, 0, c.misread(midclt.HasPendingChanges().String(), r, err)
	}
	if r, err = h.Run(ctx, midclt.CheckinWaiting()); err != nil {
		return false, 0, err
	}
	if waiting, err = midclt.ParseWaiting(r.Stdout); err != nil {
		return false, 0, c.misread(midclt.CheckinWaiting().String(), r, err)
	}
	return pending, waiting, nil
}
