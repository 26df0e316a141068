package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

// Change is what a create and an update have in common: both make the host what the plan
// says, whatever it is.
type Change struct {
	Op     attribute.Operation
	plan   tfsdk.Plan
	config tfsdk.Config
	state  *tfsdk.State
	Diags  *diag.Diagnostics
}

// CreateWith makes a change of a create, and stores the identity of what is in the state
// then.
func (r *Importable) CreateWith(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse,
	apply func(context.Context, Change)) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	apply(ctx, Change{attribute.Create, req.Plan, req.Config, &resp.State, &resp.Diagnostics})
}

// UpdateWith makes a change of an update. If nothing differs but timeouts and the kept
// attributes, which the host has no part in, it only stores them.
func (r *Importable) UpdateWith(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse,
	apply func(context.Context, Change), kept ...[]string) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	if planned.OnlyStores(req, kept...) {
		resp.State.Raw = req.Plan.Raw
		return
	}
	apply(ctx, Change{attribute.Update, req.Plan, req.Config, &resp.State, &resp.Diagnostics})
}

// Read fills a model from the plan. The configuration, which alone has the write-only
// arguments, fills another one, unless that is nil.
func (c Change) Read(ctx context.Context, plan, config any) {
	c.Diags.Append(c.plan.Get(ctx, plan)...)
	if config != nil {
		c.Diags.Append(c.config.Get(ctx, config)...)
	}
}

// Store makes the model the state, whatever was planned.
func (c Change) Store(ctx context.Context, found any) { c.Diags.Append(c.state.Set(ctx, found)...) }

// Confirm makes the model the state if it is what was planned; see planned.Confirm.
func (c Change) Confirm(ctx context.Context, what string, found any) {
	planned.Confirm(ctx, what, c.plan, c.state, found, c.Diags)
}
