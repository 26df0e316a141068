package firmwareimage

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
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
	versionDescription = "Firmware version, `2.42.5000`. If given, an image of another version is refused (FW016)."
	psidDescription    = "PSID: the board that the image was made for. If given, another one is refused (FW016)."
	dateDescription    = "Release date, `2017-09-05`; null if the image has none."
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
		"psid": schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: psidDescription},
		"version": schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.VersionType{},
			MarkdownDescription: versionDescription},
		"release_date": attribute.ComputedString(dateDescription),
		"staged_path":  attribute.ComputedString("File on the host with the verified copy; its name is the hash."),
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A firmware image, verified on this machine (every checksum in it), copied to a host under " +
			"its hash and verified there. " +
			"Nothing is written to a card. A copy that is gone or changed is staged again by the next apply. " +
			"Destroying it forgets the copy. The copy stays on the host. The data source of the same name says more " +
			"of an image.",
		Attributes: attrs,
	}
}

func describe() dsschema.Schema {
	attrs := map[string]dsschema.Attribute{
		"id": dsschema.StringAttribute{Computed: true, MarkdownDescription: "The SHA-256 of the file."},
		"source": dsschema.StringAttribute{Required: true, MarkdownDescription: sourceDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1), localFile}},
		"member": dsschema.StringAttribute{Optional: true, MarkdownDescription: memberDescription,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
		"sha256": dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.HashType{},
			MarkdownDescription: sha256Description},
		"psid": dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.PSIDType{},
			MarkdownDescription: psidDescription},
		"version": dsschema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.VersionType{},
			MarkdownDescription: versionDescription},
		"failsafe": dsschema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the image is made for a flash " +
			"with two slots, of which one always boots."},
		"size": dsschema.Int64Attribute{Computed: true, MarkdownDescription: "Size of the file in bytes."},
		"hardware_ids": dsschema.ListAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Hardware ids of the chips that the image is for, such as `0x1f7 rev 0`."},
		"node_guid": dsschema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "Node GUID in the image. A vendor's file holds placeholders; see `identity`."},
		"system_image_guid": dsschema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "System image GUID in the image."},
		"port_guids": dsschema.MapAttribute{Computed: true, ElementType: attribute.GUIDType{},
			MarkdownDescription: "Port GUIDs in the image, by port."},
		"macs": dsschema.MapAttribute{Computed: true, ElementType: attribute.MACType{},
			MarkdownDescription: "MAC addresses in the image, by port."},
	}
	for name, description := range texts {
		attrs[name] = dsschema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return dsschema.Schema{
		MarkdownDescription: "Reads and verifies a firmware image on the machine that runs Terraform, without any host or " +
			"vendor tool. " +
			"A file that is damaged, truncated, of another kind or not of the declared hash fails the plan with the offset of " +
			"the first wrong byte.",
		Attributes: attrs,
	}
}

// texts are the attributes of the data source that are plain text.
var texts = map[string]string{
	"format":          "Container format: `FS2` for ConnectX-3 and ConnectX-3 Pro, `FS3` for ConnectX-4, `FS4` for ConnectX-5.",
	"product_version": "Product version as the vendor wrote it; null if the image has none.",
	"release_date":    dateDescription,
	"identity": "Whose GUIDs these are: `placeholder` (a vendor's file), `blank`, `none`, or `unique` (a backup of one " +
		"card).",
	"checksum": "Checksum over the image without its identity, as the vendor's tool prints it.",
}
