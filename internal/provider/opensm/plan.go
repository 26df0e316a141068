package opensm

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

func (o object) Ready(ctx context.Context, s *step) bool {
	host := s.Plan.Host
	switch {
	case !o.HostReady(host):
		diagnostic.AddPostponed(s.Diags, "subnet manager on host "+host.ValueString(),
			"the host comes from something that does not exist yet")
	case !s.Plan.known():
		o.early(ctx, s.Plan, s.Diags)
	default:
		return true
	}
	return false
}

// early checks what needs neither the port nor what else is not known yet.
func (o object) early(ctx context.Context, plan *model, diags *diag.Diagnostics) {
	host := plan.Host.ValueString()
	what := "run subnet manager on host " + host
	d, err := plan.sofar(ctx)
	if err != nil {
		return // the attributes validated themselves
	}
	_, _, snap, err := o.Look(ctx, host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "plan subnet manager on host "+host, err)
		return
	}
	known := attribute.Known(plan.Partitions)
	if !judge.IsInPlace(found.OfPorts(snap), d) && known {
		diagnostic.AddPlanned(ctx, diags, what, o.OnlyRead(host))
	}
	diagnostic.AddFindings(ctx, diags, what,
		judge.Check(found.Of(snap, 0), d, judge.PlanFacts{PortUnknown: true, PartitionsUnknown: !known,
			Lab: o.lab(ctx)}))
	diagnostic.AddPartlyPostponed(diags, "subnet manager on host "+host, plan.unknownNames(),
		"the port and who serves it, the other subnet managers of its fabric, and what an earlier instance left")
}

// Plan tells the rest of the plan of the subnet manager. What only the silence of systemd hides is
// not changed.
func (o object) Plan(ctx context.Context, s *step) (held bool) {
	o.warnReplaced(ctx, s)
	o.Planned.SetSM(ref(s.Ask), planned.SM{Priority: s.Ask.Priority, Master: s.Found.Master(),
		Fabric: o.Fabrics.Of(ref(s.Ask))})
	s.Plan.plan(s.Ask)
	o.planKeys(s)
	held = s.Exists && s.State.holds(ctx, *s.Plan, s.Ask)
	why := s.Found.Silence()
	if s.Keeps = held && why != "" && s.Found.Managed && len(judge.Differences(s.Found, s.Ask)) == 0; s.Keeps {
		warnSilence(s.Diags, ref(s.Ask).String(), why)
	}
	if !held {
		o.Planned.ChangeSM()
	}
	return held
}

// Foresee says what the apply does. It fails unless the port becomes Active.
func (o object) Foresee(ctx context.Context, s *step, first *found.Look, kept ops.Stored) {
	b := judge.Before{Stored: kept}
	s.Plan.PortState = types.StringValue("Active")
	was, err := s.State.request(ctx)
	if err == nil && ref(was) == ref(s.Ask) {
		b.Was = was
		if s.State.PackageVersion.IsNull() {
			b.Packages = packages(first)
		}
		change := judge.Announce(b, s.Ask)
		if change == "" && s.Unproven {
			change = "waits for the proof that it serves its port"
		}
		s.Plan.foresee(s.State, change)
		s.Interrupts = restarts(change)
		return
	}
	b.Stored = judge.BeforeNew(first)
	if s.Plan.PackageVersion = types.StringValue(first.Installed); first.Installed == "" {
		s.Plan.PackageVersion, b.Packages = types.StringUnknown(), packages(first)
	}
	s.Plan.Change = types.StringValue(judge.Announce(b, s.Ask))
	if s.Interrupts = restarts(s.Plan.Change.ValueString()); first.Managed {
		s.Interrupts = types.BoolUnknown() // it may run, unless the first half of a replacement has stopped it
	}
}

// restarts reports whether a change that is announced restarts the instance; unknown of none.
func restarts(change string) types.Bool {
	if change == "" {
		return types.BoolUnknown()
	}
	return types.BoolValue(strings.Contains(change, "restarts "))
}

