package attribute

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// Described is what a validator or a plan modifier says of itself.
type Described string

// Description implements validator.Describer.
func (d Described) Description(context.Context) string { return string(d) }

// MarkdownDescription implements validator.Describer.
func (d Described) MarkdownDescription(context.Context) string { return string(d) }

// CheckText refuses texts. Wrong gives a title and what is wrong with a text, which is empty if nothing is; without a
// title the message names the argument. What is null or not known passes.
type CheckText struct {
	Described
	Wrong func(text string) (title, problem string)
}

// ValidateString implements validator.String.
func (c CheckText) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if title, problem := c.Wrong(req.ConfigValue.ValueString()); problem != "" {
		resp.Diagnostics.AddAttributeError(req.Path, cmp.Or(title, "Invalid value for "+req.Path.String()), problem)
	}
}
