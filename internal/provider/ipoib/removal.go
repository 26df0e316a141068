package ipoib

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// planRemoval says what a destroy will do, and checks what speaks against it.
func (r *Resource) planRemoval(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	var state model
	diags.Append(req.State.Get(ctx, &state)...)
	r.warnRemoval(ctx, diags, &state)
	r.CanLeave("remove IPoIB interface "+state.ID.ValueString(), "host", req.State, "", diags)
	r.checkRemoval(ctx, diags, &state)
}

// checkRemoval adds what speaks against a destroy. A host that does not answer now
// is asked again by the destroy itself.
func (r *Resource) checkRemoval(ctx context.Context, diags *diag.Diagnostics, state *model) {
	d, err := state.request()
	if err != nil || r.Data == nil || !r.HostReady(state.Host) {
		return
	}
	what := "remove IPoIB interface " + ref(d).String()
	r.KeepsOnlyRead(ctx, what, state.Host,
		func(s *inventory.Snapshot) bool { return found.At(s, d.Ref()).Removable() }, diags)
	if r.Hosts[d.Host].Observe {
		return
	}
	_, _, snap, lookErr := r.Look(ctx, d.Host)
	if r.Drop(ctx, "remove IPoIB interface", r.PortKey(ref(d)), ref(d).String(), diags) && lookErr == nil {
		diagnostic.AddFindings(ctx, diags, what, judge.CheckRemove(found.At(snap, d.Ref()), d))
	}
}

// left is what a destroy finds.
type left struct {
	none    bool // nothing is to be removed
	present bool // the interface is there
	comes   bool // somebody else's definition makes it again
}

// removalOf asks the host. Core plans the destroy of an object with the state of before the
// refresh. If the host does not answer, that state counts.
func (r *Resource) removalOf(ctx context.Context, state *model, d ipoib.Request) left {
	now := left{present: !state.Interface.IsNull()}
	if r.Data == nil || !r.HostReady(state.Host) {
		return now
	}
	_, _, snap, err := r.Look(ctx, d.Host)
	if err != nil {
		return now
	}
	o := found.At(snap, d.Ref())
	return left{none: o.Silence == "" && !o.Removable(), present: o.Present, comes: o.DefinedElsewhere()}
}

// warnRemoval says what a destroy does to the interface.
func (r *Resource) warnRemoval(ctx context.Context, diags *diag.Diagnostics, state *model) {
	d, err := state.request()
	if err != nil {
		return
	}
	what, now := "Removing the configuration of IPoIB interface "+state.ID.ValueString(), r.removalOf(ctx, state, d)
	switch {
	case now.none:
	case !now.present:
		diags.AddWarning(what+": there is no such interface now",
			"The host has shown no interface of this port, as on a port in Ethernet mode. What is stored for the next boot "+
				"is removed. If the interface comes back, it has no settings of this resource.")
	case d.PKey != 0 && now.comes:
		diags.AddWarning(what+": the interface is removed",
			"A P_Key interface is made by its configuration. It goes now, with its addresses. Another definition of it stays "+
				"and makes it again.")
	case d.PKey != 0:
		diags.AddWarning(what+": the interface is removed",
			"A P_Key interface is made by its configuration. It goes now, with its addresses, and is not there after the next "+
				"boot.")
	default:
		diags.AddWarning(what+": the interface stays",
			"Addresses are removed now; mode and MTU stay until the next boot. The interface belongs to the card and stays.")
	}
}
