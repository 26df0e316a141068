package ipoib

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
)

func (o object) Ours(_ ipoib.Request, l *found.Look) bool { return l.Removable() }

func (o object) CheckRemoval(d ipoib.Request, l *found.Look) []finding.Finding {
	return judge.CheckRemove(l, d)
}

func (o object) SinceRemoval(d ipoib.Request, l *found.Look, kept *found.Seen) []finding.Finding {
	if kept == nil || !l.Removable() {
		return nil
	}
	before := *kept
	before.Carrier = false // a removal leaves mode and MTU as they are
	return judge.CheckSeen(l, before, d)
}

func (o object) Remove(ctx context.Context, h *hosts.Host, d ipoib.Request, _ *found.Look,
	m *model) (title string, notes []string, err error) {
	r, err := change.Remove(ctx, h, d, change.Options{ConfirmTimeout: o.Confirm})
	if err == nil {
		o.Planned.Remove(o.planned(d), m.shown())
	}
	title = "Removed the configuration of IPoIB interface"
	if !r.Changed {
		title = "Not removed: configuration of IPoIB interface"
	}
	return title, append(r.Warnings, r.Left...), err
}

// left is what a destroy finds.
type left struct {
	none    bool // nothing is to be removed
	present bool // the interface is there
	comes   bool // somebody else's definition makes it again
}

// removalOf asks the host. Core plans the destroy of an object with the state of before the
// refresh. If the host does not answer, that state counts.
func (o object) removalOf(ctx context.Context, state *model, d ipoib.Request) left {
	now := left{present: !state.Interface.IsNull()}
	if o.Data == nil || !o.HostReady(state.Host) {
		return now
	}
	_, _, snap, err := o.Look(ctx, d.Host)
	if err != nil {
		return now
	}
	l := found.At(snap, d.Ref())
	return left{none: l.Silence == "" && !l.Removable(), present: l.Present, comes: l.DefinedElsewhere()}
}

func (o object) WarnRemoval(ctx context.Context, state *model, diags *diag.Diagnostics) {
	d, err := state.request()
	if err != nil {
		return
	}
	what, now := "Removing the configuration of IPoIB interface "+state.ID.ValueString(), o.removalOf(ctx, state, d)
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
	case d.Bond.Name != "":
		diags.AddWarning(what+": the bond is removed",
			d.Bond.Name+" goes now, with its addresses. The interfaces of its ports stay, down; they keep their mode until the "+
				"next boot.")
	default:
		diags.AddWarning(what+": the interface stays",
			"Addresses are removed now; mode and MTU stay until the next boot. The interface belongs to the card and stays.")
	}
}
