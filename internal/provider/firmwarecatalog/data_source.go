package firmwarecatalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// DataSource is infiniband_firmware_catalog. It needs no host and no configured provider.
type DataSource struct{}

// New returns the data source.
func New() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_firmware_catalog"
}

type model struct {
	File     types.String      `tfsdk:"file"`
	Cards    map[string]inCard `tfsdk:"cards"`
	Images   map[string]image  `tfsdk:"images"`
	Updates  map[string]update `tfsdk:"updates"`
	Unlisted []string          `tfsdk:"unlisted"`
}

type inCard struct {
	PSID    attribute.PSID    `tfsdk:"psid"`
	Version attribute.Version `tfsdk:"version"`
}

type image struct {
	Version attribute.Version `tfsdk:"version"`
	SHA256  attribute.Hash    `tfsdk:"sha256"`
	Source  types.String      `tfsdk:"source"`
	Member  types.String      `tfsdk:"member"`
	Boards  []string          `tfsdk:"boards"`
}

type update struct {
	PSID attribute.PSID    `tfsdk:"psid"`
	From attribute.Version `tfsdk:"from_version"`
	image
}

const description = "Which firmware each board is to have, from a JSON file of the repository: `{ \"images\": [ { " +
	"\"psid\": …, \"version\": …, \"sha256\": …, \"source\": …, \"member\": …, \"boards\": [ … ] } ] }`. `member` and " +
	"`boards` may be missing. With `cards` it reports which cards are behind. Nothing is changed, and no image is " +
	"opened. To update the cards, use `updates` in the `for_each` of `infiniband_firmware_image` and " +
	"`infiniband_firmware`: their plan shows what each burn needs. Two images for one PSID are refused."

// Schema implements datasource.DataSource.
func (s *DataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	ofUpdate := imageAttributes()
	ofUpdate["psid"] = schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
		MarkdownDescription: "PSID of card and image."}
	ofUpdate["from_version"] = version("Firmware version of the card now.")
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"file": schema.StringAttribute{Required: true,
				MarkdownDescription: "Path of the JSON file on the machine that runs Terraform.",
				Validators: []validator.String{attribute.LocalPath{What: "read firmware catalogue",
					Instead: "file is a local file.", File: true}}},
			"cards": schema.MapNestedAttribute{Optional: true,
				MarkdownDescription: "Cards to compare, by a name of yours, such as the id of the card.",
				NestedObject:        schema.NestedAttributeObject{Attributes: cardAttributes()}},
			"images": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "The images by PSID.",
				NestedObject: schema.NestedAttributeObject{Attributes: imageAttributes()}},
			"updates": schema.MapNestedAttribute{Computed: true,
				MarkdownDescription: "Cards with an older version than the catalogue, by their names in `cards`. A card with a " +
					"newer one is not among them.",
				NestedObject: schema.NestedAttributeObject{Attributes: ofUpdate}},
			"unlisted": schema.SetAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Cards whose PSID the catalogue does not have, by their names in `cards`."},
		},
	}
}

func version(text string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, CustomType: attribute.VersionType{}, MarkdownDescription: text}
}

func cardAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"psid": schema.StringAttribute{Required: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: "PSID of the card, `flash_psid` of `infiniband_cards`."},
		"version": schema.StringAttribute{Required: true, CustomType: attribute.VersionType{},
			MarkdownDescription: "Firmware version of the card, `flash_version` of `infiniband_cards`."},
	}
}

func imageAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"version": version("Firmware version of the image."),
		"sha256": schema.StringAttribute{Computed: true, CustomType: attribute.HashType{},
			MarkdownDescription: "SHA-256 of the image."},
		"source": schema.StringAttribute{Computed: true, MarkdownDescription: "Path or https address, as " +
			"`infiniband_firmware_image` takes it. A path in the file is relative to the file."},
		"member": schema.StringAttribute{Computed: true,
			MarkdownDescription: "The image in an archive; null without one."},
		"boards": schema.SetAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Part numbers that the file names, for people."},
	}
}

// Read reads the file, and compares the cards with it.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := attribute.ExpandHome(m.File.ValueString())
	images, err := open(name)
	if err == nil {
		err = m.compare(images)
	}
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("file"), "use firmware catalogue "+name, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func open(name string) (map[string]line, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return read(file, filepath.Dir(name))
}

// compare fills what is read of the file.
func (m *model) compare(images map[string]line) error {
	m.Images, m.Updates, m.Unlisted = map[string]image{}, map[string]update{}, []string{}
	for psid, l := range images {
		m.Images[psid] = l.image()
	}
	for name, card := range m.Cards {
		has, err := ib.ParseFWVersion(card.Version.ValueString())
		if err != nil {
			return err
		}
		l, listed := images[card.PSID.ValueString()]
		switch {
		case !listed:
			m.Unlisted = append(m.Unlisted, name)
		case has.Compare(l.version) < 0:
			m.Updates[name] = update{PSID: card.PSID, From: card.Version, image: l.image()}
		}
	}
	slices.Sort(m.Unlisted)
	return nil
}

func (l line) image() image {
	return image{Version: attribute.VersionText(l.version), SHA256: attribute.HashText(l.SHA256),
		Source: types.StringValue(l.Source), Member: attribute.OrNull(l.Member), Boards: slices.Concat([]string{}, l.Boards)}
}
