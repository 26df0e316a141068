package firmwareimage

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/download"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// title is what resource and data source have of an image.
type title struct {
	PSID        attribute.PSID    `tfsdk:"psid"`
	Version     attribute.Version `tfsdk:"version"`
	ReleaseDate types.String      `tfsdk:"release_date"`
}

// facts are those of the data source alone. A plan has the same image for each host, and its reader asks which it is.
type facts struct {
	title
	Format         types.String   `tfsdk:"format"`
	ProductVersion types.String   `tfsdk:"product_version"`
	HardwareIDs    types.List     `tfsdk:"hardware_ids"`
	Failsafe       types.Bool     `tfsdk:"failsafe"`
	NodeGUID       attribute.GUID `tfsdk:"node_guid"`
	PortGUIDs      types.Map      `tfsdk:"port_guids"`
	SystemGUID     attribute.GUID `tfsdk:"system_image_guid"`
	MACs           types.Map      `tfsdk:"macs"`
	Identity       types.String   `tfsdk:"identity"`
	Size           types.Int64    `tfsdk:"size"`
	Checksum       types.String   `tfsdk:"checksum"`
}

type model struct {
	ID         types.String   `tfsdk:"id"`
	Host       types.String   `tfsdk:"host"`
	Source     types.String   `tfsdk:"source"`
	Member     types.String   `tfsdk:"member"`
	SHA256     attribute.Hash `tfsdk:"sha256"`
	StagedPath types.String   `tfsdk:"staged_path"`
	title
}

type dataModel struct {
	ID     types.String   `tfsdk:"id"`
	Source types.String   `tfsdk:"source"`
	Member types.String   `tfsdk:"member"`
	SHA256 attribute.Hash `tfsdk:"sha256"`
	facts
}

// asked is the file that a configuration asks for, and what it declares of it.
type asked struct {
	download.Source
	PSID, Version string // empty: not declared
}

func (m *model) asked() asked     { return m.declare(m.Source, m.Member, m.SHA256) }
func (m *dataModel) asked() asked { return m.declare(m.Source, m.Member, m.SHA256) }

// unknown reports whether something that names the file comes from what does not exist yet.
func (m *model) unknown() bool {
	return m.Source.IsUnknown() || m.Member.IsUnknown() || m.SHA256.IsUnknown() || m.PSID.IsUnknown() ||
		m.Version.IsUnknown()
}

// declare is the file with what is known of it beforehand.
func (m *title) declare(source, member types.String, sha256 attribute.Hash) asked {
	a := asked{Source: download.Source{Address: source.ValueString(), Member: member.ValueString(),
		SHA256: sha256.ValueString()}, PSID: m.PSID.ValueString()}
	if v, err := ib.ParseFWVersion(m.Version.ValueString()); err == nil {
		a.Version = v.String()
	}
	return a
}

// take fills what is known of the file, and keeps the spelling of what was declared.
func (m *title) take(f file) {
	given := m.Version
	*m = title{PSID: attribute.PSIDText(f.image.PSID), Version: attribute.VersionText(f.image.FWVersion),
		ReleaseDate: attribute.OrNull(f.image.ReleaseDate)}
	if given.Same(m.Version) {
		m.Version = given
	}
}

// file is a local image file that was read and verified.
type file struct {
	path   string
	name   string // what messages call it
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
		ProductVersion: attribute.OrNull(img.ProductVersion),
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
	m.take(f)
	if m.SHA256.IsNull() || m.SHA256.IsUnknown() || !m.SHA256.Same(attribute.HashText(f.sha256)) {
		m.SHA256 = attribute.HashText(f.sha256)
	}
	m.ID = types.StringValue(attribute.ImageRef{Host: m.Host.ValueString(), SHA256: f.sha256}.String())
}
