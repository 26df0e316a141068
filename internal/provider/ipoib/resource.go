// Package ipoib is the resource infiniband_ipoib_interface: mode, MTU and
// addresses of an IP-over-InfiniBand interface.
//
// It must not run commands; the operations of internal/ipoib do.
package ipoib

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
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

// named is how an import names an interface.
var named = session.PortNamed(session.Part{Name: "pkey", Optional: true,
	Description: "P_Key of an interface of another partition than the default one, `0x8001`."})

// Resource is infiniband_ipoib_interface.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_ipoib_interface", named)}
}

// Create configures the interface, whatever is configured already.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. What only a later destroy will
// need is stored without a change of the host.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply, kept)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan, config, before model
	c.Read(ctx, &plan, &config)
	d, err := plan.request()
	d.Consent = config.consent()
	c.Before(ctx, &before)
	d.Consent.Shown = r.shown(&before, d)
	if err != nil || c.Diags.HasError() {
		diagnostic.AddError(c.Diags, "configure IPoIB interface "+plan.PortGUID.ValueString(), err)
		return
	}
	limit := c.Op.Limit(ctx, plan.Timeouts, standardTimeout)
	var result change.Result
	err = r.WriteHost(ctx, d.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		snap, lookErr := h.Snapshot(ctx)
		if lookErr != nil {
			return lookErr
		}
		settleMTU(&d, snap)
		look := found.At(snap, d.Ref())
		if !r.asPlanned(ctx, c, look, d) || !r.check(ctx, c.Diags, look, d, false, look.ToDo(d)) {
			return nil
		}
		var applyErr error
		result, applyErr = change.Apply(ctx, h, d, change.Options{ConfirmTimeout: r.Confirm})
		confirmed := (*change.ConfirmedError)(nil)
		if applyErr == nil || errors.As(applyErr, &confirmed) {
			r.Made(r.PortKey(ref(d)))
		}
		if confirmed != nil {
			return c.Leaves(applyErr, rests(d), ref(d).String())
		}
		return applyErr
	})
	diagnostic.AddError(c.Diags, "configure IPoIB interface "+ref(d).String(), err)
	if c.Diags.HasError() {
		return
	}
	diagnostic.AddNotes(c.Diags, "IPoIB interface "+ref(d).String(), result.Warnings)
	if diff := result.Observed.Differences(d.Config); len(diff) > 0 {
		what := "configure IPoIB interface " + ref(d).String() + ": the host shows something else afterwards"
		diagnostic.AddError(c.Diags, what,
			c.Leaves(&changedError{diff}, rests(d), ref(d).String()))
		return
	}
	c.NoteSeen(ctx, result.Observed.Seen())
	plan.observe(d, result.Observed, &d.Config)
	c.Store(ctx, &plan)
}

// asPlanned reports whether what the apply replaces is what the plan has shown, or what is
// asked for.
func (r *Resource) asPlanned(ctx context.Context, c session.Change, look *found.Look, d ipoib.Request) bool {
	var before found.Seen
	return !c.Seen(ctx, &before) || !diagnostic.AddFindings(ctx, c.Diags, "configure IPoIB interface "+ref(d).String(),
		judge.CheckSeen(look, before, d))
}

// rests names what stays on the host of a create that failed after it was confirmed.
func rests(d ipoib.Request) string {
	return "IPoIB interface " + ref(d).String() + " with its configuration"
}

// changedError says that the host changed again after the change. The state keeps what it
// held: core would take any other value for a bug.
type changedError struct{ differences []string }

func (e *changedError) Error() string { return "differences: " + strings.Join(e.differences, "; ") }

// Explain implements the error that brings its own paragraphs.
func (e *changedError) Explain() string {
	return "The change was made and confirmed. Then something else changed the interface. Plan again to see what it has " +
		"now.\n\nDifferences: " + strings.Join(e.differences, "; ")
}

// Read refreshes the state. A host that answers and has neither the interface
// nor a configuration of ours is reported as having none.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.Readable(state.Host) {
		return
	}
	d, err := state.request()
	if err != nil {
		session.AddForeignState(&resp.Diagnostics, "read IPoIB interface "+state.ID.ValueString(), err)
		return
	}
	known, err := state.hostConfig()
	diagnostic.AddError(&resp.Diagnostics, "read IPoIB interface "+ref(d).String(), err)
	_, _, snap, err := r.Look(ctx, d.Host)
	diagnostic.AddError(&resp.Diagnostics, "read IPoIB interface "+ref(d).String(), err)
	if resp.Diagnostics.HasError() {
		return
	}
	observed := found.At(snap, d.Ref())
	if observed.Silence != "" {
		resp.Diagnostics.AddWarning("IPoIB interface "+ref(d).String()+": what configures it could not be read",
			"systemd did not say which network services run. The state keeps what was read last.\n\n"+
				"Fix what systemctl reports on the host, then plan again.\n\nReason: "+observed.Silence)
		return
	}
	if !observed.Present && !observed.Persisted.Found {
		resp.State.RemoveResource(ctx)
		return
	}
	session.NoteSeen(ctx, resp.Private, observed.Seen(), &resp.Diagnostics)
	state.observe(d, observed, known)
	if held, err := state.request(); err == nil {
		planned.NoteToDo(ctx, resp.Private, r.toDo(observed, held, true), &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete removes what Create configured.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	d, err := state.request()
	if err != nil || resp.Diagnostics.HasError() {
		diagnostic.AddError(&resp.Diagnostics, "remove IPoIB interface "+state.ID.ValueString(), err)
		return
	}
	limit := attribute.Delete.Limit(ctx, state.Timeouts, standardTimeout)
	var result change.Result
	err = r.WriteHost(ctx, d.Host, limit, func(ctx context.Context, h *hosts.Host) error {
		snap, lookErr := h.Snapshot(ctx)
		if lookErr != nil {
			return lookErr
		}
		if r.Left("configuration of IPoIB interface", r.PortKey(ref(d)), ref(d).String(), &resp.Diagnostics) {
			return nil
		}
		look := found.At(snap, d.Ref())
		if before := (found.Seen{}); look.Removable() && session.Seen(ctx, req.Private, &before, &resp.Diagnostics) &&
			diagnostic.AddFindings(ctx, &resp.Diagnostics, "remove IPoIB interface "+ref(d).String(),
				judge.CheckSeen(look, before, d)) {
			return nil
		}
		var removeErr error
		if result, removeErr = change.Remove(ctx, h, d, change.Options{ConfirmTimeout: r.Confirm}); removeErr == nil {
			r.Planned.Remove(r.object(d), state.shown())
		}
		return removeErr
	})
	diagnostic.AddError(&resp.Diagnostics, "remove IPoIB interface "+ref(d).String(), err)
	title := "Removed the configuration of IPoIB interface "
	if !result.Changed {
		title = "Not removed: configuration of IPoIB interface "
	}
	diagnostic.AddNotes(&resp.Diagnostics, title+ref(d).String(), append(result.Warnings, result.Left...))
}

// ImportState takes host/port_guid, and /pkey for another partition than the default.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	port, ok := r.ImportPort(ctx, "import IPoIB interface", req, resp)
	if ok && port.PKey != "" {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("pkey"), attribute.PKeyText(port.PKey))...)
	}
}
