// Package card is the resource infiniband_card: it adopts a card and shows what
// can be observed about it.
//
// It must not change a card or its host.
package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Create adopts the card.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	ref, err := attribute.ParseCardRef(plan.Host.ValueString() + "/" + plan.PCIAddress.ValueString())
	if err != nil || resp.Diagnostics.HasError() {
		diagnostic.AddError(&resp.Diagnostics, "adopt card "+plan.PCIAddress.ValueString(), err)
		return
	}
	r.adopt(ctx, ref, &plan, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// adopt makes sure that the card is the planned one: the plan has all that is read of it. Its MACs and
// GUIDs are kept beside the state: a plan of a new object records none that may change until its apply.
func (r *Resource) adopt(ctx context.Context, ref attribute.CardRef, plan *model, beside session.Beside,
	diags *diag.Diagnostics) {
	snap, found := r.find(ctx, ref, nil, diags)
	if found == nil {
		return
	}
	who, now := (&model{ID: plan.ID}).recordedIdentity(), snap.Identity(found)
	if !isSame(who, now) && !who.Empty() {
		f := safety.IdentityFacts{Recorded: who, Now: now, Unread: snap.SilentSerial(found)}
		f.Elsewhere, f.Edit = r.WhereIs(ctx, ref, who)
		refuse(ctx, diags, ref, f)
	}
	checkExpected(diags, ref, *plan, nil, snap, found)
	session.NoteSeen(ctx, beside, now.String(), diags)
	if plan.CardIdentity.IsUnknown() { // its host was not known when it was planned
		plan.identify(ref, found, now)
		plan.CardIdentity = types.StringValue(now.String())
	}
}

// importing reports whether nothing was adopted yet: only an import has named the card.
func (m *model) importing() bool {
	return m.Chip.IsNull() && m.SerialNumber.IsNull() && m.PartNumber.IsNull() && m.CardIdentity.IsNull()
}

// misnamed reports whether an import names another card than the one in the slot.
func (m *model) misnamed(now ib.Identity) bool {
	like, _ := ib.Compare(m.recordedIdentity(), now)
	return m.importing() && like == ib.Other
}

// Read refreshes what is observed; a card that a reachable host does not have
// is removed from state.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	state.recall(ctx, req.Private, &resp.Diagnostics)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	ref, known := state.ref()
	if resp.Diagnostics.HasError() || !known || !r.Readable(state.Host) {
		return
	}
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read card "+ref.String(), err)
		return
	}
	diagnostic.WarnSlowSudo(&resp.Diagnostics, snap)
	found, ok := snap.Card(ref.PCI)
	var now ib.Identity
	if ok {
		now = snap.Identity(found)
	}
	if ok && state.misnamed(now) {
		resp.Diagnostics.AddError("Unable to import card "+state.ID.ValueString(),
			session.Misnamed(snap, state.recordedIdentity()))
		return
	}
	who := state.recordedIdentity()
	switch r.Compare(ctx, ref, who, now, ok, &resp.Diagnostics) {
	case session.Absent:
		resp.State.RemoveResource(ctx)
		return
	case session.Strange:
		if state.importing() {
			resp.Diagnostics.AddError("Unable to import card "+state.ID.ValueString(), session.NoCard(snap, ref))
		}
		return // what was recorded stays, and the plan refuses
	case session.Present:
	}
	r.noteImport(&state, ref)
	state.refresh(ref, found, who, now)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// noteImport notes an import that names a place alone.
func (r *Resource) noteImport(m *model, ref attribute.CardRef) {
	if name, err := attribute.ParseCardName(m.ID.ValueString()); err == nil && m.importing() && name.Token == "" {
		r.Planned.Import(r.CardKey(ref))
	}
}

// Update stores new expectations. The card is as it was, unless they accept another
// one.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if !plan.ID.Equal(state.ID) { // the plan adopts another card, or this one at another place
		ref, _ := plan.ref()
		r.adopt(ctx, ref, &plan, resp.Private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete forgets the card.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState takes host/pci_address, or the whole id.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	id, ok := r.ImportID(ctx, "import card", req, resp)
	if !ok {
		return
	}
	ref, err := attribute.ParseCardName(id)
	diagnostic.AddError(&resp.Diagnostics, "import card "+id, err)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(ref.String()))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("host"), types.StringValue(ref.Host))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("pci_address"), attribute.PCIText(ref.PCI))...)
}
