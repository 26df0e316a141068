package ipoib

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan checks what speaks against the interface and says what will be done.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planRemoval(ctx, req, &resp.Diagnostics)
		return
	}
	plan, config, state, exists := planned.Models[model](ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	wanted := config
	wanted.Mode = plan.Mode // with the default
	if !r.HostReady(wanted.Host) {
		diagnostic.AddPostponed(&resp.Diagnostics, "IPoIB interface on host "+wanted.Host.ValueString(),
			"the host comes from something that does not exist yet")
		return
	}
	if !wanted.known() {
		r.early(ctx, &wanted, &resp.Diagnostics)
		return
	}
	d, err := wanted.request()
	if err != nil {
		return // the attributes validated themselves
	}
	_, _, snap, err := r.Look(ctx, d.Host)
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("host"), "plan IPoIB interface "+ref(d).String(), err)
		return
	}
	if !r.Claim(ctx, "plan IPoIB interface", planned.Claim{Key: r.PortKey(ref(d)), Name: ref(d).String(), HostIn: "host"},
		req, &resp.Diagnostics) {
		return
	}
	settleMTU(&d, snap)
	look := found.At(snap, d.Ref())
	if !exists && look.Persisted.Found {
		session.WarnMade(&resp.Diagnostics, "IPoIB interface", ref(d).String(), look.Differences(d.Config))
	}
	d.Consent.Shown = r.shown(&state, d)
	r.noteReplaced(&state, ref(d))
	held := exists && state.holds(d)
	open := r.toDo(look, d, held)
	r.check(ctx, &resp.Diagnostics, look, d, held, open)
	plan.plan(d)
	planned.Steady{
		Held: held, ToDo: open, Live: live, Kept: kept,
	}.Plan(ctx, req, resp, &plan)
}

// toDo reports whether the host is to be changed. The silence of systemd alone changes
// nothing of what the state holds, and a host that is only read keeps what is left of an
// earlier change.
func (r *Resource) toDo(look *found.Look, d ipoib.Request, held bool) bool {
	if r.Hosts[d.Host].Observe && look.OnlyPutsAway(d) {
		return false
	}
	return look.ToDo(d) && (!held || !look.OnlySilence(d))
}

// noteReplaced remembers that the interface of a state makes room for another one.
func (r *Resource) noteReplaced(state *model, by attribute.PortRef) {
	if was, ok := state.interfaceOf(); ok && was != by {
		r.Planned.ReplaceIPoIB(was, by)
	}
}

func (r *Resource) object(d ipoib.Request) planned.Object {
	return planned.Object{Kind: r.Kind, Key: r.PortKey(ref(d))}
}

// shown are the addresses and routes that the plan shows to end: those of the state, and in a
// replacement those of the object that this apply has removed.
func (r *Resource) shown(state *model, d ipoib.Request) []string {
	return slices.Concat(state.shown(), r.Planned.Removed(r.object(d)))
}

// shown are the addresses and routes of a state, of which a plan itself shows that they end.
func (m *model) shown() []string {
	d, err := m.request()
	if err != nil {
		return nil // there is no state
	}
	var all []string
	for _, a := range d.Config.Addresses {
		all = append(all, a.String())
	}
	for _, route := range d.Config.Routes {
		all = append(all, route.String())
	}
	return all
}

// early checks what needs neither the port nor what else is not known yet.
func (r *Resource) early(ctx context.Context, wanted *model, diags *diag.Diagnostics) {
	host := wanted.Host.ValueString()
	what := "configure IPoIB interface on host " + host
	d, err := wanted.sofar()
	if err != nil {
		return // the attributes validated themselves
	}
	_, _, snap, err := r.Look(ctx, host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "plan IPoIB interface on host "+host, err)
		return
	}
	if !wanted.Mode.IsUnknown() && !wanted.MTU.IsUnknown() {
		settleMTU(&d, snap)
	}
	look := found.At(snap, d.Ref())
	if wanted.settled() && !look.InPlace(d) && r.OnlyRead(ctx, what, host, nil, diags) {
		return
	}
	diagnostic.AddFindings(ctx, diags, what, judge.Check(look, d, judge.PlanFacts{PortUnknown: true}))
	diagnostic.AddPartlyPostponed(diags, "IPoIB interface on host "+host, wanted.unknownNames(),
		"the port and its interface, who else configures that, whether it leads to the host or to storage, and the other "+
			"interfaces of this configuration")
}

// interfaceOf names the interface of a state; not ok if there is no state.
func (m *model) interfaceOf() (attribute.PortRef, bool) {
	have, err := m.request()
	return ref(have), err == nil
}

// holds reports whether the state is what is asked for, of the same interface.
func (m *model) holds(want ipoib.Request) bool {
	if have, ok := m.interfaceOf(); !ok || have != ref(want) {
		return false
	}
	known, err := m.hostConfig()
	return err == nil && known != nil && known.Same(want.Config)
}

