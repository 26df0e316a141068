package firmwarebackup

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID           types.String     `tfsdk:"id"`
	CardID       attribute.CardID `tfsdk:"card_id"`
	CardIdentity types.String     `tfsdk:"card_identity"`
	Triggers     types.Map        `tfsdk:"triggers"`

	ImagePath    types.String      `tfsdk:"image_path"`
	SHA256       types.String      `tfsdk:"sha256"`
	Size         types.Int64       `tfsdk:"size"`
	PSID         attribute.PSID    `tfsdk:"psid"`
	Version      attribute.Version `tfsdk:"version"`
	NodeGUID     attribute.GUID    `tfsdk:"node_guid"`
	PortGUIDs    types.Map         `tfsdk:"port_guids"`
	SystemGUID   attribute.GUID    `tfsdk:"system_image_guid"`
	MACs         types.Map         `tfsdk:"macs"`
	Taken        types.String      `tfsdk:"taken"`
	MatchesFlash types.Bool        `tfsdk:"matches_flash"`
}

// fill sets everything that follows from a backup that was read from the disk.
func (m *model) fill(ref attribute.CardRef, b backup.Backup) {
	r := b.Record
	g := r.GUIDs
	m.ID = types.StringValue(ref.String())
	m.ImagePath = types.StringValue(b.File())
	m.SHA256, m.Size = types.StringValue(r.SHA256), types.Int64Value(r.Size)
	m.PSID, m.Version = attribute.PSIDText(b.Image.PSID), attribute.VersionText(b.Image.FWVersion)
	m.NodeGUID, m.SystemGUID = attribute.GUIDText(g.Node), attribute.GUIDText(g.SystemImage)
	m.PortGUIDs = attribute.ByPort(attribute.GUIDText(g.Port1), attribute.GUIDText(g.Port2))
	m.MACs = attribute.ByPort(attribute.MACText(g.MAC1), attribute.MACText(g.MAC2))
	m.Taken = types.StringValue(r.Taken.UTC().Format(time.RFC3339))
}

// compare sets whether the flash still has what is in the backup; a flash that
// cannot be read leaves what was known.
func (m *model) compare(card *inventory.Card, b backup.Backup) {
	if f := card.Flash; f != nil {
		m.MatchesFlash = types.BoolValue(f.PSID == b.Record.PSID && f.FW == b.Record.FW)
	}
	if m.MatchesFlash.IsUnknown() {
		m.MatchesFlash = types.BoolNull()
	}
}
