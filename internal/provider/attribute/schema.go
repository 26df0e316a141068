package attribute

import (
	"context"
	"regexp"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// What happens after flash was written.
const (
	ActivationNone   = "none"
	ActivationReboot = "reboot"
	ActivationHost   = "host"
)

// HostNameForm is the form of a key of the provider's hosts. Ids join it with "/", and it is part of
// backup paths and messages.
var HostNameForm = regexp.MustCompile(`^[^/\s\x00-\x1f\x7f]+$`)

const wantHostName = "it must not be empty or hold blanks, slashes or control characters, because ids and paths have it"

// HostName refuses what cannot be a key of the provider's hosts.
func HostName() validator.String {
	return stringvalidator.RegexMatches(HostNameForm, "The name of a host: "+wantHostName)
}

// HostNames refuses maps of hosts with such a key.
func HostNames() validator.Map {
	return keys{"This is the name of a host: " + wantHostName + ".", HostNameForm}
}

// PortNumbers refuses maps by port with a key that is no port of a card.
func PortNumbers() validator.Map {
	return keys{`The key is the number of a port: write "1" or "2".`, regexp.MustCompile(`^[12]$`)}
}

// HostAttribute is the argument that names a host of the provider's map.
func HostAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required: true,
		MarkdownDescription: "Key of the host in the provider's `hosts` map; a new name of the same machine changes " +
			"nothing. Another machine forces replacement; the hardware is untouched.",
		Validators:    []validator.String{HostName()},
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

// CardIDAttribute is the argument that names a card by the id of its infiniband_card.
func CardIDAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required:   true,
		CustomType: CardIDType{},
		MarkdownDescription: "Id of the card, as `infiniband_card.….id` gives it: `host/pci_address/serial_number`. " +
			"Another card forces replacement, and the hardware is untouched; the same card at another address does not.",
		PlanModifiers: []planmodifier.String{replaceIfOtherCard{"The same card at another address is the same card."}},
	}
}

// CardIdentityAttribute is who the card was when the resource was created.
func CardIdentityAttribute() schema.StringAttribute {
	return ComputedString("Which card this is: serial number, part number and chip; MACs and GUIDs if the serial number " +
		"cannot be read. It is part of the plan: the apply never writes to another card, even at the same address.")
}

// NoPortGUID says why a port GUID can be null, and what to write.
const NoPortGUID = "While a port is in Ethernet mode, its GUID is known from the card's flash only. infiniband_card " +
	"shows none if it cannot read the flash (the data source infiniband_cards says why in flash_error), or if it is not " +
	"certain that the port will use the GUID of the flash.\n\nWrite the GUID itself in place of the reference."

// PortGUIDAttribute is the argument that names a port of a host.
func PortGUIDAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required:   true,
		CustomType: GUIDType{},
		MarkdownDescription: "GUID of the port, as `infiniband_guids.….port_guids[\"1\"]`, or as " +
			"`infiniband_card.….port_guids[\"1\"]` without that resource. Another one, or one that is not known while " +
			"planning, forces replacement.",
		PlanModifiers: []planmodifier.String{ReplaceIfOther[GUIDKind]()},
	}
}

// IDAttribute is the computed id; format says how it is built.
func IDAttribute(format string) schema.StringAttribute {
	return schema.StringAttribute{
		Computed:            true,
		MarkdownDescription: "Id, " + format + "; also what `terraform import` takes.",
	}
}

// ActivationAttribute is the argument that says how a change becomes effective.
func ActivationAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		Computed: true,
		Default:  stringdefault.StaticString(ActivationNone),
		MarkdownDescription: "`reboot` restarts the host after the flash was written and verified, also for a change " +
			"that waits, if the provider's `reboot.allowed` permits it. With `host` the `infiniband_activation` of the host " +
			"does it, once for all its cards, and by a reset of the card if " +
			"that says `least`; with `none` (the default) nobody does (`reboot_required`).",
		Validators: []validator.String{stringvalidator.OneOf(ActivationNone, ActivationReboot, ActivationHost)},
	}
}

// ActivationOf gives the activation of a configuration. The one of a plan may be of an
// earlier apply, see Steady.
func ActivationOf(configured types.String) string {
	if configured.IsNull() || configured.IsUnknown() {
		return ActivationNone
	}
	return configured.ValueString()
}

// ComputedString is a string that only the provider sets.
func ComputedString(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedText is a computed string of one kind.
func ComputedText[K Kind](description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, CustomType: TextType[K]{}, MarkdownDescription: description}
}

