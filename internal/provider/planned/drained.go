package planned

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// Drain notes that this walk drains a host, until done: what it owes then is nobody else's to do.
func (w *Walk) Drain(host string) (done func()) {
	w.drained.Store(host, true)
	return func() { w.drained.Delete(host) }
}

// AddOwed warns of a host that was drained and not given back, in the same words for each object.
func (w *Walk) AddOwed(ctx context.Context, host string, s *inventory.Snapshot, diags *diag.Diagnostics) {
	if _, now := w.drained.Load(host); !now {
		diagnostic.AddFindings(ctx, diags, "restart host "+host, hostcheck.Owed(s))
	}
}
