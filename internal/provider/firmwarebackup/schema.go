package firmwarebackup

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "Stores a verified backup of a card's firmware in `backup_dir`, without any burn. Apply it first " +
	"for a card that matters. The flash is read twice with equal results. mstflint and the provider " +
	"verify the copy. It is compared with the card and synced to the disk. `card.json` beside the firmware holds PSID, " +
	"versions, GUIDs, MACs, serial number and the tool's full query. Nothing is written to the card. The host keeps a " +
	"copy below `/var/lib/terraform-provider-infiniband/backups`, so a host in observe mode refuses it.\n\n" +
	"Each plan reads the file again. If the file is missing or damaged, or if it is of another card, " +
	"the plan says so and plans a new backup. Nothing ever deletes an old backup, also not a destroy. " +
	"Import finds the newest backup of the card that verifies; with `triggers` in the configuration the next apply " +
	"takes another one."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":            attribute.IDAttribute("`host/pci_address`"),
			"card_id":       attribute.CardIDAttribute(),
			"card_identity": attribute.CardIdentityAttribute(),
			"triggers": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Any values; a change takes a new backup and keeps the old one.",
			},

			"image_path": attribute.ComputedString("File on the operator's machine with the firmware. It is an image of this " +
				"card, which `infiniband_firmware_image` takes as its `source`."),
			"sha256":            attribute.ComputedString("SHA-256 of the file."),
			"size":              attribute.ComputedInt("Size of the file in bytes."),
			"psid":              attribute.ComputedPSID("PSID of the firmware."),
			"version":           attribute.ComputedVersion("Version of the firmware."),
			"node_guid":         attribute.ComputedGUID("Node GUID that the card had in flash; null if none was set."),
			"port_guids":        attribute.ComputedByPort[attribute.GUIDKind]("Port GUIDs that the card had in flash, by port."),
			"system_image_guid": attribute.ComputedGUID("System image GUID that the card had in flash; null if none was set."),
			"macs": attribute.ComputedByPort[attribute.MACKind](
				"MAC addresses that the card had in flash, by port."),
			"taken": attribute.ComputedString("When the backup was taken, `2026-03-01T12:00:00Z`."),
			"matches_flash": attribute.ComputedBool("Whether the card's flash still has this PSID and version. A " +
				"difference plans no new backup."),
		},
	}
}
