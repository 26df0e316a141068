package fabric

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func integer(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func guid(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{}, MarkdownDescription: description}
}

func texts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func describe() schema.Schema {
	attributes := arguments()
	maps.Copy(attributes, results())
	return schema.Schema{
		MarkdownDescription: "The InfiniBand fabric as one of its hosts sees it: nodes, switches, links, subnet managers, " +
			"partitions and error counters, what differs from what is expected, and pictures. " +
			"The host needs the programs of infiniband-diags (of some distributions in rdma-core). TrueNAS has none; any " +
			"other host on the fabric sees the same. " +
			"A read is one command on that host, and a second one for the details of the ports; nothing is changed.",
		Attributes: attributes,
	}
}

// arguments are what a configuration says.
func arguments() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"host": schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
			MarkdownDescription: "Key of the host in the provider's `hosts` map that looks at the fabric."},
		"port_guid": schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "GUID of the host's port to look through, where its ports are on different fabrics. If left " +
				"out, the first InfiniBand port with a link looks, and its GUID is the value: if a cable is out, that is " +
				"another port and may be another fabric."},
		"detail": schema.BoolAttribute{Optional: true,
			MarkdownDescription: "Whether every port with a link is asked what it supports and enables, its MTU and its " +
				"P_Keys (default true); those attributes are null with false. It is a second command and takes 10 ms to 20 ms a " +
				"port, eight at a time."},
		"pcie_hosts": schema.SetAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Hosts whose cards are looked for among the nodes, for the nodes' names and for PCIe slots " +
				"that cannot keep up with a link. All configured hosts if left out, none with `[]`; a host that does not answer " +
				"is passed over."},
		"expected_links": expectedSchema(),
		"max_errors": schema.MapAttribute{Optional: true, ElementType: types.Int64Type,
			MarkdownDescription: "Counters by name with the most that is not a difference since they were last cleared; `{}` " +
				"is no limit. By default 10 of `SymbolErrorCounter`, `LinkErrorRecoveryCounter`, `LinkDownedCounter`, " +
				"`PortRcvErrors` and `LocalLinkIntegrityErrors`."},
		"since": schema.SingleNestedAttribute{Optional: true,
			MarkdownDescription: "An earlier reading, `reading` of `infiniband_fabric_baseline`: links that went down since and " +
				"cables with errors at a higher rate are differences. `max_errors` is per hour then, and sums are silent.",
			Attributes: map[string]schema.Attribute{
				"read_at": schema.StringAttribute{Required: true, MarkdownDescription: "When."},
				"counters": schema.MapAttribute{Required: true, ElementType: counterTypes,
					MarkdownDescription: "Error counters by port and name."},
				"boot_ids": schema.MapAttribute{Required: true, ElementType: types.StringType,
					MarkdownDescription: "Boots of hosts."},
			}},
		"baseline": schema.MapAttribute{Optional: true, ElementType: counterTypes,
			MarkdownDescription: "An earlier `counters` to compare with, because a data source has no memory. A counter below " +
				"its earlier value was cleared, and all of it counts as growth."},
	}
}

// results are what a look at the fabric gives.
func results() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": text("The name of the host."),
		"nodes": schema.MapNestedAttribute{Computed: true,
			MarkdownDescription: "Channel adapters by node GUID. A host with two cards has two.", NestedObject: nodeSchema()},
		"switches": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "Switches by node GUID.",
			NestedObject: nodeSchema()},
		"links": linksSchema(),
		"sms": schema.ListNestedAttribute{Computed: true,
			MarkdownDescription: "Subnet managers, the master first. With `detail = false` only the master.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"port_guid":   guid("GUID of its port."),
				"lid":         integer("LID of its port."),
				"priority":    integer("Priority."),
				"state":       text("`master`, `standby`, `discovering` or `not active`."),
				"description": text("Name of its node in `node_name_map`, or its description; null if the node was not found."),
				"host":        text("Key of its host in the provider's `hosts` map; null if it is none of them."),
			}}},
		"partitions": schema.MapNestedAttribute{Computed: true,
			MarkdownDescription: "Partitions by P_Key with bit 0x8000, `0xffff` being the default one, from the tables of the " +
				"adapters' ports; null with `detail = false`.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"full":    texts("GUIDs of the ports that are full members."),
				"limited": texts("GUIDs of the ports that are limited members, which reach full members only."),
			}}},
		"differences": schema.ListNestedAttribute{Computed: true,
			MarkdownDescription: "Differences from what should be there, for `check` blocks.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"kind": text("`missing`, `ambiguous` and `unexpected` cables; `slow`: below what is expected; `degraded`: both " +
					"ends support more, or a PCIe slot is too slow; `silent`: nobody answers behind a link; " +
					"`inactive`: not Active although there is a subnet manager; `errors` and `growing` counters; " +
					"`flapping`: a link went down since an earlier reading; `no_sm`; `masters`: more than one subnet " +
					"manager rules; " +
					"`no_link`: the port that looks has no link, so that nothing is known of its fabric; " +
					"`duplicate_guid`; `zero_guid`; `unknown_guid`: no node has a GUID of `node_name_map`; `two_fabrics`: the " +
					"ports are of several fabrics by the provider's `fabrics`."),
				"where":   text("The node, port or link."),
				"message": text("The problem in one sentence."),
			}}},
		"counters": schema.MapAttribute{Computed: true, ElementType: counterTypes,
			MarkdownDescription: "Error counters that are not zero, by port (`GUID of the node/port`) and name; null " +
				"without a subnet manager, because counters are asked for by LID."},
		"growth": schema.MapAttribute{Computed: true, ElementType: counterTypes,
			MarkdownDescription: "How much the counters are above `baseline`; null without one."},
		"mermaid": text("The fabric as Mermaid, for Markdown. Mermaid itself draws up to 500 links."),
		"dot":     text("The fabric as a graph for Graphviz."),
		"svg": text("The fabric as a standalone SVG picture: hosts with their cards, switches, the subnet manager, port " +
			"numbers, width and speed. Slow links are amber; links that are not active, and missing cables, are red."),
	}
}

