// Package managed holds what all objects of a host have in common that this provider manages,
// such as a port, a subnet manager or an interface: what a change gives back, how it is noted on
// the host, and what somebody else has changed since the last look.
//
// It must not know one kind of object, or Terraform.
package managed

import (
	"context"
	"crypto/rand"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// Result is what a change of an object did. O is what a look at such an object gives.
type Result[O any] struct {
	Changed  bool     // something of ours is on the host now, also if the change failed after that
	Look     O        // read back after the change
	Warnings []string // what the operator should know, one sentence each
	// Findings are what shows only after the change. None blocks: it is done.
	Findings []finding.Finding
	Left     []string // of a removal: what stays on the host, one sentence each
}

// Noted makes a change and notes it on the host. c needs What, Object, From and To.
func Noted[O any](ctx context.Context, h host.Host, c changes.Change,
	do func(context.Context) (Result[O], error)) (Result[O], error) {
	c.ID = rand.Text()
	inside, note := changes.Begin(ctx, c)
	r, err := do(inside)
	if warning := note.Close(ctx, h, err); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}
