// Package fabric is the data source infiniband_fabric: what one host's
// diagnostics see of its fabric, compared with what is expected, and drawn.
//
// It must not change a host. Only its action changes anything: the error counters of ports.
package fabric

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_fabric", Describe: describe, Fill: fill}
}

// fill looks at the fabric.
func fill(ctx context.Context, s *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	name := m.Host.ValueString()
	wanted, err := m.expectations()
	if err != nil {
		diags.AddAttributeError(path.Root("expected_links"), "Invalid value for expected_links",
			diagnostic.Sentence(err.Error()))
		return false
	}
	what := "read the fabric of host " + name
	if s.Waits("host", m.Host, what, diags) {
		return false
	}
	s.Set.ForgetOlder()
	found, port, hosts, err := look(ctx, s.Data, name, guidOf(m.PortGUID), m.detailed(), s.HostsOf(m.PCIeHosts))
	if diagnostic.AddErrorAt(diags, path.Root("host"), what, err); err != nil {
		return false
	}
	m.looksThrough(port)
	wanted.now = fabric.Reading{At: time.Now(), Boots: boots(hosts)}
	m.observe(found, wanted)
	return true
}
