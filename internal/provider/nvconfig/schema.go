package nvconfig

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "Settings in the non-volatile configuration of a card: SR-IOV, boot ROMs, PCI options and " +
	"whatever else `mstconfig` shows. It looks at the settings that are named, and writes no others.\n\n" +
	"The card takes all of them with the next restart of its host. `current` shows what it has now, and `next_boot` " +
	"what it will have.\n\n" +
	"Destroying the resource leaves the settings as they are, unless `on_destroy` is `restore`."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "storing the settings and the restart, with the wait for others on the host",
		AtEnd: "After that time the apply fails; what was stored by then stays, and the next apply does the rest.",
	}
	removal = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "what `on_destroy = \"restore\"` does, with the wait for others on the host",
		AtEnd: "After that time the destroy fails, and the resource stays in the state.",
	}
)

func (o object) Schema(ctx context.Context) schema.Schema {
	activation := attribute.ActivationAttribute()
	activation.MarkdownDescription = "What makes the settings effective: `reboot` restarts the host, if the provider's " +
		"`reboot.allowed` permits it, and with `host` the `infiniband_activation` of the host does; with `none` (the " +
		"default) they wait for the next restart (`reboot_required`)."
	settings := func(text string) schema.MapAttribute {
		return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: text}
	}
	s := schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":            attribute.IDAttribute("`host/pci_address`"),
			"card_id":       attribute.CardIDAttribute(),
			"card_identity": attribute.CardIdentityAttribute(),
			"settings": schema.MapAttribute{
				Required: true, ElementType: types.StringType,
				MarkdownDescription: "Values by the names of mstconfig: `true` or `false`, a number, also as `0x8001`, or a " +
					"word such as `PXE`. A setting that you remove here stays in the card.",
				Validators: []validator.Map{mapvalidator.SizeAtLeast(1),
					settable{"settings of mstconfig, but for link types"}},
			},
			"on_destroy": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(keep),
				MarkdownDescription: "What a destroy does: `keep` (the default) leaves the settings as they are, `restore` " +
					"stores what the card had before this resource first set them, but not in a replace.",
				Validators: []validator.String{stringvalidator.OneOf(keep, restore)},
			},
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				attribute.ManagementPath: attribute.ConsentToNames("Consent to restart the host although the card carries the " +
					"SSH session, the default route or storage of the host: the names of those interfaces."),
			}),
			"activation": activation,
			"timeouts":   attribute.TimeoutsAttribute(ctx, times, &removal),

			"change": attribute.ComputedString("The last change, or the planned one: `SRIOV_EN: False(0) -> true` for each " +
				"setting that differs; null if there is none. " + attribute.BindsTheApply),
			"default": settings("What the firmware uses without a setting; empty where it does not show that."),
			"current": settings("What the card has taken at its last start; empty where the firmware does not show it." +
				attribute.LeftToHost),
			"next_boot": settings("What the card takes at its next start."),
			"reboot_required": attribute.ComputedBool("Whether one of the settings will have another value after the next " +
				"restart than it has now; null if the firmware does not show the current values." + attribute.LeftToHost),
		},
	}
	maps.Copy(s.Attributes, attribute.RestartAttributes())
	return s
}

// settable accepts settings that this resource may set, whatever the card is.
type settable struct{ attribute.Described }

// ValidateMap implements validator.Map.
func (settable) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for name, v := range req.ConfigValue.Elements() {
		value := attribute.StringOf(v)
		if v.IsUnknown() {
			value = keep // any word will do
		}
		if err := ops.CheckSetting(name, value); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(name), "Invalid setting "+name, err.Error()+".")
		}
	}
}
