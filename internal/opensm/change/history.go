package change

import (
	"context"
	"crypto/rand"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// withHistory makes a change and notes on the host from what to what.
func withHistory(ctx context.Context, h *hosts.Host, before *found.Look, to string,
	do func(context.Context) (Result, error)) (Result, error) {
	inside, note := changes.Begin(ctx, changes.Change{ID: rand.Text(), What: changes.SM,
		Object: "port " + before.Port.String(), From: before.Describe(), To: to})
	r, err := do(inside)
	if warning := note.Close(ctx, h, err); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}