// ValidateConfig refuses what no host could do, before any is asked.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || config.Mode.IsUnknown() || config.MTU.IsUnknown() || config.Addresses.IsUnknown() {
		return
	}
	// Addresses are checked when a host is: they may be unknown one by one.
	if config.Mode.IsNull() {
		config.Mode = types.StringValue(ib.ModeDatagram.String())
	}
	var d ipoib.Request
	d.Config.Mode, d.Config.MTU = ib.IPoIBMode(config.Mode.ValueString()), int(config.MTU.ValueInt64())
	diagnostic.AddBlocking(ctx, &resp.Diagnostics, "configure IPoIB interface on host "+config.Host.ValueString(),
		judge.CheckConfig(d))
}

// settleMTU fills in the MTU that follows from the mode. An unknown platform
// keeps none; its finding says why.
func settleMTU(d *ipoib.Request, snap *inventory.Snapshot) {
	if d.Config.MTU != 0 {
		return
	}
	if p, err := platform.Of(snap); err == nil {
		d.Config.MTU = ipoib.DefaultMTU(p.About().Kind, d.Config.Mode)
	}
}

// check adds what speaks against d and reports whether it may be done. held says that the
// state has it, and toDo that the host differs.
func (r *Resource) check(ctx context.Context, diags *diag.Diagnostics, look *found.Look, d ipoib.Request,
	held, toDo bool) bool {
	snap := look.Snapshot()
	what := "configure IPoIB interface " + ref(d).String()
	if toDo && r.OnlyRead(ctx, what, d.Host, look.Differences(d.Config), diags) {
		return false
	}
	// Before the port is looked at: of this and a link type that becomes Ethernet, the later one
	// finds the other.
	overlap, same := r.Planned.SetAddresses(ref(d), d.Config.Addresses)
	port := r.PortPlan(snap, d.Host, d.PortGUID)
	// A port that is Ethernet now shows no GUID, though its flash holds one.
	planned := judge.PlanFacts{Port: port.Planned || port.InfiniBand, Carrier: port.Carrier(snap),
		LinkType: port.InfiniBand,
		Ethernet: port.Ethernet, Waits: port.Waits,
		SM: r.Planned.HasSM(), Held: held, Leaving: r.leavingPlaces(ref(d)),
		LookedAfter: r.lookedAfter(look, d)}
	all := append(judge.Check(look, d, planned), judge.CheckSubnet(d, r.members(d))...)
	all = append(all, judge.CheckAddresses(d, neighbours(overlap), neighbours(same))...)
	if planned.SM && look.Unserved() {
		elsewhere := judge.CheckFabric(d, r.SMsElsewhere(ctx, snap, d.PortGUID))
		if held && len(elsewhere) == 0 {
			elsewhere = judge.CheckServed(look, d)
		}
		all = append(all, elsewhere...)
	}
	return !diagnostic.AddFindings(ctx, diags, what, all)
}

// lookedAfter are interfaces of ports that the host does not show whose files may match the one
// of d once that has a name: a resource that this plan replaces removes them, or their port
// comes back with a GUID that this plan writes.
func (r *Resource) lookedAfter(look *found.Look, d ipoib.Request) (all []ipoib.Ref) {
	for _, p := range look.Awaited() {
		was := ref(ipoib.Request{Host: d.Host, PortGUID: p.PortGUID, PKey: p.PKey})
		if r.PortPlan(look.Snapshot(), d.Host, p.PortGUID).Planned || r.Planned.IPoIBIsReplaced(was) {
			all = append(all, p)
		}
	}
	return all
}

// leavingPlaces is the interface that this plan replaces by the one of a port, if there is one.
func (r *Resource) leavingPlaces(port attribute.PortRef) []ipoib.Ref {
	old, ok := r.Planned.ReplacedIPoIB(port)
	if !ok || old.Host != port.Host {
		return nil
	}
	key, err := pkeyOf(attribute.PKey{StringValue: attribute.OrNull(old.PKey)})
	if err != nil {
		return nil
	}
	return []ipoib.Ref{{PortGUID: old.GUID, PKey: key}}
}

// members are the interfaces of the same subnets that were planned so far with
// another setting.
func (r *Resource) members(d ipoib.Request) []judge.Member {
	var all []judge.Member
	others := r.Planned.SetIPoIB(ref(d), planned.IPoIB{Mode: d.Config.Mode.String(), MTU: d.Config.MTU},
		d.Config.Addresses)
	for port, setting := range others {
		all = append(all, judge.Member{Name: port.String(), Mode: ib.IPoIBMode(setting.Mode), MTU: setting.MTU})
	}
	slices.SortFunc(all, func(a, b judge.Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func neighbours(all []planned.Neighbour) []judge.Neighbour {
	out := make([]judge.Neighbour, len(all))
	for i, n := range all {
		out[i] = judge.Neighbour{Name: n.Port.String(), Address: n.Address}
	}
	return out
}

// hostConfig is the part of the model that the host must match; nil if the
// model holds none yet, as after an import. Addresses tell: every read sets them, while
// mode and MTU are null if there was no interface to read them from.
func (m *model) hostConfig() (*ipoib.Config, error) {
	if m.Addresses.IsNull() {
		return nil, nil //nolint:nilnil // nothing is configured, and that is no error
	}
	d, err := m.request()
	return &d.Config, err
}
