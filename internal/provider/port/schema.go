package port

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "The administrative state of one InfiniBand port, and the speeds and widths that it may " +
	"negotiate: the settings of `ibportstate`, which a restart loses. Ports of switches are not managed.\n\nMost " +
	"ports need none of this. It is for cards that come up disabled (QLogic), for a port that must stay off, and for " +
	"a link that is stable only at a lower speed. The setting is made at once. A systemd unit makes it again at every " +
	"boot. Destroying the resource removes the unit and leaves the port as it is."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "storing and making the setting, with the wait for other changes of the host",
		AtEnd: "After that time the apply fails; what was stored by then stays, and the next apply does the rest.",
	}
	removal = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "the removal of the unit, with the wait for other changes of the host",
		AtEnd: "After that time the destroy fails, and the resource stays in the state.",
	}
)

func (o object) Schema(ctx context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":      attribute.IDAttribute("`host/pci_address/port`"),
			"card_id": attribute.CardIDAttribute(),
			"port": schema.Int64Attribute{
				Required:            true,
				MarkdownDescription: "Number of the port, from 1. Changing this forces replacement.",
				Validators:          []validator.Int64{int64validator.Between(1, 2)},
				PlanModifiers:       []planmodifier.Int64{int64planmodifier.RequiresReplace()},
			},
			"enabled": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Whether the port tries to bring up its link (default true); null while the kernel does not " +
					"show its physical state (PO013). With rdma-core 56.0 to 60.0, as in Debian 13, enabling it again needs a " +
					"restart of the host, or a link on another port of the same RDMA device.",
			},
			"speeds": namesAttribute("Speeds per lane that the port may negotiate: `SDR`, `DDR`, `QDR`, `FDR`, `EDR`, `HDR`; "+
				"they stay as they are if left out. `SDR` must be among them, because every link begins to train with it.", ops.SpeedNames()),
			"widths": namesAttribute("Widths that the port may negotiate: `1X`, `2X`, `4X`, `8X`, `12X`. If "+
				"left out, they stay as they are.", ops.WidthNames()),
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				attribute.ManagementPath: attribute.ConsentToNames("Consent to change the port although it carries the SSH " +
					"session, the default route or storage of the host: the names of those interfaces."),
			}),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, &removal),

			"card_identity": attribute.CardIdentityAttribute(),
			"at_boot": attribute.ComputedBool("Whether the setting is made at every boot. False if the unit names another " +
				"card, or none, as one of an earlier version does, and while `ibportstate` is missing on the host."),
			"unit": attribute.ComputedString("systemd unit that makes the setting at boot."),
			"change": attribute.ComputedString("What the apply does to packages, files and services of the host; afterwards " +
				"what the last one did: `installs infiniband-diags; writes /etc/…; enables infiniband-port-….service`. If somebody " +
				"installs the package between the plan of a new resource and its apply, the engine stops the apply and calls " +
				"that an inconsistent final plan: plan again."),
			"port_guid": attribute.ComputedGUID("GUID of the port."),
			"state": attribute.ComputedString("Logical state: `Down`, `Initializing` (a link, and no subnet manager yet), " +
				"`Armed`, `Active`."),
			"physical_state": attribute.ComputedString("Physical state: `LinkUp`, `Polling` (nobody answers), `Disabled`, " +
				"`PortConfigurationTraining` and so on."),
			"rate":   attribute.ComputedString("Rate of the link, such as `40 Gb/sec (4X QDR)`; null without a link."),
			"lid":    attribute.ComputedInt("LID of the port."),
			"sm_lid": attribute.ComputedInt("LID of the subnet manager that configured the port."),
		},
	}
}

func namesAttribute(description string, known []string) schema.SetAttribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: description,
		Validators: []validator.Set{setvalidator.SizeAtLeast(1),
			setvalidator.ValueStringsAre(stringvalidator.OneOf(known...))},
	}
}
