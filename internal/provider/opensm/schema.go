package opensm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
)

const description = "A subnet manager on one port of a host. An unmanaged switch has none, and without one every port stays in `Initializing` for ever: run it on one host, or on two with different priorities.\n\n" +
	"The distribution's package is installed if needed, an instance is bound to the port by its GUID, started, and enabled for every boot; the apply waits until the port itself is `Active`. " +
	"TrueNAS cannot run one, which the plan says. Destroying it stops and disables the instance and removes its configuration; the package stays."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":        tfkit.IDAttribute("`host/port_guid`"),
			"host":      tfkit.HostAttribute(),
			"port_guid": tfkit.PortGUIDAttribute(),
			"priority": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(0),
				MarkdownDescription: "Priority, 0 to 15 (default 0). The highest of all subnet managers of the fabric is the master; of equals, the one with the lower port GUID.",
				Validators:          []validator.Int64{int64validator.Between(0, ops.MaxPriority)},
			},
			"timeout": tfkit.TimeoutAttribute("10m", "installation, start and the proof that the fabric works"),

			"unit":            tfkit.Computed("systemd unit of the instance."),
			"active":          tfkit.ComputedBool("Whether the instance runs."),
			"enabled":         tfkit.ComputedBool("Whether it starts at boot."),
			"package_version": tfkit.Computed("Version of the opensm package."),
			"port_state":      tfkit.Computed("State of the port: `Active` once a subnet manager has set it up."),
			"lid":             tfkit.ComputedInt("LID of the port."),
			"sm_lid":          tfkit.ComputedInt("LID of the master subnet manager; that of this port if it is the master."),
		},
	}
}
