package firmwareimage

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// ModifyPlan verifies the file, so that a bad one fails the plan and the plan
// shows what the image is. It asks the host only if that may not be changed.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Data == nil {
		return // a staged copy is content-addressed and harmless; forgetting it needs no warning
	}
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.unknown() || !r.HostReady(config.Host) {
		diagnostic.AddPostponed(&resp.Diagnostics, "firmware image for host "+config.Host.ValueString(),
			"the host or the file comes from something that does not exist yet")
		return
	}
	f := r.usable(ctx, config, &resp.Diagnostics)
	if f == nil {
		return
	}
	plan.SHA256 = config.SHA256
	plan.fill(*f)
	plan.StagedPath = stagedPath(f.sha256) // the framework keeps that of a file that was replaced in place
	var state model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if state.ID.Equal(plan.ID) && !state.StagedPath.IsNull() {
			resp.Plan.Raw = req.State.Raw // another spelling of the path, the same file
			return
		}
	}
	r.showObserve(ctx, plan, f.sha256, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// showObserve says that the host is only read, and does not have the image yet.
func (r *Resource) showObserve(ctx context.Context, m model, sha256 string, diags *diag.Diagnostics) {
	name := m.Host.ValueString()
	if _, _, snap, err := r.Look(ctx, name); err == nil {
		if snap.Staged[sha256] {
			return
		}
	}
	diagnostic.AddPlanned(ctx, diags, fmt.Sprintf("stage firmware image %s on host %s", m.Source.ValueString(), name),
		r.OnlyRead(name, "the image is not on it, or not with this content"))
}
