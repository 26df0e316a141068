package cardsdata

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func textOf[K attribute.Kind](description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, CustomType: attribute.TextType[K]{}, MarkdownDescription: description}
}

func byPort[K attribute.Kind](description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: attribute.TextType[K]{}, MarkdownDescription: description}
}

func describe() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Finds the cards in the configured hosts: what each is, what is in its flash, what it runs, " +
			"and what its ports see. Hosts are asked at the same time.",
		Attributes: map[string]schema.Attribute{
			"id": text("Always `cards`."),
			"hosts": schema.SetAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the hosts to ask; all if left out, none with `[]`."},
			"allow_unreachable": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether hosts that do not answer are listed in `unreachable` rather than being an error."},
			"unreachable": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Reason by name, for each host that did not answer."},
			"cards": schema.MapNestedAttribute{
				Computed: true,
				MarkdownDescription: "Cards by place, `host/pci_address`. `infiniband_card` takes host and address from here and " +
					"gives the `id`, which also says which card it is.",
				NestedObject: schema.NestedAttributeObject{Attributes: cardAttributes()},
			},
		},
	}
}

func cardAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"host":             text("Name of the host."),
		"pci_address":      textOf[attribute.PCIKind]("PCI address."),
		"chip":             text("Name of the chip; null if it is not known."),
		"pci_device_id":    text("PCI vendor and device id, `15b3:1007`."),
		"pci_subsystem_id": text("PCI subsystem vendor and device id."),
		"part_number":      text("Part number."),
		"serial_number":    text("Serial number; null if it cannot be read."),
		"driver":           text("Kernel driver; null if none is bound."),
		"rdma_device":      text("Name of the RDMA device, such as `mlx4_0`; null if the driver made none."),
		"livefish": schema.BoolAttribute{Computed: true,
			MarkdownDescription: "Whether the card runs no firmware and shows its recovery PCI id."},
		"flash_psid":              textOf[attribute.PSIDKind]("PSID in flash: the board id that says which firmware fits."),
		"flash_version":           textOf[attribute.VersionKind]("Firmware version in flash."),
		"flash_error":             text("Why the flash could not be read; null if it was."),
		"running_psid":            textOf[attribute.PSIDKind]("PSID that the card runs."),
		"running_version":         textOf[attribute.VersionKind]("Firmware version that the card runs."),
		"image_format":            text("Container format of the image in flash, such as `FS2`."),
		"security_attributes":     text("Security attributes that the vendor's tool reports; null if it reports none."),
		"node_guid":               textOf[attribute.GUIDKind]("Node GUID that the card uses; null without a driver."),
		"system_image_guid":       textOf[attribute.GUIDKind]("System image GUID that the card uses; null without a driver."),
		"flash_node_guid":         textOf[attribute.GUIDKind]("Node GUID in flash; null if it was never set."),
		"flash_port_guids":        byPort[attribute.GUIDKind]("GUIDs in flash by port. Empty if they were never set."),
		"flash_system_image_guid": textOf[attribute.GUIDKind]("System image GUID in flash; null if it was never set."),
		"flash_macs": byPort[attribute.MACKind]("MAC addresses in flash by port. That of port 1 is the base MAC, which the " +
			"label shows."),
		"pcie": schema.SingleNestedAttribute{
			Computed: true,
			MarkdownDescription: "PCI Express link, now and at best. A card that has fewer lanes than it could is in the " +
				"wrong slot.",
			Attributes: map[string]schema.Attribute{
				"lanes": number("Lanes in use."), "max_lanes": number("Lanes that the card could use."),
				"speed":     text("Speed in use, such as `8.0 GT/s PCIe`."),
				"max_speed": text("Speed that the card could use."),
			},
		},
		"numa_node": number("NUMA node of the slot, as lspci shows it; null if the firmware of the machine does not tell " +
			"it."),
		"temperatures": schema.MapAttribute{Computed: true, ElementType: types.Float64Type,
			MarkdownDescription: "Temperatures in degrees Celsius by sensor: `asic` is the chip, `Module0` the module in the " +
				"cage. Empty if the driver shows none: mlx5_core does since Linux 6.7, other drivers do not."},
		"ports": schema.MapNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Ports by number.",
			NestedObject:        schema.NestedAttributeObject{Attributes: portAttributes()},
		},
	}
}

func portAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"link_type":      text("`ib`, `eth`, `auto (ib)` or `auto (eth)`; null if the driver does not tell."),
		"link_layer":     text("`InfiniBand` or `Ethernet`; null if there is no RDMA port."),
		"state":          text("`Down`, `Initializing`, `Armed` or `Active`."),
		"physical_state": text("`LinkUp`, `Polling` and so on."),
		"rate":           text("Rate of the link; null unless it is up."),
		"port_guid":      textOf[attribute.GUIDKind]("GUID on the wire; null while the port is Ethernet."),
		"lid":            number("LID; 0 if none was assigned."),
		"sm_lid":         number("LID of the subnet manager; 0 if there is none."),
		"netdev":         text("Network interface of the port."),
	}
}
