package firmwarebackup

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "A proven backup of a card's firmware in `backup_dir`, without any burn: the first thing to apply for a card that matters. " +
	"The flash is read twice with equal results, verified by the vendor's tool and by the provider, compared with what the card says of itself, and synced to the disk; " +
	"`card.json` beside the firmware holds PSID, versions, GUIDs, MACs, serial number and the tool's full query. Nothing is written to the card. " +
	"On the host the reading needs some files for a moment and leaves a copy below `/var/lib/terraform-provider-infiniband/backups`, so it is refused on a host in observe mode.\n\n" +
	"Each plan reads the file again. One that is missing or damaged, or of a card that is no longer in its place, is reported, and a new backup is planned. " +
	"Backups are only ever added: neither a new one nor a destroy deletes an old one. " +
	"Import finds the newest backup of the card that verifies; with `triggers` in the configuration the next apply takes another one."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"id":            attribute.IDAttribute("that of the card"),
			"card_id":       attribute.CardIDAttribute(),
			"card_identity": attribute.CardIdentityAttribute(),
			"triggers": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Any values; a change takes a new backup and keeps the old one.",
			},

			"image_path":        attribute.Computed("File on the operator's machine with the firmware. It is an image of this card, which `infiniband_firmware_image` takes as its `source`."),
			"sha256":            attribute.Computed("SHA-256 of the file."),
			"size":              attribute.ComputedInt("Size of the file in bytes."),
			"psid":              attribute.ComputedPSID("PSID of the firmware."),
			"version":           attribute.ComputedVersion("Version of the firmware."),
			"node_guid":         attribute.ComputedGUID("Node GUID that the card had in flash; null if none was set."),
			"port_guids":        attribute.ComputedByPort[attribute.GUIDKind]("Port GUIDs that the card had in flash, by port."),
			"system_image_guid": attribute.ComputedGUID("System image GUID that the card had in flash; null if none was set."),
			"macs":              attribute.ComputedByPort[attribute.MACKind]("MAC addresses that the card had in flash, by port."),
			"taken":             attribute.Computed("When the backup was taken, `2026-03-01T12:00:00Z`."),
			"matches_flash":     attribute.ComputedBool("Whether the card's flash still has this PSID and version. A difference alone plans no new backup."),
		},
	}
}
