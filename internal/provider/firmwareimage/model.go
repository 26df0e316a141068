package firmwareimage

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// facts are the computed attributes that resource and data source share.
type facts struct {
	Format         types.String      `tfsdk:"format"`
	Version        attribute.Version `tfsdk:"version"`
	ProductVersion types.String      `tfsdk:"product_version"`
	ReleaseDate    types.String      `tfsdk:"release_date"`
	PSID           attribute.PSID    `tfsdk:"psid"`
	HardwareIDs    types.List        `tfsdk:"hardware_ids"`
	Failsafe       types.Bool        `tfsdk:"failsafe"`
	NodeGUID       attribute.GUID    `tfsdk:"node_guid"`
	PortGUIDs      types.Map         `tfsdk:"port_guids"`
	SystemGUID     attribute.GUID    `tfsdk:"system_image_guid"`
	MACs           types.Map         `tfsdk:"macs"`
	Identity       types.String      `tfsdk:"identity"`
	Size           types.Int64       `tfsdk:"size"`
	Checksum       types.String      `tfsdk:"checksum"`
}

type model struct {
	ID         types.String   `tfsdk:"id"`
	Host       types.String   `tfsdk:"host"`
	Source     types.String   `tfsdk:"source"`
	SHA256     attribute.Hash `tfsdk:"sha256"`
	StagedPath types.String   `tfsdk:"staged_path"`
	facts
}

type dataModel struct {
	ID     types.String   `tfsdk:"id"`
	Source types.String   `tfsdk:"source"`
	SHA256 attribute.Hash `tfsdk:"sha256"`
	facts
}

// file is a local image file that was read and verified.
type file struct {
	path   string
	sha256 string
	size   int64
	image  *fwimage.Image
}

func factsOf(f file) facts {
	img := f.image
	ids := make([]string, len(img.HWIDs))
	for i, id := range img.HWIDs {
		ids[i] = fmt.Sprintf("0x%x rev %x", id.ID, id.Rev)
	}
	g := img.GUIDs
	return facts{
		Format:         types.StringValue(string(img.Format)),
		Version:        attribute.VersionText(img.FWVersion),
		ProductVersion: attribute.OrNull(img.ProductVersion),
		ReleaseDate:    attribute.OrNull(img.ReleaseDate),
		PSID:           attribute.PSIDText(img.PSID),
		HardwareIDs:    attribute.StringList(ids),
		Failsafe:       types.BoolValue(img.Failsafe),
		NodeGUID:       attribute.GUIDText(g.Node),
		PortGUIDs:      attribute.ByPort(attribute.GUIDText(g.Port1), attribute.GUIDText(g.Port2)),
		SystemGUID:     attribute.GUIDText(g.SystemImage),
		MACs:           attribute.ByPort(attribute.MACText(g.MAC1), attribute.MACText(g.MAC2)),
		Identity:       types.StringValue(string(img.Identity)),
		Size:           types.Int64Value(f.size),
		Checksum:       attribute.OrNull(img.Checksum),
	}
}

// fill sets everything that follows from the file.
func (m *model) fill(f file) {
	m.facts = factsOf(f)
	if m.SHA256.IsNull() || m.SHA256.IsUnknown() || !m.SHA256.Same(attribute.HashText(f.sha256)) {
		m.SHA256 = attribute.HashText(f.sha256)
	}
	m.ID = types.StringValue(attribute.ImageRef{Host: m.Host.ValueString(), SHA256: f.sha256}.String())
}
