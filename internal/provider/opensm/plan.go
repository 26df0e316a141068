package opensm

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan checks what speaks against the subnet manager and says what will
// be done.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planRemoval(ctx, req.State, &resp.Diagnostics)
		return
	}
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	if !r.HostReady(plan.Host) {
		diagnostic.AddPostponed(&resp.Diagnostics, "subnet manager on host "+plan.Host.ValueString(),
			"the host comes from something that does not exist yet")
		return
	}
	if !plan.known() {
		r.early(ctx, &plan, &resp.Diagnostics)
		return
	}
	d, err := plan.request(ctx)
	if err != nil {
		return // the attributes validated themselves
	}
	// At apply this runs once more, just before the change of a standby.
	standby := false
	r.Turns.SMs.Announce(ref(d))
	defer func() { r.stays(d, standby, req, resp) }()
	h, _, snap, err := r.Look(ctx, d.Host)
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "plan subnet manager "+ref(d).String(), err)
		return
	}
	if !r.Claim(ctx, "plan subnet manager", planned.Claim{Key: r.PortKey(ref(d)), Name: ref(d).String(), HostIn: "host"},
		req, &resp.Diagnostics) {
		return
	}
	l := found.Of(snap, d.PortGUID)
	r.warnOld(ctx, req.State, d, l, &resp.Diagnostics)
	r.Planned.SetSM(ref(d), planned.SM{Priority: d.Priority, Master: l.Master()})
	settled := satisfies(l, d)
	standby = role(l) == session.SMStandby
	plan.plan(d)
	held := r.stateHolds(ctx, req.State, plan, d, &resp.Diagnostics)
	if onlySilence(held, l, d, &resp.Diagnostics) {
		planned.Steady{Held: true}.Plan(ctx, req, resp, &plan)
		return
	}
	r.check(ctx, &resp.Diagnostics, l, d, settled, true)
	unproven := planned.Unproven(ctx, req.Private, &resp.Diagnostics)
	checkProof(ctx, &resp.Diagnostics, l, d, settled, held, unproven)
	if r.asksFabric(ctx, d.Host, settled, l) {
		r.survey(ctx, &resp.Diagnostics, h, l, d)
	}
	planned.Steady{Held: held, ToDo: !settled || unproven, Live: live}.Plan(ctx, req, resp, &plan)
}

// planRemoval checks what speaks against a destroy and says what it does.
func (r *Resource) planRemoval(ctx context.Context, from tfsdk.State, diags *diag.Diagnostics) {
	var state model
	diags.Append(from.Get(ctx, &state)...)
	l := r.lookAt(ctx, state.ID.ValueString())
	warnRemoval(diags, state.ID.ValueString(), describeStaying(l))
	r.CanLeave("remove subnet manager "+state.ID.ValueString(), "host", from, "", diags)
	r.checkRemoval(ctx, diags, &state, l)
}

// checkProof adds what speaks against an apply that has nothing to write and waits for the port:
// that of a new resource, and one that repeats a change that was not proven.
func checkProof(ctx context.Context, diags *diag.Diagnostics, l *found.Look, d ops.Request,
	settled, held, unproven bool) {
	if settled && (unproven || !held) {
		diagnostic.AddFindings(ctx, diags, "run subnet manager "+ref(d).String(), judge.CheckLink(l))
	}
}

// onlySilence reports whether only the silence of systemd stands between the host and
// the state, and warns of it.
func onlySilence(held bool, l *found.Look, d ops.Request, diags *diag.Diagnostics) bool {
	if !held || l.Silence() == "" || !l.Managed || len(judge.Differences(l, d)) > 0 {
		return false
	}
	warnSilence(diags, ref(d).String(), l.Silence())
	return true
}

