package activation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "One restart of a host for all that waits in its cards: firmware and GUIDs that this provider " +
	"has written since the host started, and stored link types of ConnectX-4 and later. Without anything that waits, " +
	"nothing is restarted.\n\n" +
	"Write `activation = \"host\"` into the resources of the cards, and `depends_on` with their addresses here: what is " +
	"planned before this resource is part of its plan. What needs the new firmware, GUIDs or types depends on this " +
	"resource in turn, as `infiniband_link_type` of a ConnectX-3 does after a cross-flash.\n\n" +
	"All flashes of the host are verified directly before the restart. The provider's drain commands run before it, and " +
	"its resume commands after it. Then each card is proven to run what its flash holds. An apply that ended in between " +
	"is found by the next plan. Destroying it only forgets.\n\n" +
	"A restart loads what every card of the host has in flash, also what somebody else has written. That alone is no " +
	"reason for one here."

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
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				attribute.ManagementPath: attribute.ConsentToNames("Consent to the restart although a card that waits carries " +
					"the SSH session, the default route or storage of the host: the names of those interfaces."),
			}),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, nil),
			"change": attribute.ComputedString("What the last restart was for, or the planned one is: " +
				"`activates firmware, GUIDs of 0000:01:00.0; …`; null if there was none. " + attribute.BindsTheApply),
			"running": schema.MapAttribute{Computed: true, ElementType: runningType,
				MarkdownDescription: "PSID and version that each card of the host runs, by its PCI address, without cards of " +
					"which nothing shows it. `infiniband_firmware` and `infiniband_guids` show that after the next refresh."},
		},
	}
	maps.Copy(resp.Schema.Attributes, attribute.RestartAttributes())
}
