// Package rdmaready is the data source infiniband_rdma_ready: whether a host is ready for programs,
// storage and GPUs over RDMA.
//
// It must not change a host.
package rdmaready

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/rdma"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_rdma_ready", Describe: describe, Fill: fill}
}

// fill asks the host one question more than all data sources ask.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	what := "read what host " + m.Host.ValueString() + " has for RDMA"
	h, snap, ok := s.LookNamed(ctx, "host", m.Host, what, diags)
	if !ok {
		return false
	}
	facts, err := rdma.Read(ctx, h)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), what, err)
		return false
	}
	m.observe(snap, facts, rdma.Judge(snap, facts, attribute.Texts(m.Purposes)))
	return true
}
