package fabric

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const baselineDescription = "Remembers the cables of a fabric and its error counters as they are, for " +
	"`infiniband_fabric` to compare with: a data source has no memory, and a plan writes nothing to a host. It looks when " +
	"it is created, and again when `host`, `port_guid` or `triggers` changes. A refresh asks no host.\n\n" +
	"`cables` are the `expected_links` of the data source: what is missing later is a difference, and is drawn in the " +
	"pictures. `reading` is its `since`: a link that went down and a cable with errors at a higher rate are differences, " +
	"and errors of before are none. What is wrong already when it looks is a warning of the apply.\n\n" +
	"A baseline cannot be imported. Destroying the resource forgets it."

// Baseline is infiniband_fabric_baseline.
type Baseline struct{ session.Resource }

// NewBaseline returns the resource.
func NewBaseline() resource.Resource { return &Baseline{} }

type baselineModel struct {
	Host     types.String   `tfsdk:"host"`
	PortGUID attribute.GUID `tfsdk:"port_guid"`
	Triggers types.Map      `tfsdk:"triggers"`
	ID       types.String   `tfsdk:"id"`
	Cables   types.List     `tfsdk:"cables"`
	Reading  types.Object   `tfsdk:"reading"`
}

// Metadata implements resource.Resource.
func (r *Baseline) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_fabric_baseline"
}

// Schema implements resource.Resource.
func (r *Baseline) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: baselineDescription, Attributes: map[string]schema.Attribute{
		"host": schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
			MarkdownDescription: "Key of the host in the provider's `hosts` map that looks at the fabric."},
		"port_guid": schema.StringAttribute{Optional: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "GUID of the host's port to look through, where its ports are on different fabrics. If left " +
				"out, the first InfiniBand port with a link looks."},
		"triggers": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Any values; a change looks again, and takes what is there then as right."},
		"id": attribute.ComputedString("The name of the host."),
		"cables": schema.ListNestedAttribute{Computed: true,
			MarkdownDescription: "The cables, with the width and the speed that they had.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"a":         attribute.ComputedString("One end, as `expected_links` has it."),
				"b":         attribute.ComputedString("The other end."),
				"min_width": attribute.ComputedString("Width that it has, such as `4X`."),
				"min_speed": attribute.ComputedString("Speed that it has, such as `FDR`."),
			}}},
		"reading": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "The error counters.",
			Attributes: map[string]schema.Attribute{
				"read_at": attribute.ComputedString("When, by the clock of the operator's machine, in UTC."),
				"counters": schema.MapAttribute{Computed: true, ElementType: counterTypes,
					MarkdownDescription: "Those that were not zero, by port and name; each port with a link is there."},
				"boot_ids": schema.MapAttribute{Computed: true, ElementType: types.StringType,
					MarkdownDescription: "Boots of the hosts that were read, by their keys: a link goes down when its host restarts."},
			}},
	}}
}

// ModifyPlan plans a look if something has changed, and else none.
func (r *Baseline) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state baselineModel
	if req.Plan.Raw.IsNull() {
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	plan.ID, plan.Cables, plan.Reading = types.StringUnknown(), types.ListUnknown(cableTypes),
		types.ObjectUnknown(readingTypes.AttrTypes)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if plan.Host.Equal(state.Host) && plan.PortGUID.Equal(state.PortGUID) && plan.Triggers.Equal(state.Triggers) {
			plan.ID, plan.Cables, plan.Reading = state.ID, state.Cables, state.Reading
		}
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// Create looks at the fabric.
func (r *Baseline) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.remember(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// Update looks at it again.
func (r *Baseline) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.remember(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// Read leaves the state as it is: a baseline belongs to its time.
func (r *Baseline) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Delete forgets the baseline; the framework takes it out of the state.
func (r *Baseline) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

func (r *Baseline) remember(ctx context.Context, from tfsdk.Plan, to *tfsdk.State, diags *diag.Diagnostics) {
	var m baselineModel
	diags.Append(from.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	name := m.Host.ValueString()
	what := "remember the fabric of host " + name
	found, _, hosts, err := look(ctx, r.Data, name, guidOf(m.PortGUID), false, r.HostNames())
	if err == nil {
		err = complete(found, "Nothing was remembered")
	}
	if diagnostic.AddError(diags, what, err); err != nil {
		return
	}
	m.ID, m.Cables = m.Host, list(cableTypes, found.Cables(), cableValue)
	m.Reading = readingValue(found.Reading(time.Now(), boots(hosts)))
	warnAccepted(name, found, diags)
	diags.Append(to.Set(ctx, &m)...)
}

// complete is an error if a look does not give the cables and the error counters.
func complete(f *fabric.Fabric, nothing string) error {
	if f.NoLink == "" && f.Counted {
		return nil
	}
	why := f.Uncounted
	for _, d := range f.Compare(nil, nil, nil) {
		if why == "" && (d.Kind == fabric.NoLink || d.Kind == fabric.NoManager) {
			why = d.Message
		}
	}
	return &explain.Failure{What: nothing + ": its cables or its error counters could not be read.",
		Means: diagnostic.Sentence(why), Check: "Start a subnet manager, or name another port in port_guid. Then apply " +
			"again."}
}

// warnAccepted names what is wrong already: it is compared with from now on.
func warnAccepted(host string, f *fabric.Fabric, diags *diag.Diagnostics) {
	var says []string
	for _, d := range f.Compare(nil, nil, nil) {
		says = append(says, d.Message)
	}
	if len(says) > 0 {
		diags.AddWarning(fmt.Sprintf("The baseline of the fabric of host %s has what is wrong there now", host),
			"Later looks are compared with it, so a cable that is slow now is not found slow by that. Mend this, then change "+
				"triggers:\n\n"+strings.Join(says, "\n"))
	}
}
