// Package port is the resource infiniband_port: the administrative state, speeds
// and widths of one port.
//
// It must not run commands; the operations of internal/port do.
package port

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 5 * time.Minute

var (
	_ resource.ResourceWithConfigure   = &Resource{}
	_ resource.ResourceWithModifyPlan  = &Resource{}
	_ resource.ResourceWithIdentity    = &Resource{}
	_ resource.ResourceWithImportState = &Resource{}
)

// named is how an import names a port.
var named = session.Name{
	Parts: append(session.PlaceParts[:2:2],
		session.Part{Name: "port", Number: true, Description: "Number of the port, 1 or 2."}), From: []string{"id"},
	Canonical: func(text string) (string, error) {
		ref, number, err := parseID(text)
		return id(ref, number), err
	},
}

// Resource is infiniband_port.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.Importable{Resource: session.Resource{Kind: "infiniband_port"}, By: named}}
}

// Create makes the setting, whatever the port is.
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
	d, ref, err := plan.request(config.AllowManagement)
	what := "set port " + id(ref, d.Number)
	if err != nil || c.Diags.HasError() {
		diagnostic.AddError(c.Diags, what, err)
		return
	}
	limit := c.Op.Limit(ctx, plan.Timeouts, standardTimeout)
	var result ops.Result
	err = r.WriteHost(ctx, ref.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		// What warns or refuses now belongs to the operator's screen as it did in
		// the plan.
		o, _, ok := r.assess(ctx, plan.CardID, session.AsPlanned(plan.CardIdentity), d, ref, c.Diags)
		if !ok || !asPlanned(ctx, c, h, o, d, what) {
			return nil
		}
		var applyErr error
		if result, applyErr = ops.Apply(ctx, h, d, ops.Options{}); applyErr == nil {
			r.Made(r.NumberedPortKey(ref, d.Number))
			if now := h.Peek(); now != nil {
				c.NoteSeen(ctx, seen{ops.SeenOf(now.BootID, result.Observed), plan.setting()})
			}
		}
		if result.Stored {
			applyErr = c.Leaves(applyErr, "The unit "+ops.UnitName(d.Card, d.Number)+", which makes the setting at boot,",
				id(ref, d.Number))
		}
		return applyErr
	})
	diagnostic.AddError(c.Diags, what, err)
	diagnostic.AddNotes(c.Diags, "Port "+id(ref, d.Number), result.Warnings)
	if c.Diags.HasError() {
		return
	}
	plan.observe(ref, d.Number, result.Observed, plan.setting())
	c.Confirm(ctx, what, &plan)
}

// asPlanned reports whether what the apply changes is what the plan has shown, or what is
// asked for.
func asPlanned(ctx context.Context, c session.Change, h *hosts.Host, o ops.Observation, d ops.Request,
	what string) bool {
	var before ops.Seen
	if !c.Seen(ctx, &before) {
		return true
	}
	snap, err := h.Snapshot(ctx)
	diagnostic.AddError(c.Diags, what, err)
	return err == nil && !diagnostic.AddFindings(ctx, c.Diags, what, ops.CheckSeen(snap, o, before, d))
}

// Read refreshes what the port is, and what it will be after a restart.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	d, ref, err := state.request(types.ListNull(types.StringType))
	session.AddForeignState(&resp.Diagnostics, "read port "+cmp.Or(state.ID.ValueString(), "of the state"), err)
	if resp.Diagnostics.HasError() || !r.Readable(types.StringValue(ref.Host)) {
		return
	}
	h, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read port "+id(ref, d.Number), err)
		return
	}
	if r.RecordedPresence(ctx, snap, state.CardID, &state.CardIdentity, &resp.Diagnostics) == session.Strange {
		return // another card's port never enters the state
	}
	o, err := ops.Look(ctx, h, d)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read port "+id(ref, d.Number), err)
		return
	}
	if !o.Card && !o.Stored {
		resp.State.RemoveResource(ctx)
		return
	}
	var before seen
	if session.Seen(ctx, req.Private, &before, &resp.Diagnostics); before.Asked == nil {
		before.Asked = state.setting()
	}
	if snap := h.Peek(); snap != nil {
		session.NoteSeen(ctx, resp.Private, seen{ops.SeenOf(snap.BootID, o), before.Asked}, &resp.Diagnostics)
	}
	state.observe(ref, d.Number, o, before.Asked)
	if held, _, err := state.request(types.ListNull(types.StringType)); err == nil {
		planned.NoteToDo(ctx, resp.Private, len(o.Differences(held)) > 0, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete removes what makes the setting at boot; the port stays as it is.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	d, ref, err := state.request(types.ListNull(types.StringType))
	what := "forget port " + id(ref, d.Number)
	if err != nil || resp.Diagnostics.HasError() {
		diagnostic.AddError(&resp.Diagnostics, what, err)
		return
	}
	limit := attribute.Delete.Limit(ctx, state.Timeouts, standardTimeout)
	var result ops.Result
	err = r.WriteHost(ctx, ref.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		if r.Left("setting of port", r.NumberedPortKey(ref, d.Number), id(ref, d.Number), &resp.Diagnostics) {
			return nil
		}
		snap, removeErr := h.Snapshot(ctx)
		if removeErr != nil {
			return removeErr
		}
		if before := (ops.Seen{}); session.Seen(ctx, req.Private, &before, &resp.Diagnostics) && diagnostic.AddFindings(ctx,
			&resp.Diagnostics, what, ops.CheckSeenRemoved(snap, before, d.Card, d.Number)) {
			return nil
		}
		result, removeErr = ops.Remove(ctx, h, d.Card, d.Number)
		return removeErr
	})
	diagnostic.AddError(&resp.Diagnostics, what, err)
	diagnostic.AddNotes(&resp.Diagnostics, "Port "+id(ref, d.Number), append(result.Warnings, result.Left...))
}

// ImportState takes host/pci_address/port.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	name, ok := r.ImportID(ctx, "import port", req, resp)
	if !ok {
		return
	}
	ref, number, err := parseID(name)
	diagnostic.AddError(&resp.Diagnostics, "import port "+name, err)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(id(ref, number)))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("card_id"),
		attribute.NewText[attribute.CardIDKind](ref.String()))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("port"), types.Int64Value(int64(number)))...)
}
