package cardsdata

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func describe() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Finds the cards in the configured hosts: what each is, what is in its flash, what it runs, " +
			"and what its ports see. Hosts are asked at the same time.",
		Attributes: map[string]schema.Attribute{
			"id": text("Always `cards`."),
			"hosts": schema.SetAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the hosts to ask; all if left out."},
			"allow_unreachable": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether hosts that do not answer are listed in `unreachable` rather than being an error."},
			"unreachable": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Reason by name, for each host that did not answer."},
			"cards": schema.MapNestedAttribute{
				Computed: true,
				MarkdownDescription: "Cards by place, `host/pci_address`. `infiniband_card` takes host and address from here and " +
					"gives the `id`, which also says which card it is.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"host": text("Name of the host."),
					"pci_address": schema.StringAttribute{Computed: true, CustomType: attribute.PCIType{},
						MarkdownDescription: "PCI address."},
					"chip":          text("Name of the chip; null if it is not known."),
					"part_number":   text("Part number."),
					"serial_number": text("Serial number; null if it cannot be read."),
					"driver":        text("Kernel driver; null if none is bound."),
					"flash_psid": schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
						MarkdownDescription: "PSID in flash."},
					"flash_version": schema.StringAttribute{Computed: true, CustomType: attribute.VersionType{},
						MarkdownDescription: "Firmware version in flash."},
					"running_psid": schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
						MarkdownDescription: "PSID that the card runs."},
					"running_version": schema.StringAttribute{Computed: true, CustomType: attribute.VersionType{},
						MarkdownDescription: "Firmware version that the card runs."},
					"flash_node_guid": schema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{},
						MarkdownDescription: "Node GUID in flash; null if it was never set."},
					"flash_macs": schema.MapAttribute{Computed: true, ElementType: attribute.MACType{},
						MarkdownDescription: "MAC addresses in flash by port. That of port 1 is the base MAC, which the label shows."},
					"ports": schema.MapNestedAttribute{
						Computed:            true,
						MarkdownDescription: "Ports by number.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"link_type":      text("`ib`, `eth`, `auto (ib)` or `auto (eth)`."),
							"state":          text("`Down`, `Initializing`, `Armed` or `Active`."),
							"physical_state": text("`LinkUp`, `Polling` and so on."),
							"rate":           text("Rate of the link; null unless it is up."),
							"port_guid": schema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{},
								MarkdownDescription: "GUID on the wire; null while the port is Ethernet."},
							"lid": schema.Int64Attribute{Computed: true, MarkdownDescription: "LID; 0 if none was assigned."},
							"sm_lid": schema.Int64Attribute{Computed: true,
								MarkdownDescription: "LID of the subnet manager; 0 if there is none."},
							"netdev": text("Network interface of the port."),
						}},
					},
				}},
			},
		},
	}
}
