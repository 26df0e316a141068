package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// OnlyRead refuses a change of a host in observe mode, and reports whether it did. Call
// it only if there is something to change; differs says what, as far as that is known.
func (d *Data) OnlyRead(ctx context.Context, what, host string, differs []string, diags *diag.Diagnostics) bool {
	return d != nil && d.Hosts[host].Observe &&
		diagnostic.AddFindings(ctx, diags, what, []finding.Finding{hostcheck.OnlyRead(host, differs...)})
}
