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
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
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
	var result change.Result
	r.Turns.SMs.Announce(ref(d))
	defer r.Turns.SMs.Withdraw(ref(d))
	err = r.WriteHost(ctx, d.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		snap, lookErr := h.Snapshot(ctx)
		if lookErr != nil {
			return lookErr
		}
		now := found.Of(snap, d.PortGUID)
		if !r.asPlanned(ctx, c, now, d) || !r.check(ctx, c.Diags, now, d, satisfies(now, d), false) {
			return nil
		}
		return r.Turns.SMs.Do(ctx, ref(d), role(now), func() (applyErr error) {
			if result, applyErr = change.Apply(ctx, h, now, d, change.Options{Lab: r.lab(ctx)}); applyErr == nil {
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
	c.NoteSeen(ctx, result.Look.Written(d))
	c.Diags.Append(plan.observe(ctx, d, result.Look)...)
	c.Confirm(ctx, "run subnet manager "+ref(d).String(), &plan)
}

// asPlanned reports whether the files that the apply overwrites are those that the plan has
// shown, or say what is asked for.
func (r *Resource) asPlanned(ctx context.Context, c session.Change, l *found.Look, d ops.Request) bool {
	var before ops.Stored
	return !c.Seen(ctx, &before) || !diagnostic.AddFindings(ctx, c.Diags, "run subnet manager "+ref(d).String(),
		judge.CheckSincePlan(l, before, d))
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
	l := found.Of(snap, d.PortGUID)
	why := l.Silence()
	if why != "" {
		warnSilence(&resp.Diagnostics, ref(d).String(), why)
	}
	if why == "" && !l.Managed && !l.Listed && l.Stopped() {
		resp.State.RemoveResource(ctx)
		return
	}
	if stored, known := l.Stored(); known {
		session.NoteSeen(ctx, resp.Private, stored, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(state.observe(ctx, d, l)...)
	noteToDo(ctx, &state, l, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// noteToDo keeps beside the state what the next plan and apply have to do.
func noteToDo(ctx context.Context, state *model, l *found.Look, at planned.Beside, diags *diag.Diagnostics) {
	if held, err := state.request(ctx); err == nil {
		planned.NoteToDo(ctx, at, !satisfies(l, held), diags)
	}
	// A standby that has a role works by now. What a master has in force is the apply's to prove.
	if l.Role() == found.RoleStandby {
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
	var result change.Result
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
		now := found.Of(snap, d.PortGUID)
		all := judge.CheckRemoval(now)
		if before := (ops.Stored{}); session.Seen(ctx, req.Private, &before, &resp.Diagnostics) {
			all = append(all, judge.CheckRemovalSincePlan(now, before)...)
		}
		if diagnostic.AddFindings(ctx, &resp.Diagnostics, what, atDestroy(all)) {
			return nil
		}
		return r.Turns.SMs.Do(ctx, ref(d), role(now), func() (removeErr error) {
			result, removeErr = change.Remove(ctx, h, now)
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
func role(l *found.Look) session.SMRole {
	switch {
	case l.Stopped():
		return session.SMStopped
	case l.Master():
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
		diagnostic.AddFindings(ctx, &resp.Diagnostics, what+" "+port.String(), judge.CheckImport(found.Of(snap, port.GUID)))
	}
}
