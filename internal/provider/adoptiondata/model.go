package adoptiondata

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID         types.String `tfsdk:"id"`
	Hosts      types.Set    `tfsdk:"hosts"`
	Files      types.Map    `tfsdk:"files"`
	NotAdopted types.Map    `tfsdk:"not_adopted"`
	LeftOut    types.Map    `tfsdk:"left_out"`
}

var refused = types.ObjectType{AttrTypes: map[string]attr.Type{"id": types.StringType, "reason": types.StringType}}

func (m *model) observe(lab *adoption.Lab) {
	files, leftOut, not := map[string]string{}, map[string]string{}, map[string]attr.Value{}
	for name, text := range lab.Files() {
		files[name] = string(text)
	}
	for _, host := range lab.FailedHosts() {
		leftOut[host.Name] = host.Error.String()
	}
	for _, o := range lab.Refused() {
		not[o.Address()] = types.ObjectValueMust(refused.AttrTypes, map[string]attr.Value{
			"id": types.StringValue(o.ID), "reason": types.StringValue(o.Reason.String()),
		})
	}
	m.Files, m.LeftOut = attribute.StringMap(files), attribute.StringMap(leftOut)
	m.NotAdopted = types.MapValueMust(refused, not)
}
