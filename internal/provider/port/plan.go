package port

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan checks what speaks against the setting and says what will be done.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		diagnostic.AddForgotten(&resp.Diagnostics, "port", state.ID.ValueString(),
			"The port stays as it is until the driver is loaded again or the host restarts. The unit that makes the setting at "+
				"boot is removed.")
		r.CanLeave("remove setting of port "+state.ID.ValueString(), "card_id", req.State, "", &resp.Diagnostics)
		r.checkRemoval(ctx, &resp.Diagnostics, &state)
		return
	}
	plan, config, state, exists := planned.Models[model](ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	if !plan.known() || attribute.HasUnknown(config.AllowManagement) {
		diagnostic.AddPostponed(&resp.Diagnostics, "a port",
			"the card or a part of its setting comes from something that does not exist yet")
		return
	}
	d, ref, err := plan.request(config.AllowManagement)
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("speeds"), "plan port "+id(ref, d.Number), err)
		return
	}
	prior := session.Prior(state.CardID, plan.CardID, state.CardIdentity)
	o, who, ok := r.assessClaimed(ctx, plan.CardID, prior, d, ref, req, &resp.Diagnostics)
	if !ok {
		return
	}
	if !exists && o.Stored {
		session.WarnMade(&resp.Diagnostics, "Port", id(ref, d.Number), o.Differences(d))
	}
	plan.CardIdentity = who
	plan.plan(ref, d.Number)
	steady := planned.Steady{Held: exists && state.holds(plan), ToDo: len(o.Differences(d)) > 0, Live: live}
	steady.Plan(ctx, req, resp, &plan)
}

// checkRemoval refuses a destroy on a host that is only read.
func (r *Resource) checkRemoval(ctx context.Context, diags *diag.Diagnostics, state *model) {
	d, ref, err := state.request(types.ListNull(types.StringType))
	if err != nil {
		return // the destroy itself says it
	}
	r.KeepsOnlyRead(ctx, "forget port "+id(ref, d.Number), types.StringValue(ref.Host),
		func(s *inventory.Snapshot) bool { return ops.Observe(s, d.Card, d.Number).Stored }, diags)
	if r.Data == nil || !r.HostReady(types.StringValue(ref.Host)) || r.Hosts[ref.Host].Observe {
		return
	}
	if _, _, snap, lookErr := r.Look(ctx, ref.Host); lookErr == nil {
		diagnostic.AddFindings(ctx, diags, "forget port "+id(ref, d.Number), ops.CheckRemove(snap, d.Card, d.Number))
	}
	if r.HostReady(types.StringValue(ref.Host)) {
		r.Drop(ctx, "forget port", r.NumberedPortKey(ref, d.Number), id(ref, d.Number), diags)
	}
}

// live are the attributes that the host and its fabric decide.
var live = []string{"port_guid", "state", "physical_state", "rate", "lid", "sm_lid"}

// assessClaimed is assess for a port that no other resource has.
func (r *Resource) assessClaimed(ctx context.Context, card attribute.CardID, record types.String, d ops.Request,
	ref attribute.CardRef, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) (ops.Observation, types.String, bool) {
	// A link type that is planned at the same time sees the claim, or is seen by what follows.
	if r.HostReady(types.StringValue(ref.Host)) {
		if _, _, _, err := r.Look(ctx, ref.Host); err == nil {
			c := planned.Claim{Key: r.NumberedPortKey(ref, d.Number), Name: id(ref, d.Number), HostIn: "card_id"}
			if !r.Claim(ctx, "plan port", c, req, diags) {
				return ops.Observation{}, record, false
			}
		}
	}
	return r.assess(ctx, card, record, d, ref, diags)
}

// holds reports whether a state has what is planned, now and at boot. A set that the
// configuration no longer names has to leave the state.
func (m *model) holds(plan model) bool {
	return attribute.SameCardThere(m.CardID, m.CardIdentity, plan.CardID) &&
		m.Port.Equal(plan.Port) && m.Enabled.Equal(plan.Enabled) &&
		m.Speeds.Equal(plan.Speeds) && m.Widths.Equal(plan.Widths) && m.AtBoot.Equal(plan.AtBoot) && m.Unit.Equal(plan.Unit)
}

// assess looks at the port and reports what speaks against d, or against the card being
// the one of record. It gives the identity for the plan; not ok if nothing may be planned.
func (r *Resource) assess(ctx context.Context, card attribute.CardID, record types.String, d ops.Request,
	ref attribute.CardRef, diags *diag.Diagnostics) (ops.Observation, types.String, bool) {
	what := "set port " + id(ref, d.Number)
	at := r.RecordedCard(ctx, card, record, what, diags)
	if at == nil || diagnostic.AddFindings(ctx, diags, what, at.Strange()) {
		return ops.Observation{}, record, false
	}
	o, err := ops.Look(ctx, at.Host, d)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("port"), what, err)
		return o, record, false
	}
	if differs := o.Differences(d); len(differs) > 0 && r.OnlyRead(ctx, what, ref.Host, differs, diags) {
		return o, record, false
	}
	port := r.CardPortPlan(at.Snap, ref, d.Number)
	planned := ops.PlanFacts{InfiniBand: port.InfiniBand, Ethernet: port.Ethernet, Waits: port.Waits,
		Restarts: r.Planned.Card(ref).Restarts}
	return o, at.Identity, !diagnostic.AddFindings(ctx, diags, what, ops.Check(at.Snap, d, o, planned))
}
