// Package opensm is the resource infiniband_opensm: a subnet manager on one
// port of a host.
//
// It must not run commands; the operations of internal/opensm do.
package opensm

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 10 * time.Minute

var (
	_ resource.ResourceWithConfigure      = &Resource{}
	_ resource.ResourceWithModifyPlan     = &Resource{}
	_ resource.ResourceWithIdentity       = &Resource{}
	_ resource.ResourceWithImportState    = &Resource{}
	_ resource.ResourceWithValidateConfig = &Resource{}
)

// Resource is infiniband_opensm.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_opensm", session.PortNamed())}
}

// Create installs, binds, starts and enables the subnet manager.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. Timeouts alone are stored without a
// change of the host.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan model
	c.Read(ctx, &plan, nil)
	d, err := plan.request(ctx)
	if err != nil || c.Diags.HasError() {
		diagnostic.AddError(c.Diags, "run subnet manager "+plan.PortGUID.ValueString(), err)
		return
	}
	limit := c.Op.Limit(ctx, plan.Timeouts, standardTimeout)
	var result ops.Result
	r.Turns.SMs.Announce(ref(d))
	defer r.Turns.SMs.Withdraw(ref(d))
	err = r.WriteHost(ctx, d.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		snap, lookErr := h.Snapshot(ctx)
		if lookErr != nil {
			return lookErr
		}
		now := ops.Observe(snap, d.PortGUID)
		if !r.asPlanned(ctx, c, snap, d) || !r.check(ctx, c.Diags, snap, d, satisfies(now, d), false) {
			return nil
		}
		return r.Turns.SMs.Do(ctx, ref(d), role(now), func() (applyErr error) {
			if result, applyErr = ops.Apply(ctx, h, d, ops.Options{Lab: r.lab(ctx)}); applyErr == nil {
				r.Made(r.PortKey(ref(d)))
			}
			if result.Changed || satisfies(now, d) {
				applyErr = c.Leaves(applyErr, "What is set up of "+ops.UnitName(d.PortGUID), ref(d).String())
			}
			return applyErr
		})
	})
	c.Unproven(ctx, err != nil)
	diagnostic.AddError(c.Diags, "run subnet manager "+ref(d).String(), err)
	diagnostic.AddNotes(c.Diags, "Subnet manager "+ref(d).String(), result.Warnings)
	if c.Diags.HasError() {
		return
	}
	diagnostic.AddFindings(ctx, c.Diags, "run subnet manager "+ref(d).String(), result.Findings)
	c.NoteSeen(ctx, ops.Written(d, result.Observed))
	c.Diags.Append(plan.observe(ctx, d, result.Observed)...)
	c.Confirm(ctx, "run subnet manager "+ref(d).String(), &plan)
}

// asPlanned reports whether the files that the apply overwrites are those that the plan has
// shown, or say what is asked for.
func (r *Resource) asPlanned(ctx context.Context, c session.Change, snap *inventory.Snapshot, d ops.Request) bool {
	var before ops.Seen
	return !c.Seen(ctx, &before) || !diagnostic.AddFindings(ctx, c.Diags, "run subnet manager "+ref(d).String(),
		ops.CheckSeen(snap, before, d))
}

// Read refreshes the state. If the host answers and has nothing of ours, the state says
// so.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.Readable(state.Host) {
		return
	}
	d, err := state.request(ctx)
	if err != nil {
		session.AddForeignState(&resp.Diagnostics, "read subnet manager "+state.ID.ValueString(), err)
		return
	}
	_, _, snap, err := r.Look(ctx, d.Host)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read subnet manager "+ref(d).String(), err)
		return
	}
	observed := ops.Observe(snap, d.PortGUID)
	why := observed.Silence()
	if why != "" {
		warnSilence(&resp.Diagnostics, ref(d).String(), why)
	}
	if why == "" && !observed.Managed && !observed.Listed && observed.Stopped() {
		resp.State.RemoveResource(ctx)
		return
	}
	if seen, known := ops.SeenOf(snap, d.PortGUID); known {
		session.NoteSeen(ctx, resp.Private, seen, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(state.observe(ctx, d, observed)...)
	note(ctx, &state, observed, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// note keeps beside the state what the next plan and apply have to do.
func note(ctx context.Context, state *model, o ops.Observation, at planned.Beside, diags *diag.Diagnostics) {
	if held, err := state.request(ctx); err == nil {
		planned.NoteToDo(ctx, at, !satisfies(o, held), diags)
	}
	// A standby that has a role works by now. What a master has in force is the apply's to prove.
	if o.Role() != "" && !o.Master() {
		planned.NoteUnproven(ctx, at, false, diags)
	}
}

// Delete stops the subnet manager and removes its configuration.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	d, err := state.request(ctx)
	if err != nil || resp.Diagnostics.HasError() {
		diagnostic.AddError(&resp.Diagnostics, "remove subnet manager "+state.ID.ValueString(), err)
		return
	}
	limit, what := attribute.Delete.Limit(ctx, state.Timeouts, standardTimeout), "remove subnet manager "+ref(d).String()
	var result ops.Result
	r.Turns.SMs.Announce(ref(d))
	defer r.Turns.SMs.Withdraw(ref(d))
	err = r.WriteHost(ctx, d.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		snap, lookErr := h.Snapshot(ctx)
		if lookErr != nil {
			return lookErr
		}
		if r.Left("subnet manager", r.PortKey(ref(d)), ref(d).String(), &resp.Diagnostics) {
			return nil
		}
		found := ops.CheckRemove(snap, d.PortGUID)
		if before := (ops.Seen{}); session.Seen(ctx, req.Private, &before, &resp.Diagnostics) {
			found = append(found, ops.CheckSeenRemoved(snap, before, d.PortGUID)...)
		}
		if diagnostic.AddFindings(ctx, &resp.Diagnostics, what, atDestroy(found)) {
			return nil
		}
		return r.Turns.SMs.Do(ctx, ref(d), role(ops.Observe(snap, d.PortGUID)), func() (removeErr error) {
			result, removeErr = ops.Remove(ctx, h, d.PortGUID, ops.Options{})
			return removeErr
		})
	})
	diagnostic.AddError(&resp.Diagnostics, what, err)
	title := "Removed subnet manager " + ref(d).String()
	if err != nil {
		title = "Subnet manager " + ref(d).String()
	}
	diagnostic.AddNotes(&resp.Diagnostics, title, append(result.Warnings, result.Left...))
}

// warnSilence says why the state keeps what it has of a subnet manager.
func warnSilence(diags *diag.Diagnostics, name, why string) {
	diags.AddWarning("Subnet manager "+name+": whether it runs could not be read",
		"It is not known whether the service runs and starts at boot, and with which files. The state keeps what was read "+
			"of that last.\n\nFix on the host what the reason names, then plan again.\n\nReason: "+why)
}

// role is what a subnet manager does before it is changed.
func role(o ops.Observation) session.SMRole {
	switch {
	case o.Stopped():
		return session.SMStopped
	case o.Master():
		return session.SMMaster
	}
	return session.SMStandby
}

// ImportState takes host/port_guid.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	const what = "import subnet manager"
	port, ok := r.ImportPort(ctx, what, req, resp)
	if !ok || resp.Diagnostics.HasError() || !r.Readable(types.StringValue(port.Host)) {
		return
	}
	// A host that does not answer is the refresh's to tell of.
	if _, _, snap, err := r.Look(ctx, port.Host); err == nil {
		diagnostic.AddFindings(ctx, &resp.Diagnostics, what+" "+port.String(), ops.CheckImport(snap, port.GUID))
	}
}
