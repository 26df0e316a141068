package attribute

import "github.com/hashicorp/terraform-plugin-framework/types"

// PlannedChange is what a plan shows of a change. One that does what the last one did is told from it, or a plan
// would not show it; unknown without a text.
func PlannedChange(text string, last types.String) types.String {
	switch {
	case text == "":
		return types.StringUnknown()
	case text == last.ValueString():
		text = "again: " + text
	}
	return types.StringValue(text)
}
