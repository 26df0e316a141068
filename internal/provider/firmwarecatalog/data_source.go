package firmwarecatalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// New returns the data source. It needs no host and no configured provider.
func New() datasource.DataSource {
	return &session.ReadOnly[model]{Name: "infiniband_firmware_catalog", Describe: describe, Fill: fill}
}

type model struct {
	File     types.String      `tfsdk:"file"`
	Cards    map[string]inCard `tfsdk:"cards"`
	Images   map[string]image  `tfsdk:"images"`
	Targets  map[string]target `tfsdk:"targets"`
	Updates  map[string]target `tfsdk:"updates"`
	Unlisted []string          `tfsdk:"unlisted"`
}

type inCard struct {
	PSID    attribute.PSID    `tfsdk:"psid"`
	Version attribute.Version `tfsdk:"version"`
	Board   types.String      `tfsdk:"part_number"`
	Serial  types.String      `tfsdk:"serial_number"`
	Host    types.String      `tfsdk:"host"`
}

type image struct {
	Version attribute.Version `tfsdk:"version"`
	SHA256  attribute.Hash    `tfsdk:"sha256"`
	Source  types.String      `tfsdk:"source"`
	Member  types.String      `tfsdk:"member"`
	Boards  []string          `tfsdk:"boards"`
}

// target is the image that one card is to have, beside what it has.
type target struct {
	PSID     attribute.PSID    `tfsdk:"psid"`
	FromPSID attribute.PSID    `tfsdk:"from_psid"`
	From     attribute.Version `tfsdk:"from_version"`
	ChosenBy types.String      `tfsdk:"chosen_by"`
	image
}

const description = "Which firmware each board is to have, from a JSON file of the repository: `{ \"images\": [ { " +
	"\"psid\": …, \"version\": …, \"sha256\": …, \"source\": …, \"member\": …, \"boards\": [ … ], " +
	"\"serial_numbers\": [ … ], \"hosts\": [ … ] } ] }`. `member` and the lists may be missing. With `cards` it says which " +
	"image each card is to have, and which cards are behind. Nothing is changed, and no image is opened.\n\n" +
	"An image with `serial_numbers` is for these cards only, whatever their PSID. One with `hosts` is for the cards of " +
	"these hosts that have its PSID or are one of its `boards`. A card takes the image that names its serial number, else " +
	"one of its host, else one for all; [an example](../guides/firmware.md#one-list-for-all-boards) shows it. Two " +
	"images by the same rule for one card are refused."

func describe() schema.Schema {
	ofTarget := imageAttributes()
	ofTarget["psid"] = schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
		MarkdownDescription: "PSID of the image."}
	ofTarget["from_psid"] = schema.StringAttribute{Computed: true, CustomType: attribute.PSIDType{},
		MarkdownDescription: "PSID of the card now. Where it differs, the burn is a cross-flash, and needs its consent."}
	ofTarget["chosen_by"] = schema.StringAttribute{Computed: true, MarkdownDescription: "By which rule the image was " +
		"chosen: `card` (it names the serial number), `host` (it names the host) or `site` (it is for all)."}
	ofTarget["from_version"] = version("Firmware version of the card now.")
	return schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"file": schema.StringAttribute{Required: true,
				MarkdownDescription: "Path of the JSON file on the machine that runs Terraform.",
				Validators: []validator.String{attribute.LocalPath{What: "read firmware catalogue",
					Instead: "file is a local file.", File: true}}},
			"cards": schema.MapNestedAttribute{Optional: true,
				MarkdownDescription: "Cards to compare, by a name of yours, such as the id of the card.",
				NestedObject:        schema.NestedAttributeObject{Attributes: cardAttributes()}},
			"images": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "The images that are for all, " +
				"by PSID.",
				NestedObject: schema.NestedAttributeObject{Attributes: imageAttributes()}},
			"targets": schema.MapNestedAttribute{Computed: true,
				MarkdownDescription: "The image that each card is to have, by the names in `cards`: by serial number, else by host, " +
					"else for all, of these that of its PSID before that of its board. It stays when the card has it: use it to " +
					"manage the firmware.",
				NestedObject: schema.NestedAttributeObject{Attributes: ofTarget}},
			"updates": schema.MapNestedAttribute{Computed: true,
				MarkdownDescription: "Those of `targets` whose card has another PSID or an older version, for a report. A card " +
					"with a newer version is not among them.",
				NestedObject: schema.NestedAttributeObject{Attributes: ofTarget}},
			"unlisted": schema.SetAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Cards for which the catalogue has no image, by their names in `cards`."},
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
		"part_number": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Part number of the card, of `infiniband_cards`. It finds the image of a card whose PSID the " +
				"catalogue does not have, such as one with the firmware of another vendor."},
		"serial_number": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Serial number of the card, of `infiniband_cards`. It has to be there if an image has " +
				"`serial_numbers`."},
		"host": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Host of the card, of `infiniband_cards`. It has to be there if an image has `hosts`."},
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
			MarkdownDescription: "Part numbers of the boards that are to have the image."},
	}
}

// fill reads the file, and compares the cards with it.
func fill(_ context.Context, _ *session.DataSource, m *model, diags *diag.Diagnostics) bool {
	name := attribute.ExpandHome(m.File.ValueString())
	images, err := open(name)
	if err == nil {
		err = m.compare(images)
	}
	diagnostic.AddErrorAt(diags, path.Root("file"), "use firmware catalogue "+name, err)
	return err == nil
}

func open(name string) ([]line, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return read(file, filepath.Dir(name))
}

// compare fills what is read of the file.
func (m *model) compare(images []line) error {
	m.Images, m.Unlisted = map[string]image{}, []string{}
	m.Targets, m.Updates = map[string]target{}, map[string]target{}
	for _, l := range images {
		if l.everywhere() {
			m.Images[l.PSID] = l.image()
		}
	}
	for name, card := range m.Cards {
		has, err := ib.ParseFWVersion(card.Version.ValueString())
		if err != nil {
			return err
		}
		l, by, err := imageFor(images, card)
		if err != nil {
			return fmt.Errorf("card %s: %w", name, err)
		}
		if l == nil {
			m.Unlisted = append(m.Unlisted, name)
			continue
		}
		m.Targets[name] = target{PSID: attribute.PSIDText(ib.PSID(l.PSID)), FromPSID: card.PSID, From: card.Version,
			ChosenBy: types.StringValue(by), image: l.image()}
		if l.PSID != card.PSID.ValueString() || has.Compare(l.version) < 0 {
			m.Updates[name] = m.Targets[name]
		}
	}
	slices.Sort(m.Unlisted)
	return nil
}

func (l line) image() image {
	return image{Version: attribute.VersionText(l.version), SHA256: attribute.HashText(l.SHA256),
		Source: types.StringValue(l.Source), Member: attribute.OrNull(l.Member), Boards: slices.Concat([]string{}, l.Boards)}
}
