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

	Path         types.String      `tfsdk:"path"`
	SHA256       types.String      `tfsdk:"sha256"`
	Size         types.Int64       `tfsdk:"size"`
	PSID         attribute.PSID    `tfsdk:"psid"`
	Version      attribute.Version `tfsdk:"version"`
	GUIDs        types.List        `tfsdk:"guids"`
	MACs         types.List        `tfsdk:"macs"`
	Taken        types.String      `tfsdk:"taken"`
	MatchesFlash types.Bool        `tfsdk:"matches_flash"`
}

// fill sets everything that follows from a backup that was read from the disk.
func (m *model) fill(ref attribute.CardRef, b backup.Backup) {
	r := b.Record
	g := r.GUIDs
	m.ID = types.StringValue(ref.String())
	m.Path = types.StringValue(b.File())
	m.SHA256, m.Size = types.StringValue(r.SHA256), types.Int64Value(r.Size)
	m.PSID, m.Version = attribute.PSIDText(b.Image.PSID), attribute.VersionText(b.Image.FWVersion)
	m.GUIDs = attribute.StringList([]string{g.Node.String(), g.Port1.String(), g.Port2.String(), g.SystemImage.String()})
	m.MACs = attribute.StringList([]string{g.MAC1.String(), g.MAC2.String()})
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