func expectedSchema() schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Optional: true,
		MarkdownDescription: "The cables that should be there; all of them, because any other is a difference of the kind " +
			"`unexpected`. An end is `node` or `node/port`; the node is a GUID, a name of `node_name_map`, a description, " +
			"a key of the `hosts` map, or the first word of a card's description.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"a": schema.StringAttribute{Required: true, MarkdownDescription: "One end.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"b": schema.StringAttribute{Required: true, MarkdownDescription: "The other end.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"min_width": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Width that it must have: `1X`, `2X`, `4X`, `8X` or `12X`.",
				Validators:          []validator.String{stringvalidator.OneOf("1X", "2X", "4X", "8X", "12X")}},
			"min_speed": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Speed that it must have: `SDR`, `DDR`, `QDR`, `FDR10`, `FDR`, `EDR`, `HDR`, `NDR` or `XDR`.",
				Validators: []validator.String{stringvalidator.OneOf("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR",
					"XDR")}},
		}}}
}

func nodeSchema() schema.NestedAttributeObject {
	return schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"description": text("Node description, with control characters made visible. Linux sets it to the host's name " +
			"and the device."),
		"name":              text("Name that the provider's `node_name_map` gives to it; null if it has none there."),
		"host":              text("Key of its host in the provider's `hosts` map; null if it is none of them."),
		"system_image_guid": guid("System image GUID, which the ports of one card share."),
		"vendor_id":         text("Vendor, `0x0002c9` being Mellanox."),
		"device_id":         text("Device."),
		"lid":               integer("LID, of an adapter that of its first port on this fabric; 0 if none was assigned."),
		"port_count":        integer("Ports that it has."),
		"running_version": schema.StringAttribute{Computed: true, CustomType: attribute.VersionType{},
			MarkdownDescription: "Firmware of a switch of Mellanox, as its management agent says; null if it does not, " +
				"without a subnet manager, of an adapter, and with `detail = false`."},
		"running_psid": schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: "PSID of such a switch; null as above."},
		"pcie_lanes": integer("Lanes of the card's slot in use; null unless the card was found in a host."),
		"pcie_speed": text("Speed of the card's slot; null unless the card was found in a host."),
		"ports": schema.MapNestedAttribute{Computed: true,
			MarkdownDescription: "Ports by number, of an adapter those on this fabric.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"port_guid":        guid("GUID; of a switch that of the switch."),
				"lid":              integer("LID; 0 if none was assigned."),
				"state":            text("`Down`, `Initializing` (a link, and no subnet manager yet), `Armed` or `Active`."),
				"physical_state":   text("`LinkUp`, `Polling`, `Disabled` and so on."),
				"width":            text("Width in use, such as `4X`; null without a link."),
				"widths_enabled":   texts("Widths that the port may use; null if it was not asked."),
				"widths_supported": texts("Widths that the port can use; null if it was not asked."),
				"speed":            text("Speed in use, such as `FDR`; null without a link."),
				"speeds_enabled":   texts("Speeds that the port may use; null if it was not asked."),
				"speeds_supported": texts("Speeds that the port can use; null if it was not asked."),
				"fabric":           text("Name of its fabric, if `fabrics` of the provider gives one."),
				"mtu":              integer("IB MTU in use; null if it was not asked."),
				"pkeys":            texts("P_Key table without empty entries; null if it was not asked."),
			}}},
	}}
}

func linksSchema() schema.ListNestedAttribute {
	end := func(description string) schema.SingleNestedAttribute {
		return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: description,
			Attributes: map[string]schema.Attribute{
				"node_guid":   guid("GUID of the node."),
				"description": text("Name of the node in `node_name_map`, or its description."),
				"port":        integer("Number of the port."),
				"end":         text("The end as `expected_links` takes it."),
			}}
	}
	return schema.ListNestedAttribute{Computed: true,
		MarkdownDescription: "Cables, each once, in the order of the nodes' descriptions.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"a": end("One end."),
			"b": end("The other end; null if nobody answers there."),
			"state": text("The less advanced of both ends' states: `Active`, `Initializing` and so on; `Silent` if nobody " +
				"answers at the other end."),
			"width": text("Width in use, such as `4X`."),
			"speed": text("Speed in use."),
			"gbps": schema.Float64Attribute{Computed: true,
				MarkdownDescription: "What it carries after its encoding, in Gb/s."},
			"degraded": schema.BoolAttribute{Computed: true,
				MarkdownDescription: "Whether both ends support more, or the slot of a card is too slow."},
			"reasons": texts("Why it carries less than one of its ends supports, with the calculation. Includes limits that " +
				"cannot be changed, such as an FDR card on a QDR switch."),
		}}}
}
