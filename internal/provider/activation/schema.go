package activation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "One restart of a host for all that waits in its cards: firmware and GUIDs that this provider " +
	"has written since the host started, settings of `infiniband_nv_config`, and stored link types of ConnectX-4 and " +
	"later. Without anything that waits, nothing is restarted. What only a power cycle loads does not count.\n\n" +
	"Write `activation = \"host\"` into the resources of the cards, and `depends_on` with their addresses here: what is " +
	"planned before this resource is part of its plan. What needs the new firmware, GUIDs or types depends on this " +
	"resource in turn, as `infiniband_link_type` of a ConnectX-3 does after a cross-flash.\n\n" +
	"All flashes of the host are verified directly before the restart. The provider's drain commands run before it, and " +
	"its resume commands after it. Then each card is proven to run what its flash holds. An apply that ended in between " +
	"is found by the next plan: while one of its jobs is not closed, `change` and `restarts` are known after the apply. " +
	"Destroying it only forgets.\n\n" +
	"The refresh after a restart sets `restarts`, `drains`, `change` and `way` to null, so that the diff shows the next " +
	"restart.\n\n" +
	"A restart loads what every card of the host has in flash, also what somebody else has written. That alone is no " +
	"reason for one here: the action `infiniband_restart_host` restarts a host without a reason in a card.\n\n" +
	"### A reset in place of the restart\n\n" +
	"With `activation = \"least\"` a ConnectX-4 or later is reset by `mstfwreset` (level 3) while the host runs: " +
	"the driver leaves the card, the PCI link goes down and comes back, the driver returns. The interfaces of " +
	"the card vanish for some seconds, and the network configuration of the host has to bring them back as it " +
	"does for new ones. `drain_commands` and `resume_commands` run around it. A host that may not be restarted " +
	"may have its cards reset.\n\n" +
	"The host restarts instead, and `way` says why, if one card that waits cannot be reset: the card offers no " +
	"such reset, or is a ConnectX-3; the firmware has another PSID, or MACs or settings were set; the SSH session, the " +
	"default route or storage uses the card; opensm runs on the host; the card has " +
	"virtual functions; the host is a virtual machine, its kernel is locked down, or it lacks `mstfwreset`, " +
	"`mstreg`, `lspci` or `setpci`; or a reset since the start of the host has not done it. `allow` does not permit " +
	"such a reset; it permits the restart, which the plan refuses without it.\n\n" +
	"The reset runs as a systemd unit of the host: the end of the apply or of the connection does not end it. " +
	"Then the driver has to show what the flash holds. If the reset fails, or was killed, the apply says so and " +
	"restarts nothing: the next plan announces the restart, or refuses it. A card without a PCI link after that is " +
	"named, and the host has to be restarted by hand."

var times = attribute.TimedOperation{
	Standard: standardTimeout, Covers: "the restart and the proof, without the wait for other cards",
	AtEnd: "After that time the apply fails; the host may still restart, and the next plan finds what runs.",
}

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id": attribute.IDAttribute("the host"),
			"host": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Key of the host in the provider's `hosts` map. Changing this forces replacement.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"activation": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "`reboot`, the default, or `least`: a reset of each card that waits, by `mstfwreset`, " +
					"where card and host allow that for all of them, else the restart. `way` says which, and why.",
				Validators: []validator.String{stringvalidator.OneOf(attribute.ActivationReboot, least)},
			},
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				attribute.ManagementPath: attribute.ConsentToNames("Consent to the restart although a card that waits carries " +
					"the SSH session, the default route or storage of the host: the names of those interfaces."),
			}),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, nil),
			"way": attribute.ComputedString("How what waits is activated with `activation = \"least\"`: by a reset of " +
				"cards, or by a restart and why; null without. The apply takes no harsher one than the plan says."),
			"change": attribute.ComputedString("What the restart is for: `activates firmware, GUIDs of 0000:01:00.0; …`; null " +
				"if there is none. " + attribute.BindsTheApply),
			"running": schema.MapAttribute{Computed: true, ElementType: runningType,
				MarkdownDescription: "PSID and version that each card of the host runs, by its PCI address, without cards of " +
					"which nothing shows it."},
		},
	}
	maps.Copy(resp.Schema.Attributes, attribute.RestartAttributes())
}
