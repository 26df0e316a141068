package opensm

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

func (o object) WarnRemoval(ctx context.Context, m *model, diags *diag.Diagnostics) {
	diags.AddWarning("Removing subnet manager "+m.ID.ValueString()+": the package stays",
		"The service is stopped and disabled, and its configuration is removed. "+
			"The package opensm, the port and other subnet managers of the host stay as they are. "+
			"If this is the only subnet manager of its fabric, ports that come up later stay in Initializing."+
			keysStay(m)+
			o.describeStaying(ctx, m.ID.ValueString()))
	o.addLast(ctx, m, diags)
}

// addLast adds what speaks against the removal of the subnet manager of a state from its fabric.
func (o object) addLast(ctx context.Context, m *model, diags *diag.Diagnostics) {
	port, err := attribute.ParsePortRef(m.ID.ValueString())
	if err != nil || !o.HostReady(types.StringValue(port.Host)) || o.Hosts[port.Host].Observe {
		return
	}
	h, _, snap, err := o.Look(ctx, port.Host)
	if err != nil {
		return // the removal itself says it
	}
	what := "remove subnet manager " + port.String()
	last, err := o.checkLast(ctx, h, found.Of(snap, port.GUID), m)
	diagnostic.AddError(diags, what, err)
	diagnostic.AddFindings(ctx, diags, what, last)
}

// checkLast asks the fabric for other subnet managers, and the hosts for what goes over it.
func (o object) checkLast(ctx context.Context, h *hosts.Host, l *found.Look, m *model) ([]finding.Finding, error) {
	if !l.Managed || !l.Master() {
		return nil, nil
	}
	machines, _ := o.Machines(ctx)
	uses := found.UsesOf(machines, l.LID)
	if len(uses) == 0 {
		return nil, nil
	}
	view, err := change.Survey(ctx, h, l)
	return judge.CheckLast(l, view, uses, m.AllowedLast.ValueString()), err
}

func (o object) CheckRemoval(_ ops.Request, l *found.Look) []finding.Finding {
	return atDestroy(judge.CheckRemoval(l))
}

func (o object) SinceRemoval(_ ops.Request, l *found.Look, kept *ops.Stored) []finding.Finding {
	all := judge.CheckRemoval(l)
	if kept != nil {
		all = append(all, judge.CheckRemovalSincePlan(l, *kept)...)
	}
	return atDestroy(all)
}

// atDestroy leaves out the attribute that a destroy has no configuration of.
func atDestroy(all []finding.Finding) []finding.Finding {
	for i := range all {
		all[i].Attribute = ""
	}
	return all
}

func (o object) Remove(ctx context.Context, h *hosts.Host, d ops.Request, l *found.Look,
	m *model) (title string, notes []string, err error) {
	var r change.Result
	last, err := o.checkLast(ctx, h, l, m)
	if blockers := safety.Blockers(last); err != nil || len(blockers) > 0 {
		return "Subnet manager", nil, cmp.Or[error](err, &safety.RefusedError{What: "remove subnet manager " +
			ref(d).String(), Findings: blockers})
	}
	err = o.Turns.SMs.Do(ctx, ref(d), role(l), func() (removeErr error) {
		r, removeErr = change.Remove(ctx, h, l)
		return removeErr
	})
	title = "Removed subnet manager"
	if err != nil {
		title = "Subnet manager"
	}
	return title, append(r.Warnings, r.Left...), err
}
