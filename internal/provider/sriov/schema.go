package sriov

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const removedFunctions = "removed_functions"

const description = "The number of virtual functions (SR-IOV) of one card with mlx5_core, as ConnectX-4 and later: " +
	"now, and by a systemd unit at every boot. The card offers them once `SRIOV_EN` and `NUM_OF_VFS` are set with " +
	"`infiniband_nv_config`, SR-IOV is on in the firmware of the machine, and the host has restarted (VF002).\n\n" +
	"Node and port GUIDs and the link state of a virtual function are left as the driver gives them; set them with " +
	"`ip link set … vf`. On InfiniBand its port comes up only with a link state of `auto` or `enable`, with GUIDs of " +
	"its own, and by a subnet manager that supports virtual ports. An interface moved into a network namespace is not " +
	"recognised as in use. Unlike an apply, the unit does not check which card is in the slot. Only simulated hosts " +
	"have shown this; no real card or driver was tried.\n\n" +
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
				MarkdownDescription: "Number of virtual functions, from 1. Another number removes all that are there and makes " +
					"new ones.",
			},
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				removedFunctions: attribute.ConsentToNames("Consent to remove virtual functions that a guest, an interface or " +
					"storage uses: their PCI addresses."),
			}),
			"timeouts": attribute.TimeoutsAttribute(ctx, times, &removal),

			"card_identity": attribute.CardIdentityAttribute(),
			"at_boot":       attribute.ComputedBool("Whether every boot makes the functions that are there now."),
			"unit":          attribute.ComputedString("systemd unit that makes them at boot."),
			"most":          attribute.ComputedInt("How many the card offers since the last start of the host."),
			"change": attribute.ComputedString("What the apply does to the card and the host; afterwards what the last one " +
				"did: `number: 0 -> 4; writes /etc/…; enables infiniband-vfs-….service`. " + attribute.BindsTheApply),
			"functions": schema.SetAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "PCI addresses of the virtual functions."},
		},
	}
}
