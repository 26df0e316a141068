// Package card is the resource infiniband_card: it adopts a card and shows what
// can be observed about it.
//
// It must not change a card or its host.
package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
)

var (
	_ resource.ResourceWithConfigure   = &Resource{}
	_ resource.ResourceWithModifyPlan  = &Resource{}
	_ resource.ResourceWithImportState = &Resource{}
)

// Resource is infiniband_card.
type Resource struct{ tfkit.Resource }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_card"
}

// Create adopts the card.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	ref, err := tfkit.ParseCardRef(plan.Host.ValueString() + "/" + plan.PCIAddress.ValueString())
	if err != nil || resp.Diagnostics.HasError() {
		tfkit.AddError(&resp.Diagnostics, "adopt card "+plan.PCIAddress.ValueString(), err)
		return
	}
	found := r.find(ctx, ref, &resp.Diagnostics)
	if found == nil {
		return
	}
	expected(&resp.Diagnostics, ref, plan, found)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.observe(ref, found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Read refreshes what is observed; a card that a reachable host does not have
// is removed from state.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	ref, known := state.ref()
	if resp.Diagnostics.HasError() || !known || !r.HostReady(state.Host) {
		return
	}
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		tfkit.AddError(&resp.Diagnostics, "read card "+ref.String(), err)
		return
	}
	found, ok := snap.Card(ref.PCI)
	if !ok {
		resp.State.RemoveResource(ctx)
		return
	}
	state.observe(ref, found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update stores new expectations; the card is as it was.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete forgets the card.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState takes host/pci_address.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	ref, err := tfkit.ParseCardRef(req.ID)
	if err != nil {
		tfkit.AddError(&resp.Diagnostics, "import card "+req.ID, err)
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(ref.String()))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("host"), types.StringValue(ref.Host))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("pci_address"), tfkit.PCIText(ref.PCI))...)
}
