package guids

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "The GUIDs and MAC addresses of a card, from one base value (`base_mac` or `base_guid`) or " +
	"one by one. A single value beside a base replaces the value derived from the base. " +
	"A cross-flash from Ethernet-only firmware leaves a card without GUIDs, and InfiniBand does not work without GUIDs. " +
	"Zero values, multicast values and duplicates among the configured cards are refused while planning. " +
	"Values in flash that are valid and of this card alone are replaced only with the consent that names them (GU011). " +
	"Without any value the GUIDs follow from the MAC of port 1 in flash. " +
	"The cards of a host that does not answer cannot be compared, nor can a card whose flash cannot be read. The plan " +
	"warns of both.\n\n" +
	"A ConnectX-4, ConnectX-4 Lx or ConnectX-5 stores one GUID, which node, port 1 and system image have in common, and " +
	"one MAC; port 2 has the next ones. Set them with a base value. Its firmware must write its own flash " +
	"(`Default Update Method: fw_ctrl`), else the plan refuses with GU014.\n\n" +
	"The values are written into flash after a verified backup. The card uses them after the next restart (`effective`, " +
	"`reboot_required`). Destroying it only forgets: the card keeps its identity."

const leftOut = "A port that is left out follows from the base; without a base, port 2 is port 1 + 1, and the map " +
	"shows only the ports that you wrote."

var times = attribute.TimedOperation{
	Standard: standardTimeout, Covers: "backup, write, verification and restart, without the wait for other cards",
	AtEnd: "After that time the apply fails; a job that writes flash continues on the host, and the next plan finds it.",
}

func (o object) Schema(ctx context.Context) schema.Schema {
	s := schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":            attribute.IDAttribute("`host/pci_address`"),
			"card_id":       attribute.CardIDAttribute(),
			"card_identity": attribute.CardIdentityAttribute(),
			"base_mac": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: attribute.MACType{},
				MarkdownDescription: "MAC address of port 1, usually printed on the card; port 2 gets the next one, and the " +
					"GUIDs follow from it, with `0300` in the middle, unless they are given. Default: the MAC of port 1 in flash, " +
					"if port 2 has the next one.",
				PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.MACKind]()},
			},
			"base_guid": schema.StringAttribute{
				Optional: true, Computed: true, CustomType: attribute.GUIDType{},
				MarkdownDescription: "Node GUID; port 1, port 2 and the system image get the next three, on ConnectX-4 and later " +
					"port 2 the next one. Beside `base_mac`, it overrides the GUIDs derived from it.",
				PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.GUIDKind]()},
			},
			"node_guid": guidArgument("GUID of the card itself."),
			"system_image_guid": guidArgument("GUID of the system image; equal on cards of one chassis. Default: the " +
				"base + 3; without a base, the node GUID."),
			"port_guids": attribute.ByPortAttribute[attribute.GUIDKind]("GUIDs in flash by port, `{ \"1\" = \"0x…\" }`; " +
				"other resources refer to `port_guids[\"1\"]`. " + leftOut),
			"macs": attribute.ByPortAttribute[attribute.MACKind]("MAC addresses in flash by port, `{ \"1\" = \"e4:1d:2d:…\" " +
				"}`. " + leftOut),
			finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
				"guid_change":           changeConsent(),
				attribute.UnprovenFlash: attribute.ConsentToUnproven("set GUIDs in"),
				attribute.ManagementPath: attribute.ConsentToNames("Consent to change the card although it carries the " +
					"SSH session or the default route of the host: the names of those interfaces."),
			}),
			"activation": attribute.ActivationAttribute(),
			"timeouts":   attribute.TimeoutsAttribute(ctx, times, nil),

			"change": attribute.ComputedString("The last change, or the planned one: `node: 0x… -> 0x…` for each GUID and " +
				"MAC, where values that are equal are named once; null if there is none. " + attribute.BindsTheApply),
			"effective": effectiveAttribute(),
			"reboot_required": attribute.ComputedBool("Whether the host must restart before the card uses what is in flash; " +
				"null while no driver shows what it uses." + attribute.LeftToHost),
			"backup_path": attribute.ComputedString("Directory on the operator's machine with the firmware that was in flash " +
				"before the last change, and what identifies the card. Null if this resource has written nothing."),
		},
	}
	maps.Copy(s.Attributes, attribute.RestartAttributes())
	return s
}

func guidArgument(text string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, CustomType: attribute.GUIDType{}, MarkdownDescription: text,
		PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.GUIDKind]()},
	}
}

func effectiveAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed: true,
		MarkdownDescription: "What the card uses now, as the kernel sees it; null values where it shows none." +
			attribute.LeftToHost,
		Attributes: map[string]schema.Attribute{
			"node_guid": attribute.ComputedGUID("Node GUID in use."),
			"port_guids": attribute.ComputedByPort[attribute.GUIDKind]("Port GUIDs in use, by port; empty while the " +
				"ports are Ethernet."),
			"system_image_guid": attribute.ComputedGUID("System image GUID in use."),
		},
	}
}
