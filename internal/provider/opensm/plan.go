package opensm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
)

// ModifyPlan checks what speaks against the subnet manager and says what will
// be done.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		warnRemoval(&resp.Diagnostics, state.ID.ValueString())
		return
	}
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	if !plan.known() || !r.HostReady(plan.Host) {
		tfkit.AddPostponed(&resp.Diagnostics, "subnet manager on host "+plan.Host.ValueString(), "the host or the port GUID comes from something that is not there yet")
		return
	}
	d, err := plan.desired()
	if err != nil {
		return // the attribute validated itself
	}
	_, _, snap, err := r.Look(ctx, d.Host)
	if err != nil {
		tfkit.AddErrorAt(&resp.Diagnostics, path.Root("host"), "plan subnet manager "+ref(d).String(), err)
		return
	}
	observed := ops.Observe(snap, d.PortGUID)
	r.Planned.SetSM(ref(d), tfkit.PlannedSM{Priority: d.Priority, Master: observed.Master()})
	r.check(ctx, &resp.Diagnostics, snap, d)
	if satisfies(observed, d) && !req.State.Raw.IsNull() {
		resp.Plan.Raw = req.State.Raw
		return
	}
	plan.plan(d, observed)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// namedRivals is how many subnet managers of equal priority a warning names.
const namedRivals = 3

// check adds what speaks against d and reports whether it may be done.
func (r *Resource) check(ctx context.Context, diags *diag.Diagnostics, snap *inventory.Snapshot, d ops.Desired) bool {
	port := r.PortPlan(snap, d.Host, d.PortGUID)
	// A port that is Ethernet now shows no GUID, though its flash holds one.
	planned := ops.Planned{Port: port.Planned || port.InfiniBand, LinkType: port.InfiniBand}
	rivals, total := r.Planned.RivalSMs(ref(d), namedRivals)
	for _, other := range rivals {
		planned.Rivals = append(planned.Rivals, ops.Desired{Host: other.Host, PortGUID: other.GUID, Priority: d.Priority})
	}
	planned.MoreRivals = total - len(rivals)
	return !tfkit.AddFindings(ctx, diags, "run subnet manager "+ref(d).String(), ops.Check(snap, d, planned))
}

func warnRemoval(diags *diag.Diagnostics, id string) {
	diags.AddWarning("Removing subnet manager "+id+": the package stays",
		"The instance is stopped, disabled and its configuration removed. The opensm package, the port and what other instances do stay as they are. "+
			"If it is the only subnet manager of its fabric, ports that come up later stay in Initializing.")
}
