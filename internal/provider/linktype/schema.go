package linktype

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "InfiniBand or Ethernet, for each port of a card, at once and after every restart. " +
	"`stored_in` names the place that keeps the types over a restart.\n\nA ConnectX-3 is switched in its running " +
	"driver, by the same switch as `devlink port set … type`. A ConnectX-4 or later card has only its own " +
	"configuration, which becomes effective with a restart. Each port is a PCI function of its own there; the card is " +
	"named by the first.\n\nA port that becomes Ethernet loses its IPoIB interface and its subnet manager for as long " +
	"as it is Ethernet. The plan names them (LT018). Remove their resources from the configuration in the same apply " +
	"or in an earlier one.\n\nA card with Ethernet-only firmware cannot do InfiniBand at all; the plan says so and " +
	"names the PSID. Destroying it only forgets: the ports stay as they are."

var times = attribute.TimedOperation{
	Standard: standardTimeout, Covers: "storing the types, switching the driver and the restart, without the wait for " +
		"other cards",
	AtEnd: "After that time the apply fails; what was stored by then stays, and the next apply does the rest.",
}

// activation is the usual argument, with what is special here.
func activation() schema.StringAttribute {
	a := attribute.ActivationAttribute()
	a.MarkdownDescription = "What makes the types of ConnectX-4 and later cards effective: `reboot` restarts the host, " +
		"if the provider's `reboot.allowed` permits it; with `none` (the default) they wait for the next restart " +
		"(`reboot_required`), and with `host` for that of the host's `infiniband_activation`. ConnectX-3 cards change at " +
		"once and need no restart."
	return a
}

// consents name the things that an operator agrees to touch.
func consents() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		attribute.ManagementPath: attribute.ConsentToNames("Consent to change the ports although one of them carries the " +
			"SSH session or the default route of the host: the names of those interfaces."),
		"other_cards": attribute.ConsentToNames("Consent to change the types of other cards of the host with those of this "+
			"one, where one setting of the host holds for all: their PCI addresses.",
			listvalidator.ValueStringsAre(pciAddress)),
	}
}

// pciAddress accepts a PCI address in full.
var pciAddress = attribute.CheckText{Described: "a PCI address such as 0000:04:00.0",
	Wrong: func(text string) (_, problem string) {
		if a, err := ib.ParsePCIAddress(text); err != nil || a.String() != text {
			problem = fmt.Sprintf("%q is not a PCI address such as 0000:04:00.0. Write the address as LT007 names it.", text)
		}
		return "Invalid PCI address", problem
	}}

func (o object) Schema(ctx context.Context) schema.Schema {
	s := schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":            attribute.IDAttribute("`host/pci_address`"),
			"card_id":       attribute.CardIDAttribute(),
			"card_identity": attribute.CardIdentityAttribute(),
			"ports": schema.MapAttribute{
				Required: true, ElementType: types.StringType,
				MarkdownDescription: "Link type by port number: `ib`, `eth`, or `auto`, which lets the card sense the cable. A " +
					"port that is not named is not switched.",
				Validators: []validator.Map{
					mapvalidator.SizeAtLeast(1),
					attribute.PortNumbers(),
					mapvalidator.ValueStringsAre(stringvalidator.OneOf("ib", "eth", "auto")),
				},
			},
			finding.Allow: attribute.AllowAttribute(consents()),
			"activation":  activation(),
			"timeouts":    attribute.TimeoutsAttribute(ctx, times, nil),

			"change": attribute.ComputedString("The last change, or the planned one: `1: eth -> ib` for each port; null if there is " +
				"none. " + attribute.BindsTheApply),
			"stored_in": attribute.ComputedString("Place that keeps the types over a restart: `mstconfig` (the card itself), " +
				"`modprobe.d`, `mlx4.conf` or `kernel_extra_options`."),
			"effective": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Link type in effect by port: `ib`, `eth`, `auto (ib)` or `auto (eth)`; " +
					"what was read last of a port that no driver shows, with a warning." + attribute.LeftToHost},
			"next_boot": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Link type by port after the next restart, also if a setting made elsewhere overrides " +
					"`stored_in`; the firmware decides on a port without an entry. Null if a setting of the host is not understood " +
					"(LT016)."},
			"by_place": schema.MapAttribute{Computed: true, ElementType: placeType,
				MarkdownDescription: "Link type by place and port: `driver` is the running one (left out where `effective` is null), " +
					"the others decide about the next start. See [Where link types are stored](#where-link-types-are-stored)."},
			"reboot_required": attribute.ComputedBool("Whether a port will have another type after the next restart than it " +
				"has now; null if that is not known." + attribute.LeftToHost),
		},
	}
	maps.Copy(s.Attributes, attribute.RestartAttributes())
	s.Attributes["drains"] = attribute.Drains("the host restarts, or if the driver switches a port")
	return s
}
