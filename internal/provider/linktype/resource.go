// Package linktype is the resource infiniband_link_type: InfiniBand or Ethernet per
// port.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package linktype

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 20 * time.Minute

var (
	_ resource.ResourceWithConfigure   = &Resource{}
	_ resource.ResourceWithModifyPlan  = &Resource{}
	_ resource.ResourceWithIdentity    = &Resource{}
	_ resource.ResourceWithImportState = &Resource{}
)

// Resource is infiniband_link_type.
type Resource struct{ session.Named }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.Named{Resource: session.Resource{Kind: "infiniband_link_type"},
		By: session.CardNamed("card_id")}}
}

// Create sets the types, whatever they are.
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
		diagnostic.AddError(diags, "set link types of card "+plan.CardID.ValueString(), err)
		return
	}
	config.Activation, config.CardIdentity = types.StringValue(attribute.ActivationOf(config.Activation)),
		session.AsPlanned(plan.CardIdentity)
	err = r.WriteCard(ctx, ref, op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context) error { return r.write(ctx, ref, config, &plan, diags) })
	diagnostic.AddError(diags, "set link types of card "+ref.String(), err)
	if diags.HasError() {
		return
	}
	planned.Confirm(ctx, "set link types of card "+ref.String(), from, to, &plan, diags)
}

// write changes the card when it is its turn.
func (r *Resource) write(ctx context.Context, ref attribute.CardRef, config model, plan *model,
	diags *diag.Diagnostics) error {
	a := r.ask(ctx, config, diags)
	if a == nil {
		return nil
	}
	done, err := ops.Apply(ctx, r.Cards.Session, a.ask)
	if err == nil {
		r.Planned.DoneCard(ref)
		plan.finish(ref, done)
	}
	return err
}

// Read refreshes what the ports are, and what they will be after a restart.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	seen := r.ReadCard(ctx, "link types", state.CardID, &state.CardIdentity, resp)
	if seen == nil || session.InUse(&resp.Diagnostics, seen.Snap, seen.Ref) {
		return
	}
	now, err := r.read(ctx, seen.Ref)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read link types of card "+seen.Ref.String(), err)
		return
	}
	if now.Unanswered != "" {
		warnUnanswered(&resp.Diagnostics, seen.Ref, now)
		state.observeDriver(now)
	} else {
		state.observe(seen.Ref, now)
		state.normalise()
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets: the ports stay as they are.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warnForgotten(&resp.Diagnostics, state.CardID.ValueString())
}

// ImportState takes the id of the card.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	r.ImportCard(ctx, "import link types", req, resp)
}

// read gives the types of a card's ports. A host of an unknown platform keeps
// none that is known of.
func (r *Resource) read(ctx context.Context, ref attribute.CardRef) (ops.State, error) {
	h, cfg, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		return ops.State{}, err
	}
	p, err := platform.Of(snap)
	if err != nil {
		return ops.State{}, err
	}
	return ops.Read(ctx, cards.On(h, ref.PCI, p, cfg.RebootAllowed, cfg.Reboot))
}
