package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

// ConfirmedError says that a change was made and confirmed, and that the host could not be read
// after it.
type ConfirmedError struct {
	Host      string
	Interface string
	Removed   bool // the change was a removal
	Err       error
}

func (e *ConfirmedError) Error() string {
	return fmt.Sprintf("%s: the change of %s was confirmed, and could not be read back: %v", e.Host, e.Interface, e.Err)
}

func (e *ConfirmedError) Unwrap() error { return e.Err }

// Title is the title of the message: the change did not fail.
func (e *ConfirmedError) Title() string {
	return "The change of " + e.Interface + " of " + e.Host + " is confirmed, but the host could not be read after it"
}

// Explain first says what holds on the host: that the host cannot be read does not tell it.
func (e *ConfirmedError) Explain() string {
	text := fmt.Sprintf("The change of %s was made and confirmed, now and for the next boot. Then the host could not be "+
		"read, so the state does not show the change. Nothing is undone.", e.Interface)
	if e.Removed {
		text = fmt.Sprintf("The configuration of %s was removed, and the host has confirmed it. Then the host could not be "+
			"read, so the state still has it. Apply again: it finds that nothing is left to remove.", e.Interface)
	}
	return text + "\n\nHost: " + e.Host + "\nError: " + e.Err.Error()
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
		return r, &ConfirmedError{Host: c.h.Name(), Interface: name, Removed: c.removing, Err: err}
	}
	r.Look = found.At(s, d.Ref())
	return r, nil
}
