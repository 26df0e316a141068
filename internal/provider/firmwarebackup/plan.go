package firmwarebackup

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan gives the verdict on taking a backup, if one is to be taken.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state model
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		state.warnForgotten(&resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	if !r.ClaimCard(ctx, "plan firmware backup of card", plan.CardID, req, &resp.Diagnostics) {
		return
	}
	if exists && attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID) && state.Triggers.Equal(plan.Triggers) {
		resp.Plan.Raw = req.State.Raw
		r.follow(ctx, state, plan.CardID, resp)
		return
	}
	at := r.assess(ctx, plan.CardID, r.Prior(ctx, state.CardID, plan.CardID, state.CardIdentity), &resp.Diagnostics)
	if at != nil {
		plan.CardIdentity = at.Identity
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// follow has the state follow a card that has moved. The backup is of the card,
// wherever it is.
func (r *Resource) follow(ctx context.Context, state model, id attribute.CardID, resp *resource.ModifyPlanResponse) {
	ref, err := attribute.ParseCardRef(id.ValueString())
	if err != nil || state.CardID.Same(id) || !r.HostReady(types.StringValue(ref.Host)) {
		return
	}
	what := "follow card " + ref.String()
	at := r.RecordedCard(ctx, id, state.CardIdentity, what, &resp.Diagnostics)
	if at == nil || diagnostic.AddFindings(ctx, &resp.Diagnostics, what, at.Strange()) {
		return
	}
	state.ID, state.CardID = types.StringValue(ref.String()), id
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
}

// assess reports what speaks against taking a backup now.
func (r *Resource) assess(ctx context.Context, id attribute.CardID, recorded types.String,
	diags *diag.Diagnostics) *session.CardAt {
	if id.IsUnknown() {
		diagnostic.AddPostponed(diags, "backup of a card", "the card comes from something that does not exist yet")
		return nil
	}
	ref, err := attribute.ParseCardRef(id.ValueString())
	if err != nil {
		return nil // the attribute validated itself
	}
	if !r.HostReady(types.StringValue(ref.Host)) {
		diagnostic.AddPostponed(diags, "backup of card "+ref.String(), "the provider's configuration is not known yet")
		return nil
	}
	what := "back up firmware of card " + ref.String()
	at := r.RecordedCard(ctx, id, recorded, what, diags)
	if at == nil {
		return nil
	}
	a, err := r.Cards.Backups.Assess(ctx, at.HCA)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), what, err)
		return nil
	}
	diagnostic.AddFindings(ctx, diags, what, a.Verdict.Findings)
	return at
}

func (m *model) warnForgotten(diags *diag.Diagnostics) {
	diagnostic.AddForgotten(diags, "firmware backup of card", m.CardID.ValueString(),
		"The files stay in "+m.ImagePath.ValueString()+" and beside it. Delete them by hand if they are not wanted any more.")
}