// packages are those with opensm on the host of a look.
func packages(l *found.Look) []string {
	plat, err := platform.Of(l.Snapshot)
	if err != nil {
		return nil // a finding says why
	}
	return plat.PackagesFor(platform.FeatureOpenSM, l.Kernel)
}

// Check asks the cards of other hosts only if something is to change, so that a plan without changes
// waits for no other host.
func (o object) Check(ctx context.Context, s *step) []finding.Finding {
	d, l := s.Ask, s.Found
	port := o.PortPlan(l.Snapshot, d.Host, d.PortGUID)
	// A port that is Ethernet now shows no GUID, though its flash holds one.
	planned := judge.PlanFacts{Port: port.Planned || port.InfiniBand, LinkType: port.InfiniBand,
		Ethernet: port.Ethernet, Waits: port.Waits, MayLeave: s.Planning}
	o.compareOthers(ctx, s, &planned)
	planned.Short = o.shortGroups(ctx, d, l)
	planned.OtherKeys = o.otherKeys(ctx, d)
	if s.ToDo {
		planned.Lab = o.lab(ctx)
	}
	all := judge.Check(l, d, planned)
	if !s.Planning {
		return all
	}
	more := o.checkPlan(ctx, s)
	isEqual := func(f finding.Finding) bool { return f.Rule == finding.OpensmPriorityEqual }
	if slices.ContainsFunc(more, isEqual) { // proven, and no warning any more
		all = slices.DeleteFunc(all, isEqual)
	}
	return append(all, more...)
}

// shortGroups tells the interfaces of the configuration how large their broadcast groups are, and names those that
// were planned before and need more. Without partitions of its own opensm reads a file of the host if it has one.
func (o object) shortGroups(ctx context.Context, d ops.Request, l *found.Look) (short []string) {
	groups := ops.GroupMTUs(d.Partitions)
	if len(d.Partitions) == 0 && (l.Shared.StandardThere || l.Shared.StandardUnread) {
		groups = nil
	}
	for _, port := range o.Planned.SetGroups(ref(d), groups) {
		if !o.OnTwoFabrics(ctx, ref(d), port) {
			short = append(short, port.String())
		}
	}
	return short
}

// checkPlan gives what only a plan asks for: whether the port can prove an apply that has nothing to
// write, that of a new resource and one that repeats a change, and what the fabric has. A fabric that
// cannot be asked now is asked again at apply, through the port itself.
func (o object) checkPlan(ctx context.Context, s *step) (all []finding.Finding) {
	if !s.ToDo && (s.Unproven || !s.Held) {
		all = judge.CheckLink(s.Found)
	}
	if !o.asksFabric(ctx, s.Ask.Host, !s.ToDo, s.Found) {
		return all
	}
	more, err := change.AskFabric(ctx, s.Host, s.Found, s.Ask, o.lab(ctx))
	diagnostic.AddError(s.Diags, "ask the fabric of subnet manager "+ref(s.Ask).String(), err)
	return append(all, more...)
}

// asksFabric reports whether the fabric is asked: before a change, and if another subnet
// manager than those of this configuration rules it. Then its partitions and keys are in
// force, though nothing is to be changed on the host.
func (o object) asksFabric(ctx context.Context, host string, settled bool, l *found.Look) bool {
	if o.Hosts[host].Observe {
		return false
	}
	standby := !l.Stopped() && l.State == "Active" && l.SMLID != 0 && !l.Master()
	return !settled || standby && !o.lab(ctx).OurLIDs[l.SMLID]
}

// warnReplaced says what ends with a subnet manager whose state is replaced.
func (o object) warnReplaced(ctx context.Context, s *step) {
	was, err := attribute.ParsePortRef(s.State.ID.ValueString())
	if err != nil || o.PortKey(was) == o.Key(s.Ask) {
		return
	}
	s.Diags.AddWarning("Replacing subnet manager "+was.String()+": it is stopped",
		"Its service is stopped and disabled, and its configuration is removed. The new one serves the fabric of port "+
			ref(s.Ask).String()+". If that is another fabric, the old fabric is left without this subnet manager."+
			o.describeStaying(ctx, was.String()))
	o.addLast(ctx, s.State, s.Diags)
}
