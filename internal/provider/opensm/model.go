package opensm

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
)

type model struct {
	ID       types.String   `tfsdk:"id"`
	Host     types.String   `tfsdk:"host"`
	PortGUID tfkit.GUID     `tfsdk:"port_guid"`
	Priority types.Int64    `tfsdk:"priority"`
	Timeout  tfkit.Duration `tfsdk:"timeout"`

	Unit           types.String `tfsdk:"unit"`
	Active         types.Bool   `tfsdk:"active"`
	Enabled        types.Bool   `tfsdk:"enabled"`
	PackageVersion types.String `tfsdk:"package_version"`
	PortState      types.String `tfsdk:"port_state"`
	LID            types.Int64  `tfsdk:"lid"`
	SMLID          types.Int64  `tfsdk:"sm_lid"`
}

// known reports whether everything that a check needs is known.
func (m *model) known() bool {
	return !m.Host.IsUnknown() && !m.PortGUID.IsUnknown() && !m.Priority.IsUnknown()
}

func (m *model) desired() (ops.Desired, error) {
	guid, err := ib.ParseGUID(m.PortGUID.ValueString())
	return ops.Desired{Host: m.Host.ValueString(), PortGUID: guid, Priority: int(m.Priority.ValueInt64())}, err
}

func ref(d ops.Desired) tfkit.PortRef { return tfkit.PortRef{Host: d.Host, GUID: d.PortGUID} }

// observe fills the computed attributes from what was found; the configured
// priority follows what the host has.
func (m *model) observe(d ops.Desired, o ops.Observed) {
	m.ID = types.StringValue(ref(d).String())
	if o.Priority >= 0 {
		m.Priority = types.Int64Value(int64(o.Priority))
	}
	m.Unit = types.StringValue(o.Unit)
	m.Active = types.BoolValue(o.Active)
	m.Enabled = types.BoolValue(o.Enabled)
	m.PackageVersion = tfkit.OrNull(o.Installed)
	m.PortState = tfkit.OrNull(o.State)
	m.LID = types.Int64Value(int64(o.LID))
	m.SMLID = types.Int64Value(int64(o.SMLID))
}

// plan fills what is known before the change is made.
func (m *model) plan(d ops.Desired, o ops.Observed) {
	m.ID = types.StringValue(ref(d).String())
	m.Unit, m.PackageVersion = types.StringUnknown(), types.StringUnknown()
	if o.Unit != "" && o.Installed != "" {
		m.Unit, m.PackageVersion = types.StringValue(o.Unit), types.StringValue(o.Installed)
	}
	m.Active = types.BoolValue(true)
	m.Enabled = types.BoolValue(true)
	m.PortState = types.StringUnknown()
	m.LID = types.Int64Unknown()
	m.SMLID = types.Int64Unknown()
}

// satisfies reports whether the host is as configured, now and at boot.
func satisfies(o ops.Observed, d ops.Desired) bool {
	return o.Active && o.Enabled && o.Managed && o.Priority == d.Priority
}
