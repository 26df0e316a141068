// Package guids is the resource infiniband_guids: the identity of a card.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package guids

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 45 * time.Minute

var (
	_ resource.ResourceWithConfigure      = &Resource{}
	_ resource.ResourceWithModifyPlan     = &Resource{}
	_ resource.ResourceWithIdentity       = &Resource{}
	_ resource.ResourceWithImportState    = &Resource{}
	_ resource.ResourceWithValidateConfig = &Resource{}
)

// Resource is infiniband_guids.
type Resource struct{ session.Named }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.Named{Resource: session.Resource{Kind: "infiniband_guids"}, By: session.CardNamed("card_id")}}
}

// Create writes the values unless the card has them. A failure sets no state.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	r.apply(ctx, attribute.Create, req.Plan, req.Config, &resp.State, &resp.Diagnostics)
}

// Update does the same as Create: both converge. Timeouts alone are stored without a
// change of the host.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	if planned.OnlyStores(req) {
		resp.State.Raw = req.Plan.Raw
		return
	}
	r.apply(ctx, attribute.Update, req.Plan, req.Config, &resp.State, &resp.Diagnostics)
}

func (r *Resource) apply(ctx context.Context, op attribute.Operation, from tfsdk.Plan, conf tfsdk.Config,
	to *tfsdk.State, diags *diag.Diagnostics) {
	var plan, config model
	diags.Append(from.Get(ctx, &plan)...)
	diags.Append(conf.Get(ctx, &config)...)
	ref, err := attribute.ParseCardRef(plan.CardID.ValueString())
	if err != nil || diags.HasError() {
		diagnostic.AddError(diags, "set GUIDs of card "+plan.CardID.ValueString(), err)
		return
	}
	config.Activation, config.CardIdentity = types.StringValue(attribute.ActivationOf(config.Activation)),
		session.AsPlanned(plan.CardIdentity)
	err = r.WriteCard(ctx, ref, op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context) error { return r.write(ctx, ref, config, &plan, diags) })
	diagnostic.AddError(diags, "set GUIDs of card "+ref.String(), err)
	if diags.HasError() {
		return
	}
	planned.Confirm(ctx, "set GUIDs of card "+ref.String(), from, to, &plan, diags)
}

// write writes the card when it is its turn.
func (r *Resource) write(ctx context.Context, ref attribute.CardRef, config model, plan *model,
	diags *diag.Diagnostics) error {
	a := r.ask(ctx, config, diags)
	if a == nil {
		return nil
	}
	a.ask.Lab, a.ask.Kept = r.lab(ctx, a, diags), plan.kept(a.ask.Request)
	done, err := r.Cards.ApplyGUIDs(ctx, a.ask)
	if err == nil {
		r.Planned.DoneCard(ref)
		plan.finish(ref, done)
	}
	return err
}

// Read refreshes the values in flash and those in use.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	seen := r.ReadCard(ctx, "GUIDs", state.CardID, &state.CardIdentity, resp)
	if seen == nil || session.FlashUnread(&resp.Diagnostics, seen.Snap, seen.Ref) {
		return
	}
	now, err := hca.ReadGUIDs(seen.Snap, seen.Ref.PCI)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read GUIDs of card "+seen.Ref.String(), err)
		return
	}
	state.observe(seen.Ref, now)
	state.normalise()
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets: the card keeps its identity.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warnForgotten(&resp.Diagnostics, state.CardID.ValueString())
}

// ImportState takes the id of the card.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	r.ImportCard(ctx, "import GUIDs", req, resp)
}

// finish fills the state after a successful apply from what was read back.
func (m *model) finish(ref attribute.CardRef, done hca.GUIDState) {
	given := *m
	m.observe(ref, done)
	m.keepGiven(given)
	if done.BackupPath == "" {
		m.BackupPath = given.BackupPath
	}
	if m.BackupPath.IsUnknown() {
		m.BackupPath = types.StringNull()
	}
}