// ComputedGUID is a computed GUID.
func ComputedGUID(description string) schema.StringAttribute {
	return ComputedText[GUIDKind](description)
}

// ComputedPSID is a computed PSID.
func ComputedPSID(description string) schema.StringAttribute {
	return ComputedText[PSIDKind](description)
}

// ComputedVersion is a computed firmware version.
func ComputedVersion(description string) schema.StringAttribute {
	return ComputedText[VersionKind](description)
}

// ComputedBool is a computed boolean.
func ComputedBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedInt is a computed number.
func ComputedInt(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

// ByPortAttribute is an argument with one value for each port that it names, by the
// port's number.
func ByPortAttribute[K Kind](description string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, Computed: true, ElementType: TextType[K]{}, MarkdownDescription: description,
		Validators: []validator.Map{
			mapvalidator.SizeAtLeast(1), PortNumbers(), mapvalidator.NoNullValues(),
			ValidElements[K]{},
		},
	}
}

// ComputedByPort is a computed map of values by port number.
func ComputedByPort[K Kind](description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: TextType[K]{}, MarkdownDescription: description}
}

// ComputedList is a computed list of values of type t.
func ComputedList(t attr.Type, description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: t, MarkdownDescription: description}
}

// ReplaceIfOther replaces the resource if the value means something else than that of
// the state. Another spelling of the same value keeps the state's spelling.
func ReplaceIfOther[K Kind]() planmodifier.String { return identityModifier[K]{spelling, true} }

// KeepSpelling keeps the state's spelling of a value that means the same.
func KeepSpelling[K Kind]() planmodifier.String { return identityModifier[K]{spelling, false} }

const spelling Described = "Another spelling of the same value changes nothing."

type identityModifier[K Kind] struct {
	Described
	replace bool
}

func (m identityModifier[K]) PlanModifyString(_ context.Context, req planmodifier.StringRequest,
	resp *planmodifier.StringResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return // created or destroyed
	}
	if (Text[K]{req.PlanValue}).Same(Text[K]{req.StateValue}) {
		resp.PlanValue = req.StateValue
		return
	}
	resp.RequiresReplace = m.replace
}

// replaceIfOtherCard replaces the resource if the id names another card than the
// recorded one.
type replaceIfOtherCard struct{ Described }

func (replaceIfOtherCard) PlanModifyString(ctx context.Context, req planmodifier.StringRequest,
	resp *planmodifier.StringResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return // created or destroyed
	}
	var who types.String
	if at := path.Root("card_identity"); hasAttribute(ctx, req.State, at) {
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, at, &who)...)
	}
	state, plan := CardID{StringValue: req.StateValue}, CardID{StringValue: req.PlanValue}
	if !SameCard(state, who, plan) {
		resp.RequiresReplace = true
		return
	}
	if state.Same(plan) {
		resp.PlanValue = req.StateValue
	}
}

func hasAttribute(ctx context.Context, state tfsdk.State, at path.Path) bool {
	_, diags := state.Schema.AttributeAtPath(ctx, at)
	return !diags.HasError()
}

// StringList returns a list of strings.
func StringList(values []string) types.List {
	elems := make([]attr.Value, len(values))
	for i, v := range values {
		elems[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elems)
}

// ByPort returns values of ports by their numbers, the first of port 1. A port
// without a value has no entry.
func ByPort[K Kind](values ...Text[K]) types.Map {
	elems := make(map[string]attr.Value, len(values))
	for i, v := range values {
		if !v.IsNull() {
			elems[strconv.Itoa(i+1)] = v
		}
	}
	return types.MapValueMust(TextType[K]{}, elems)
}

// StringsOf returns the texts of a list; those that are null or unknown are left out.
func StringsOf(v types.List) []string {
	var texts []string
	for _, e := range v.Elements() {
		if text := StringOf(e); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// StringMap returns a map of strings.
func StringMap(values map[string]string) types.Map {
	elems := make(map[string]attr.Value, len(values))
	for k, v := range values {
		elems[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elems)
}

// Texts are the texts of a set or a list.
func Texts(of interface{ Elements() []attr.Value }) (texts []string) {
	for _, v := range of.Elements() {
		if text, ok := v.(types.String); ok {
			texts = append(texts, text.ValueString())
		}
	}
	return texts
}

// StringOf returns the text of a string value of any type; empty if it is
// something else, null or unknown.
func StringOf(v attr.Value) string {
	s, ok := v.(interface{ ValueString() string })
	if !ok {
		return ""
	}
	return s.ValueString()
}

// OrNull returns a string, or null if it is empty.
func OrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
