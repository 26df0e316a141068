package attribute

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Keys of the argument allow that several resources have.
const (
	ManagementPath = "management_path"
	UnprovenFlash  = "unproven_flash"
)

// AllowAttribute is the argument that holds all consents of a resource: a plan shows one line of it.
func AllowAttribute(consents map[string]schema.Attribute) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional: true, WriteOnly: true, Attributes: consents,
		MarkdownDescription: "Consents to what is refused otherwise; each refusal shows its own with the values. They " +
			"count only while they are in the configuration: no plan and no state holds them, and changing only them " +
			"does nothing.",
	}
}

// ConsentToPair permits one change from one value to another. It holds both values, so that it
// permits no other change.
func ConsentToPair[K Kind](description string) schema.SingleNestedAttribute {
	part := func(what string) schema.StringAttribute {
		return schema.StringAttribute{Required: true, WriteOnly: true, CustomType: TextType[K]{}, MarkdownDescription: what}
	}
	return schema.SingleNestedAttribute{
		Optional: true, WriteOnly: true, MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"from": part("Value before the change."),
			"to":   part("Value after the change."),
		},
	}
}

// ConsentToAll permits what all of its parts name together; parts says what each is.
func ConsentToAll(description string, parts map[string]string) schema.SingleNestedAttribute {
	a := schema.SingleNestedAttribute{Optional: true, WriteOnly: true, MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{}}
	for name, what := range parts {
		a.Attributes[name] = schema.StringAttribute{Required: true, WriteOnly: true,
			MarkdownDescription: what, Validators: named}
	}
	return a
}

// named refuses an empty name: where it narrows a consent, it would be one to everything.
var named = []validator.String{stringvalidator.LengthAtLeast(1)}

// ConsentToName permits to touch one thing. It holds its name.
func ConsentToName(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, WriteOnly: true, MarkdownDescription: description, Validators: named}
}

// ConsentToNames is ConsentToName for several things. It is a list: the framework has no
// write-only sets. Their order means nothing.
func ConsentToNames(description string, more ...validator.List) schema.ListAttribute {
	return schema.ListAttribute{
		Optional: true, WriteOnly: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: append(more, listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))),
	}
}

// ConsentToVersion is ConsentToName for a firmware version.
func ConsentToVersion(description string) schema.StringAttribute {
	a := ConsentToName(description)
	a.CustomType, a.Validators = VersionType{}, nil // no version is empty
	return a
}

// ConsentToUnproven is the consent to write over firmware that nothing shows to have run.
func ConsentToUnproven(what string) schema.StringAttribute {
	return ConsentToVersion("Consent to " + what + " firmware of which no driver shows that it has run: the version in " +
		"flash. Only a card on a host without its driver needs it, before its first restart.")
}

// AllowedPath is the consent to management_path that a destroy has. A destroy has no configuration.
func AllowedPath() schema.ListAttribute {
	return schema.ListAttribute{
		Computed: true, ElementType: types.StringType,
		PlanModifiers: []planmodifier.List{follows(ManagementPath)},
		MarkdownDescription: "Interfaces that a destroy may take down: `allow.management_path` of the last apply. A destroy " +
			"has no configuration, so apply that consent before it.",
	}
}

// AllowedName is a consent to one name that a destroy has.
func AllowedName(key, description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{follows(key)},
		MarkdownDescription: description + ": `allow." + key + "` of the last apply. A destroy has no configuration, so " +
			"apply that consent before it."}
}

// allowed plans what the configuration allows under a key.
type allowed struct {
	Described
	at path.Path
}

func follows(key string) allowed {
	return allowed{"Follows allow." + Described(key) + ".", path.Root(finding.Allow).AtName(key)}
}

func (m allowed) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, m.at, &resp.PlanValue)...)
	}
}

func (m allowed) PlanModifyString(ctx context.Context, req planmodifier.StringRequest,
	resp *planmodifier.StringResponse) {
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, m.at, &resp.PlanValue)...)
	}
}

// Consents are the values of the argument allow; those that are null are not given.
type Consents map[string]attr.Value

// ConsentsOf reads the argument allow of a configuration: a plan or a state holds none.
func ConsentsOf(allow types.Object) Consents { return allow.Attributes() }

// Text is a consent to one name; empty without it.
func (c Consents) Text(key string) string { return StringOf(c[key]) }

// Number is a consent to a number; zero without it.
func (c Consents) Number(key string) int {
	n, _ := c[key].(types.Int64)
	return int(n.ValueInt64())
}

// Names are those of a consent to several.
func (c Consents) Names(key string) []string {
	list, _ := c[key].(types.List)
	return StringsOf(list)
}

// Part is a consent that is an object, such as a pair of from and to.
func (c Consents) Part(key string) Consents {
	part, _ := c[key].(types.Object)
	return part.Attributes()
}

// Known reports whether these values are known, and everything in them.
func Known(values ...attr.Value) bool {
	return !slices.ContainsFunc(values, func(v attr.Value) bool {
		if v.IsNull() {
			return false
		}
		raw, err := v.ToTerraformValue(context.Background())
		return err != nil || !raw.IsFullyKnown()
	})
}
