package attribute

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// SetOf is a set of values that were read from a host. A file can name a value twice; Terraform
// refuses a set that does, and with it every plan that could mend the file.
func SetOf(of attr.Type, read []attr.Value) types.Set {
	var each []attr.Value
	for _, v := range read {
		if !slices.ContainsFunc(each, v.Equal) {
			each = append(each, v)
		}
	}
	return types.SetValueMust(of, each)
}
