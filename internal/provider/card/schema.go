package card

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attrs := observedAttributes()
	attrs["id"] = attribute.IDAttribute("`host/pci_address/serial_number`; `guid-` and a GUID, or `mac-` and a MAC, " +
		"stand for a serial number that cannot be read")
	attrs["host"] = schema.StringAttribute{
		Required:            true,
		MarkdownDescription: "Key of the host in the provider's `hosts` map. A change adopts the card that is in that host.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
	attrs["pci_address"] = schema.StringAttribute{
		Required:   true,
		CustomType: attribute.PCIType{},
		MarkdownDescription: "PCI address of the card, `0000:01:00.0`; the domain may be left out. If the card has moved, " +
			"write its new address here; everything that is configured for it stays. If another card is at " +
			"the new address, resources that refer to this one are replaced.",
		PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.PCIKind]()},
	}
	attrs["expect"] = expectAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "Adopts one InfiniBand card (a host channel adapter) that is in a host, and shows everything " +
			"that can be observed about it. " +
			"It never changes the card: `infiniband_firmware`, `infiniband_guids` and `infiniband_link_type` do. " +
			"The first apply records the serial number of the card. It is part of `id`, and is compared in " +
			"each plan and before each write. If another card is in the slot, or the card has moved, the " +
			"plan says so and nothing is changed. MACs and GUIDs are compared too: a card with the same serial number " +
			"and others than this provider has seen or written is another card. Firmware in flash and running firmware are " +
			"different attributes. Destroying it only forgets the card.",
		Attributes: attrs,
	}
}

// notBlank has a character that shows.
var notBlank = regexp.MustCompile(`\S`)

func expectAttribute() schema.SingleNestedAttribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{
			stringvalidator.RegexMatches(notBlank, "must not be blank"),
		}}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What the card at this address must be. Each plan checks it. If you exchanged the card, write " +
			"the serial number of the new one here; the next apply adopts it. Write the serial number for " +
			"the first apply too, if somebody may exchange the card between plan and apply. Then the other " +
			"card is refused in plain words. Without it Terraform itself ends the apply with \"Provider " +
			"produced inconsistent final plan\", because a provider does not see the plan of a new resource. " +
			"Nothing is written in that case; plan again.",
		Attributes: map[string]schema.Attribute{
			"serial_number": text("Serial number in the card's vital product data."),
			"part_number":   text("Part number in the card's vital product data, such as `MCX354A-FCCT`."),
			"chip":          text("Name of the chip, such as `ConnectX-3 Pro`."),
			"node_guid": schema.StringAttribute{Optional: true, CustomType: attribute.GUIDType{},
				MarkdownDescription: "Node GUID of the card, such as `0xe41d2d0300e44ed0`. It is needed where the serial number " +
					"does not tell the card from another one: if somebody set its GUIDs and MACs by hand, or if boards share " +
					"a serial number."},
		},
	}
}

func observedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"chip": attribute.ComputedString("Name of the chip that the silicon's own ids stand for, such as " +
			"`ConnectX-3 Pro`; null if it is not known."),
		"pci_device_id":    attribute.ComputedString("PCI vendor and device id, `15b3:1007`."),
		"pci_subsystem_id": attribute.ComputedString("PCI subsystem vendor and device id."),
		"part_number": attribute.ComputedString("Part number in the card's vital product data; null if it could never " +
			"be read."),
		"serial_number": attribute.ComputedString("Serial number in the card's vital product data. It stays the one of " +
			"the adopted card even while it cannot be read, as after some cross-flashes. Null if it never could be read."),
		"livefish": attribute.ComputedBool("Whether the card runs no firmware and shows its recovery PCI id."),
		"driver":   attribute.ComputedString("Kernel driver that is bound, `mlx4_core`; null if none is."),
		"rdma_device": attribute.ComputedString("Name of the RDMA device, such as `mlx4_0`; null if the driver made " +
			"none."),
		"flash_psid": attribute.ComputedPSID("PSID of the image in flash: the board id that says which " +
			"firmware fits."),
		"flash_version":   attribute.ComputedVersion("Firmware version in flash."),
		"running_psid":    attribute.ComputedPSID("PSID of the firmware that the card booted."),
		"running_version": attribute.ComputedVersion("Firmware version that the card booted."),
		"image_format":    attribute.ComputedString("Container format of the image in flash, such as `FS2`."),
		"security_attributes": attribute.ComputedString("Security attributes that the vendor's tool reports; null if it " +
			"reports none."),
		"flash_error": attribute.ComputedString("Why the flash could not be read; null if it was."),
		"node_guid": attribute.ComputedGUID("Node GUID that the card uses, as its driver shows it; null " +
			"without a driver. The GUIDs that the ports use are in `ports`."),
		"system_image_guid": attribute.ComputedGUID("System image GUID that the card uses; null without a driver."),
		"flash_node_guid":   attribute.ComputedGUID("Node GUID in flash; null if it was never set."),
		"flash_port_guids": attribute.ComputedByPort[attribute.GUIDKind]("GUIDs in flash by port. Empty if they were " +
			"never set, and if no tool reads the flash: then `ports[\"1\"].port_guid` is what the port uses. On ConnectX-4 and " +
			"later each port is a PCI function, and only the first one has its GUID here."),
		"flash_system_image_guid": attribute.ComputedGUID("System image GUID in flash; null if it was never set."),
		"flash_macs":              attribute.ComputedByPort[attribute.MACKind]("MAC addresses in flash by port."),
		"pcie": schema.SingleNestedAttribute{
			Computed: true,
			MarkdownDescription: "PCI Express link, now and at best. A card that has fewer lanes than it could is in the " +
				"wrong slot.",
			Attributes: map[string]schema.Attribute{
				"lanes":     attribute.ComputedInt("Lanes in use."),
				"max_lanes": attribute.ComputedInt("Lanes that the card could use."),
				"speed":     attribute.ComputedString("Speed in use, such as `8.0 GT/s PCIe`."),
				"max_speed": attribute.ComputedString("Speed that the card could use."),
			},
		},
		"ports": schema.MapNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Ports by number, as the kernel sees them when the state was refreshed.",
			NestedObject:        schema.NestedAttributeObject{Attributes: portAttributes()},
		},
	}
}

func portAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"link_type": attribute.ComputedString("Protocol of the port: `ib`, `eth`, `auto (ib)` or `auto (eth)`; null if the " +
			"driver does not tell."),
		"link_layer":     attribute.ComputedString("`InfiniBand` or `Ethernet`; null if there is no RDMA port."),
		"state":          attribute.ComputedString("`Down`, `Initializing`, `Armed` or `Active`."),
		"physical_state": attribute.ComputedString("`LinkUp`, `Polling`, `Disabled` and so on."),
		"rate":           attribute.ComputedString("Rate of the link; null unless it is up."),
		"lid":            attribute.ComputedInt("LID that the subnet manager assigned; 0 if none did."),
		"sm_lid":         attribute.ComputedInt("LID of the subnet manager; 0 if there is none."),
		"port_guid": attribute.ComputedGUID("GUID that the port has on the wire. While the port is in Ethernet mode, " +
			"it is that of the flash, which the port uses when it is InfiniBand again; null if the flash cannot be read, or " +
			"if the card runs with other GUIDs."),
		"netdev": attribute.ComputedString("Network interface of the port; null if there is none."),
	}
}

// portTypes are the attribute types of one port.
var portTypes = types.ObjectType{AttrTypes: attrTypes(portAttributes())}

func attrTypes(attrs map[string]schema.Attribute) map[string]attrType {
	out := make(map[string]attrType, len(attrs))
	for name, a := range attrs {
		out[name] = a.GetType()
	}
	return out
}
