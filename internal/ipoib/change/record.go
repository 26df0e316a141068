package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
)

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
