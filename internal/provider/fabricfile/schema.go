package fabricfile

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "Writes what `infiniband_fabric` gives into a file on the machine that runs Terraform: a picture for " +
	"a README, a graph, a list of links. The file is written only when its content changes. It needs no shell and no " +
	"other provider, so it also works on Windows. No host is asked.\n\n" +
	"Each plan reads the file. If somebody has changed or removed it, the plan shows that, and the apply writes it " +
	"again. A file that is there already, with another content, is not replaced: the plan refuses, and an import hands " +
	"it over. A destroy removes the file only if it is as it was written here: one that was there before with the same " +
	"content stays. Two resources for one file are refused (HO030).\n\n" +
	"A resource that is replaced, also with `create_before_destroy`, leaves the file of the new one. If an apply is killed " +
	"between the two, the next apply removes the file with the old one, and the plan after that writes it again.\n\n" +
	"Commit the file, or a plan in another clone misses it. Git may change its line ends on Windows; " +
	"`*.svg -text` in `.gitattributes` prevents that.\n\n" +
	"An engine that writes the configuration of an import itself leaves `content` out. Write it: without it the file is " +
	"left as it is."

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Version:             1,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"file_path": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "File to write, with missing directories; another path moves it. Begin it with " +
					"`${path.root}/` or `${path.module}/`: any other relative path begins where Terraform runs.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1), attribute.LocalPath{
					What: "write file", Instead: "file_path is a file on this machine. Write its path.", File: true}},
			},
			"content": schema.StringAttribute{
				Optional: true, WriteOnly: true,
				MarkdownDescription: "What the file holds, such as `data.infiniband_fabric.lab.svg`: write-only, and a plan shows " +
					"its change as one of `sha256`. While it is null, as for a fabric of which no host answers, the file is left as it is.",
			},
			"sha256": attribute.ComputedString("SHA-256 of the file as it is. Any change of it by somebody else is a " +
				"difference."),
		},
	}
}

// UpgradeState takes content out of a state of version 0, in which it was not write-only: an engine takes no such
// state.
func (r *Resource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	text := schema.StringAttribute{Optional: true}
	return map[int64]resource.StateUpgrader{0: {
		PriorSchema: &schema.Schema{Attributes: map[string]schema.Attribute{
			"file_path": text, "content": text, "sha256": text}},
		StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
			var m model
			resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
			m.Content = types.StringNull()
			resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		},
	}}
}
