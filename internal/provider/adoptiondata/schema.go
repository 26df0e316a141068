package adoptiondata

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func describe() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Writes the configuration of what is on the hosts of this provider block, with the `import` " +
			"blocks that take it over. The text is that of the command `adopt`, for hosts that are configured already. A plan " +
			"of it imports everything and changes nothing.\n\n" +
			"Resources that this configuration has already are among the text, too: the provider does not see the state.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, MarkdownDescription: "Always `adoption`."},
			"hosts": schema.SetAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the hosts to ask; all if left out, none with `[]`."},
			"files": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Text by name of the file: `cards.tf`, `fabric.tf`, `network.tf`, and `imports.tf`, which " +
					"imports what the other three have; one that would be empty is left out. What cannot be adopted is a comment in " +
					"the place of its resource."},
			"not_adopted": schema.MapNestedAttribute{
				Computed: true,
				MarkdownDescription: "What is there and cannot be adopted as it is, by the address that its resource would " +
					"have.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":     schema.StringAttribute{Computed: true, MarkdownDescription: "Id for an import."},
					"reason": schema.StringAttribute{Computed: true, MarkdownDescription: "Why it is not adopted, and what to do."},
				}},
			},
			"left_out": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Reason by name, for each host that is left out: it does not answer, has no card, or is " +
					"another name of a host that is adopted. The others are adopted all the same."},
		},
	}
}