// early checks what needs neither the port nor what else is not known yet.
func (r *Resource) early(ctx context.Context, plan *model, diags *diag.Diagnostics) {
	host := plan.Host.ValueString()
	what := "run subnet manager on host " + host
	d, err := plan.sofar(ctx)
	if err != nil {
		return // the attributes validated themselves
	}
	_, _, snap, err := r.Look(ctx, host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "plan subnet manager on host "+host, err)
		return
	}
	if !judge.IsInPlace(found.OfPorts(snap), d) && wholly(plan.Partitions) && r.OnlyRead(ctx, what, host, nil, diags) {
		return
	}
	diagnostic.AddFindings(ctx, diags, what,
		judge.Check(found.Of(snap, 0), d, judge.PlanFacts{PortUnknown: true, PartitionsUnknown: !wholly(plan.Partitions),
			Lab: r.lab(ctx)}))
	diagnostic.AddPartlyPostponed(diags, "subnet manager on host "+host, plan.unknownNames(),
		"the port and who serves it, the other subnet managers of its fabric, and what an earlier instance left")
}

// stays withdraws the announcement of a subnet manager that is no standby, or that this
// plan does not change.
func (r *Resource) stays(d ops.Request, standby bool, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	if !standby || resp.Diagnostics.HasError() || resp.Plan.Raw.Equal(req.State.Raw) {
		r.Turns.SMs.Withdraw(ref(d))
	}
}

// live are the attributes that the host and its fabric decide.
var live = []string{"package_version", "port_state", "lid", "sm_lid", "role"}

// stateHolds reports whether there is a state that has what is planned.
func (r *Resource) stateHolds(ctx context.Context, from tfsdk.State, plan model, d ops.Request,
	diags *diag.Diagnostics) bool {
	if from.Raw.IsNull() {
		return false
	}
	var state model
	diags.Append(from.Get(ctx, &state)...)
	return !diags.HasError() && state.holds(ctx, plan, d)
}

// namedRivals is how many subnet managers of equal priority a warning names.
const namedRivals = 3

// check adds the findings against d and reports whether it may be done. The cards of
// other hosts are read only if something is to change, so that a plan without changes
// waits for no other host.
func (r *Resource) check(ctx context.Context, diags *diag.Diagnostics, l *found.Look, d ops.Request,
	settled, planning bool) bool {
	what := "run subnet manager " + ref(d).String()
	if !settled && r.OnlyRead(ctx, what, d.Host, judge.Differences(l, d), diags) {
		return false
	}
	port := r.PortPlan(l.Snapshot, d.Host, d.PortGUID)
	// A port that is Ethernet now shows no GUID, though its flash holds one.
	planned := judge.PlanFacts{Port: port.Planned || port.InfiniBand, LinkType: port.InfiniBand,
		Ethernet: port.Ethernet, Waits: port.Waits,
		MayLeave: planning}
	rivals, total := r.Planned.RivalSMs(ref(d), namedRivals)
	for _, other := range rivals {
		planned.Rivals = append(planned.Rivals, ops.Request{Host: other.Host, PortGUID: other.GUID, Priority: d.Priority})
	}
	planned.MoreRivals = total - len(rivals)
	if other, differs := r.Planned.OtherPartitions(ref(d), ops.PartitionText(d.Partitions)); differs {
		planned.OtherPartitions = &ops.Request{Host: other.Host, PortGUID: other.GUID}
	}
	if !settled {
		planned.Lab = r.lab(ctx)
	}
	return !diagnostic.AddFindings(ctx, diags, what, judge.Check(l, d, planned))
}

// lab are the ports of the hosts that answer, without the cards whose GUIDs
// this plan changes.
func (r *Resource) lab(ctx context.Context) found.Lab {
	machines, names := r.Machines(ctx)
	anyName := func(host string, is func(name string) bool) bool { return slices.ContainsFunc(names[host], is) }
	return found.LabOf(machines, func(host string, pci ib.PCIAddress) bool {
		return anyName(host, func(name string) bool {
			return r.Planned.Card(attribute.CardRef{Host: name, PCI: pci}).GUIDs != nil
		})
	}, func(host string, port ib.GUID) bool {
		return anyName(host, func(name string) bool { return r.Planned.SM(attribute.PortRef{Host: name, GUID: port}) })
	})
}

// asksFabric reports whether the fabric is asked: before a change, and if another subnet
// manager than those of this configuration rules it. Then its partitions and keys are in
// force, though nothing is to be changed on the host.
func (r *Resource) asksFabric(ctx context.Context, host string, settled bool, l *found.Look) bool {
	if r.Hosts[host].Observe {
		return false
	}
	standby := !l.Stopped() && l.State == "Active" && l.SMLID != 0 && !l.Master()
	return !settled || standby && !r.lab(ctx).OurLIDs[l.SMLID]
}

