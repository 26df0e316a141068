// Package linktype is the resource infiniband_link_type: InfiniBand or Ethernet per
// port.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package linktype

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
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
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_link_type", session.CardNamed("card_id"))}
}

// Create sets the types, whatever they are.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. Timeouts alone are stored without a
// change of the host.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan, config model
	c.Read(ctx, &plan, &config)
	config.Activation, config.CardIdentity = types.StringValue(attribute.ActivationOf(config.Activation)),
		session.AsPlanned(plan.CardIdentity)
	ref, ok := r.ChangeCard(ctx, c, "set link types of", plan.CardID, c.Op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context, ref attribute.CardRef) error {
			return r.write(ctx, ref, config, &plan, c)
		})
	if ok {
		c.Confirm(ctx, "set link types of card "+ref.String(), &plan)
	}
}

// write changes the card when it is its turn.
func (r *Resource) write(ctx context.Context, ref attribute.CardRef, config model, plan *model,
	c session.Change) error {
	at, ask := r.ask(ctx, config, c.Diags)
	if at == nil {
		return nil
	}
	now, err := ops.Read(ctx, at.HCA)
	if err != nil {
		return err
	}
	text := changeText(now.State, ask.Request.Ports)
	if before := (ops.Seen{}); c.Seen(ctx, &before) {
		ask.Before = &before
	} else if err = plan.unannounced(ref, text); err != nil {
		return err
	} else if !plan.Change.IsUnknown() {
		seen := ops.SeenOf(now.State)
		ask.Before = &seen
	}
	done, err := ops.Apply(ctx, r.Cards.Session, ask)
	if err == nil {
		r.Planned.DoneCard(ref)
		c.NoteSeen(ctx, ops.SeenOf(done))
		diagnostic.AddNotes(c.Diags, "Link types of card "+ref.String(), done.Warnings)
		plan.Restart = r.Restarted(ctx, plan.Restart, at)
		if plan.Change.IsUnknown() {
			var prior model
			_ = c.Before(ctx, &prior) // else there is no earlier change
			if plan.Change = prior.Change; len(done.Did) > 0 {
				plan.Change = types.StringValue(cmp.Or(text, storedAnew))
			}
		}
		plan.finish(ref, done)
	}
	return err
}

// Read refreshes what the ports are, and what they will be after a restart.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	seen := r.ReadCard(ctx, "link types", state.CardID, &state.CardIdentity, resp)
	if seen == nil || session.InUse(&resp.Diagnostics, seen.Snap, seen.Ref) {
		return
	}
	what := "read link types of card " + seen.Ref.String()
	at := r.CardAt(ctx, seen.Ref, what, &resp.Diagnostics)
	if at == nil {
		return
	}
	now, err := ops.Read(ctx, at.HCA)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, what, err)
		return
	}
	session.NoteSeen(ctx, resp.Private, ops.SeenOf(now.State), &resp.Diagnostics)
	if now.Unanswered != "" {
		warnUnanswered(&resp.Diagnostics, seen.Ref, now.State)
		state.observeDriver(now.State)
	} else {
		state.observe(seen.Ref, now.State)
		state.normalise()
		warnUnshown(&resp.Diagnostics, seen.Ref, state.unshown(now.State))
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
