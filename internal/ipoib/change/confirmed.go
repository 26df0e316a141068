package change

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

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
