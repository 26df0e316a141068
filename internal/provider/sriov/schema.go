package sriov

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
)

const removedFunctions = "removed_functions"

const description = "The virtual functions (SR-IOV) of one card with mlx5_core, as ConnectX-4 and later: their " +
	"number, and on InfiniBand their GUIDs and link states, now and by a systemd unit at every boot. The card offers them once `SRIOV_EN` and `NUM_OF_VFS` are set with " +
	"`infiniband_nv_config`, SR-IOV is on in the firmware of the machine, and the host has restarted (VF002).\n\n" +
	"**On InfiniBand, behind the opensm of a distribution, no function is known to get a link:** see " +
	"[InfiniBand](#infiniband). A function also needs GUIDs of its own and a `link_state` of `auto` or `enable`. Without " +
	"`link_state` the provider leaves both alone.\n\n" +
	"An interface moved into a network namespace is not recognised as in use. Unlike an apply, the unit does not check " +
	"which card is in the slot. Only simulated hosts have shown this; no real card or driver was tried.\n\n" +
	"Destroying the resource removes the unit. The functions stay until the host restarts."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "storing and making the functions, with the wait for other changes of the host",
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
			"id":      attribute.IDAttribute("`host/pci_address`"),
			"card_id": attribute.CardIDAttribute(),
			"number": schema.Int64Attribute{
				Required: true, Validators: []validator.Int64{int64validator.Between(1, 254)},
				MarkdownDescription: "Number of virtual functions, from 1 (the kernel's `sriov_numvfs`). Another number removes " +
					"all that are there and makes new ones.",
			},
			"link_state": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf(ops.LinkStates()...)},
				MarkdownDescription: "State of the InfiniBand port of every function: `auto` follows the port of the card, " +
					"`enable` is up, `disable` is down. Without it link states and GUIDs are left alone.",
			},
			"port_guids": guidsArgument("Port GUIDs by the number of the function, from `\"0\"`. Default: the node GUID of the " +
				"card, marked as locally administered (bit 0x02 of its first byte), with the number of the function plus 1 " +
				"added to its fourth and fifth byte."),
			"node_guids": guidsArgument("Node GUIDs in the same way. Default: the port GUID of the function."),
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				removedFunctions: attribute.ConsentToNames("Consent to remove virtual functions that a guest, an interface or " +
					"storage uses, or to give them other GUIDs or link states: their PCI addresses."),
			}),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, &removal),

			"card_identity": attribute.CardIdentityAttribute(),
			"at_boot": attribute.ComputedBool("Whether the unit makes the functions that are there now at every boot. The " +
				"card must offer as many by then: `NUM_OF_VFS` and `SRIOV_EN`."),
			"unit": attribute.ComputedString("systemd unit that makes them at boot."),
			"most": attribute.ComputedInt("How many functions the card offers since the last start of the host: the kernel's `sriov_totalvfs`."),
			"change": attribute.ComputedString("What the apply does to the card and the host; afterwards what the last one " +
				"did: `number: 0 -> 4; writes /etc/…; enables infiniband-vfs-….service`. " + attribute.BindsTheApply),
			"functions": schema.SetAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "PCI addresses of the virtual functions."},
			"ports": schema.MapNestedAttribute{Computed: true,
				MarkdownDescription: "What the card gives to the InfiniBand ports of the functions, by number; null if that is " +
					"not known, as on Ethernet.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"node_guid":  attribute.ComputedGUID("Node GUID; null until it is set."),
					"port_guid":  attribute.ComputedGUID("Port GUID; null until it is set."),
					"link_state": attribute.ComputedString("`auto`, `enable` or `disable`."),
				}}},
		},
	}
}

func guidsArgument(text string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: attribute.GUIDType{}, MarkdownDescription: text,
		Validators: []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues(), number,
			attribute.ValidElements[attribute.GUIDKind]{}, mapvalidator.AlsoRequires(path.MatchRoot("link_state"))},
	}
}

var number = mapvalidator.KeysAre(stringvalidator.RegexMatches(regexp.MustCompile(`^(0|[1-9][0-9]{0,2})$`),
	`the key is the number of a virtual function, "0" and up`))
