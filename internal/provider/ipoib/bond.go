package ipoib

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

var bondTypes = map[string]attr.Type{"name": types.StringType, "backup_port_guid": attribute.GUIDType{}}

var interfaceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,14}$`)

func bondAttribute() schema.Attribute {
	// Whether there is a bond, the modifiers of its parts do not see.
	made := objectplanmodifier.RequiresReplaceIf(func(_ context.Context, r planmodifier.ObjectRequest,
		resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
		resp.RequiresReplace = r.StateValue.IsNull() != r.PlanValue.IsNull()
	}, "Another interface.", "Another interface.")
	return schema.SingleNestedAttribute{
		Optional: true, PlanModifiers: []planmodifier.Object{made},
		MarkdownDescription: "An active-backup bond of two ports; `port_guid` is the one that carries whenever it can. Not with " +
			"`pkey` or `dhcp4`, ifupdown or TrueNAS: see [A bond of two ports](#a-bond-of-two-ports).",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required: true, MarkdownDescription: "Name of the interface of the bond, `ibbond0`. Another one forces replacement.",
				Validators: []validator.String{stringvalidator.RegexMatches(interfaceName,
					"must begin with a letter, and have at most 15 letters, digits, _ and -")},
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"backup_port_guid": schema.StringAttribute{
				Required: true, CustomType: attribute.GUIDType{},
				MarkdownDescription: "GUID of the port that carries while `port_guid` does not. Another one forces replacement.",
				PlanModifiers:       []planmodifier.String{attribute.ReplaceIfOther[attribute.GUIDKind]()},
			},
		},
	}
}

func bondKnown(v types.Object) bool {
	for _, part := range v.Attributes() {
		if part.IsUnknown() {
			return false
		}
	}
	return !v.IsUnknown()
}

func bondOf(v types.Object) (ipoib.Bond, error) {
	name, _ := v.Attributes()["name"].(types.String)
	backup, _ := v.Attributes()["backup_port_guid"].(attribute.GUID)
	if !bondKnown(v) || v.IsNull() {
		return ipoib.Bond{}, nil
	}
	guid, err := ib.ParseGUID(backup.ValueString())
	return ipoib.Bond{Name: name.ValueString(), Backup: guid}, err
}

func bondValue(b ipoib.Bond) types.Object {
	return types.ObjectValueMust(bondTypes, map[string]attr.Value{"name": types.StringValue(b.Name),
		"backup_port_guid": attribute.GUIDRaw(b.Backup)})
}
