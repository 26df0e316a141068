package firmwareimage

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dsschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const (
	sourceDescription = "The plain image (`.bin`), or with `member` a zip, tar or tar.gz archive: a path on the machine that " +
		"runs Terraform, or an `https://` address. An address needs `sha256`, may not redirect to another host, and is " +
		"fetched once: the image is kept by its hash in the cache of the user there."
	memberDescription = "The image in the archive, by its whole name, `fw/fw-ConnectX4.bin`. It needs `sha256`."
	sha256Description = "SHA-256 of the image, not of an archive; recommended. The plan refuses a file with another " +
		"hash; without it, any file at that path is taken."
)

var localFile = attribute.LocalPath{
	What: "read firmware image",
	Instead: "source is a local file or an https address. Download the file first. Then write its path here, and its " +
		"sha256 as the vendor gives it.",
	File: true, HTTPS: true,
}

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attrs := map[string]schema.Attribute{
		"id": attribute.ComputedString("Id, `host/sha256`. `terraform import` takes `host/path/of/the/file` instead."),
		"host": schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
			MarkdownDescription: "Key of the host in the provider's `hosts` map. A change copies the image to that host."},
		"source": schema.StringAttribute{Required: true, MarkdownDescription: sourceDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1), localFile}},
		"member": schema.StringAttribute{Optional: true, MarkdownDescription: memberDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
		"sha256": schema.StringAttribute{
			Optional: true, Computed: true, CustomType: attribute.HashType{},
			MarkdownDescription: sha256Description,
			PlanModifiers:       []planmodifier.String{attribute.KeepSpelling[attribute.HashKind]()},
		},
		"staged_path": attribute.ComputedString("File on the host with the verified copy; its name is the hash."),
	}
	for name, d := range factDescriptions {
		attrs[name] = d.resourceAttribute()
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A firmware image, verified on this machine (every checksum in it), copied to a host under " +
			"its hash and verified there. " +
			"Nothing is written to a card. A copy that is gone or changed is staged again by the next apply. " +
			"Destroying it forgets the copy. The copy stays on the host.",
		Attributes: attrs,
	}
}

// Schema implements datasource.DataSource.
func (s *DataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attrs := map[string]dsschema.Attribute{
		"id": dsschema.StringAttribute{Computed: true, MarkdownDescription: "The SHA-256 of the file."},
		"source": dsschema.StringAttribute{Required: true, MarkdownDescription: sourceDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1), localFile}},
		"member": dsschema.StringAttribute{Optional: true, MarkdownDescription: memberDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
		"sha256": dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.HashType{},
			MarkdownDescription: sha256Description},
	}
	for name, d := range factDescriptions {
		attrs[name] = d.dataSourceAttribute()
	}
	resp.Schema = dsschema.Schema{
		MarkdownDescription: "Reads and verifies a firmware image on the machine that runs Terraform, without any host or " +
			"vendor tool. " +
			"A file that is damaged, truncated, of another kind or not of the declared hash fails the plan with the offset of " +
			"the first wrong byte.",
		Attributes: attrs,
	}
}

// fact describes one computed attribute of an image, the same in the resource
// and in the data source.
type fact struct {
	kind        factKind
	description string
}

type factKind int

const (
	textFact factKind = iota
	boolFact
	intFact
	listFact
	psidFact
	versionFact
	guidFact
	portGUIDsFact
	macsFact
)

var factDescriptions = map[string]fact{
	"format":          {textFact, "Container format: `FS2` for ConnectX-3 and ConnectX-3 Pro, `FS3` for ConnectX-4, `FS4` for ConnectX-5."},
	"version":         {versionFact, "Firmware version, `2.42.5000`. If given, an image of another version is refused (FW016)."},
	"product_version": {textFact, "Product version as the vendor wrote it; null if the image has none."},
	"release_date":    {textFact, "Release date, `2017-09-05`; null if the image has none."},
	"psid": {psidFact,
		"PSID: the board that the image was made for. If given, another one is refused (FW016)."},
	"hardware_ids":      {listFact, "Hardware ids of the chips that the image is for, such as `0x1f7 rev 0`."},
	"failsafe":          {boolFact, "Whether the image is made for a flash with two slots, of which one always boots."},
	"node_guid":         {guidFact, "Node GUID in the image. A vendor's file holds placeholders; see `identity`."},
	"port_guids":        {portGUIDsFact, "Port GUIDs in the image, by port."},
	"system_image_guid": {guidFact, "System image GUID in the image."},
	"macs":              {macsFact, "MAC addresses in the image, by port."},
	"identity": {textFact,
		"Whose GUIDs these are: `placeholder` (a vendor's file), `blank`, `none`, or `unique` (a backup of one card)."},
	"size":     {intFact, "Size of the file in bytes."},
	"checksum": {textFact, "Checksum over the image without its identity, as the vendor's tool prints it."},
}

func (f fact) resourceAttribute() schema.Attribute {
	switch f.kind {
	case boolFact:
		return attribute.ComputedBool(f.description)
	case intFact:
		return attribute.ComputedInt(f.description)
	case listFact:
		return attribute.ComputedList(types.StringType, f.description)
	case psidFact:
		return schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: f.description}
	case versionFact:
		return schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.VersionType{},
			MarkdownDescription: f.description}
	case guidFact:
		return attribute.ComputedGUID(f.description)
	case portGUIDsFact:
		return attribute.ComputedByPort[attribute.GUIDKind](f.description)
	case macsFact:
		return attribute.ComputedByPort[attribute.MACKind](f.description)
	case textFact:
	}
	return attribute.ComputedString(f.description)
}

func (f fact) dataSourceAttribute() dsschema.Attribute {
	switch f.kind {
	case boolFact:
		return dsschema.BoolAttribute{Computed: true, MarkdownDescription: f.description}
	case intFact:
		return dsschema.Int64Attribute{Computed: true, MarkdownDescription: f.description}
	case listFact:
		return dsschema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: f.description}
	case psidFact:
		return dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: f.description}
	case versionFact:
		return dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.VersionType{},
			MarkdownDescription: f.description}
	case guidFact:
		return dsschema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{}, MarkdownDescription: f.description}
	case portGUIDsFact:
		return dsschema.MapAttribute{Computed: true, ElementType: attribute.GUIDType{}, MarkdownDescription: f.description}
	case macsFact:
		return dsschema.MapAttribute{Computed: true, ElementType: attribute.MACType{}, MarkdownDescription: f.description}
	case textFact:
	}
	return dsschema.StringAttribute{Computed: true, MarkdownDescription: f.description}
}
