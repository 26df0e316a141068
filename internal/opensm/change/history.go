package change

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// withHistory makes a change and notes on the host from what to what.
func withHistory(ctx context.Context, h *hosts.Host, before *found.Look, to string,
	do func(context.Context) (Result, error)) (Result, error) {
	return managed.Noted(ctx, h, changes.Change{What: changes.SM, Object: "port " + before.Port.String(),
		From: before.Describe(), To: to}, do)
}