// survey asks the fabric about the change. A fabric that cannot be asked now is asked
// again at apply, through the port itself.
func (r *Resource) survey(ctx context.Context, diags *diag.Diagnostics, h *hosts.Host, l *found.Look, d ops.Request) {
	all, err := change.AskFabric(ctx, h, l, d, r.lab(ctx))
	if err != nil {
		diagnostic.AddError(diags, "ask the fabric of subnet manager "+ref(d).String(), err)
		return
	}
	diagnostic.AddFindings(ctx, diags, "run subnet manager "+ref(d).String(), all)
}

// checkRemoval refuses a destroy on a host that is only read, and one that would lose keys.
// A host that does not answer now, of which there is no look, is asked again by the destroy itself.
func (r *Resource) checkRemoval(ctx context.Context, diags *diag.Diagnostics, state *model, l *found.Look) {
	d, err := state.request(ctx)
	if err != nil {
		return // the destroy itself says it
	}
	what := "remove subnet manager " + ref(d).String()
	r.KeepsOnlyRead(ctx, what, state.Host, func(*inventory.Snapshot) bool { return l != nil && l.Managed }, diags)
	if r.Data == nil || !r.HostReady(state.Host) || r.Hosts[d.Host].Observe {
		return
	}
	if r.Drop(ctx, "remove subnet manager", r.PortKey(ref(d)), ref(d).String(), diags) && l != nil {
		diagnostic.AddFindings(ctx, diags, what, atDestroy(judge.CheckRemoval(l)))
	}
}

// atDestroy leaves out the attribute that a destroy has no configuration of.
func atDestroy(all []finding.Finding) []finding.Finding {
	for i := range all {
		all[i].Attribute = ""
	}
	return all
}

// warnOld says what ends with a subnet manager that was there before: that of a state which is
// replaced, or one that no state has and that is changed.
func (r *Resource) warnOld(ctx context.Context, from tfsdk.State, d ops.Request, l *found.Look,
	diags *diag.Diagnostics) {
	by := ref(d)
	if from.Raw.IsNull() {
		if l.Managed {
			session.WarnMade(diags, "Subnet manager", by.String(), judge.Differences(l, d))
		}
		return
	}
	var id types.String
	diags.Append(from.GetAttribute(ctx, path.Root("id"), &id)...)
	was, err := attribute.ParsePortRef(id.ValueString())
	if err != nil || r.PortKey(was) == r.PortKey(by) {
		return
	}
	diags.AddWarning("Replacing subnet manager "+was.String()+": it is stopped",
		"Its service is stopped and disabled, and its configuration is removed. The new one serves the fabric of port "+
			by.String()+". If that is another fabric, the old fabric is left without this subnet manager."+
			describeStaying(r.lookAt(ctx, id.ValueString())))
}

// lookAt is the look at the subnet manager with an id; nil if its host does not answer.
func (r *Resource) lookAt(ctx context.Context, id string) *found.Look {
	port, err := attribute.ParsePortRef(id)
	if err != nil || r.Data == nil || !r.HostReady(types.StringValue(port.Host)) {
		return nil
	}
	_, _, snap, err := r.Look(ctx, port.Host)
	if err != nil {
		return nil
	}
	return found.Of(snap, port.GUID)
}

// describeStaying says what others of its host need of what a subnet manager leaves. A host that does not
// answer now is asked again by the removal itself.
func describeStaying(l *found.Look) string {
	if l == nil {
		return ""
	}
	return strings.Join(append([]string{""}, judge.FindStaying(l)...), "\n\n")
}

func warnRemoval(diags *diag.Diagnostics, id, staying string) {
	diags.AddWarning("Removing subnet manager "+id+": the package stays",
		"The service is stopped and disabled, and its configuration is removed. "+
			"The package opensm, the port and other subnet managers of the host stay as they are. "+
			"If this is the only subnet manager of its fabric, ports that come up later stay in Initializing."+staying)
}
