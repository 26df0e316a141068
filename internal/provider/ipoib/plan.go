package ipoib

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

// Ready leaves to the mode what the configuration leaves out: the plan has the MTU of the state there.
func (o object) Ready(ctx context.Context, s *step) bool {
	s.Plan.MTU = s.Config.MTU
	switch {
	case !o.HostReady(s.Plan.Host):
		diagnostic.AddPostponed(s.Diags, "IPoIB interface on host "+s.Plan.Host.ValueString(),
			"the host comes from something that does not exist yet")
	case !s.Plan.known():
		o.early(ctx, s)
	default:
		return true
	}
	return false
}

func (o object) Plan(_ context.Context, s *step) (held bool) {
	// The interface of the state makes room for another one.
	if was, err := s.State.request(); err == nil && (ref(was) != ref(s.Ask) || was.Bond != s.Ask.Bond) {
		o.Planned.ReplaceIPoIB(planned.Gone{PortRef: ref(was), Bond: was.Bond.Name}, ref(s.Ask))
	}
	held = s.State.holds(s.Ask)
	s.Plan.plan(s.Ask)
	return held
}

// Foresee has the interface up with what is asked for, or the apply fails. One that is down may be up by then.
func (o object) Foresee(_ context.Context, s *step, first *found.Look, kept found.Seen) {
	s.Interrupts = types.BoolUnknown()
	s.Plan.Up, s.Plan.Effective = types.BoolValue(true), types.ObjectNull(effectiveTypes)
	if !s.Ask.Config.DHCP4 {
		s.Plan.Leased = types.StringNull()
	}
	if s.Ask.Bond.Name == "" {
		s.Plan.Active = types.StringNull()
	}
	if was, err := s.State.request(); err == nil && was.Ref() == s.Ask.Ref() {
		s.Plan.foresee(s.State, first.Sources(), s.Held)
		change := judge.Announce(first, was.Config, kept, s.Ask)
		s.Plan.Change = attribute.PlannedChange(change, s.State.Change)
		if change != "" && s.State.Up.ValueBool() {
			s.Interrupts = types.BoolValue(true)
		}
		return
	}
	if first.Interrupts(s.Ask) {
		s.Interrupts = types.BoolValue(true)
	}
	if first.Silence == "" {
		s.Plan.Change = attribute.OrNull(judge.AnnounceNew(first, s.Ask))
	}
	s.Plan.Stack, s.Plan.Interface = types.StringUnknown(), types.StringUnknown()
	if first.Silence == "" {
		s.Plan.Stack = openIfNull(attribute.OrNull(string(first.Stack)))
	}
	if first.Name != "" {
		s.Plan.Interface = types.StringValue(first.Name)
	}
	if sources := first.Sources(); sources != nil {
		s.Plan.StoredIn = attribute.StringList(sources)
	}
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
func (o object) early(ctx context.Context, s *step) {
	wanted, diags := *s.Plan, s.Diags
	host := wanted.Host.ValueString()
	what := "configure IPoIB interface on host " + host
	d, err := wanted.sofar()
	d.Consent = s.Config.consent()
	if err != nil {
		return // the attributes validated themselves
	}
	_, _, snap, err := o.Look(ctx, host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "plan IPoIB interface on host "+host, err)
		return
	}
	if !wanted.Mode.IsUnknown() && !wanted.MTU.IsUnknown() {
		settleMTU(&d, snap)
	}
	look := found.At(snap, d.Ref())
	if wanted.settled() && !look.InPlace(d) {
		diagnostic.AddPlanned(ctx, diags, what, o.OnlyRead(host))
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
	have, err := m.request()
	return err == nil && !m.Addresses.IsNull() && have.Bond == want.Bond && have.Config.Same(want.Config)
}

// Validate refuses what no host could do.
func (o object) Validate(ctx context.Context, config *model, diags *diag.Diagnostics) {
	if config.Mode.IsUnknown() || config.MTU.IsUnknown() || config.Addresses.IsUnknown() {
		return
	}
	// Addresses are checked when a host is: they may be unknown one by one.
	if config.Mode.IsNull() {
		config.Mode = types.StringValue(ib.ModeDatagram.String())
	}
	var d ipoib.Request
	d.Config.Mode, d.Config.MTU = ib.IPoIBMode(config.Mode.ValueString()), int(config.MTU.ValueInt64())
	diagnostic.AddBlocking(ctx, diags, "configure IPoIB interface on host "+config.Host.ValueString(),
		judge.CheckConfig(d))
}

// settleMTU fills in the MTU that follows from the mode. An unknown platform
// keeps none; its finding says why.
func settleMTU(d *ipoib.Request, snap *inventory.Snapshot) {
	if d.Config.MTU != 0 || d.Config.Mode == "" {
		return
	}
	if p, err := platform.Of(snap); err == nil {
		d.Config.MTU = ipoib.DefaultMTU(p.About().Kind, d.Config.Mode)
	}
}

// Check adds the address to those of this plan before the port is looked at: of this and a link type that
// becomes Ethernet, the later one finds the other.
func (o object) Check(ctx context.Context, s *step) []finding.Finding {
	d, look := o.shown(s), s.Found
	overlap, same := o.Planned.SetAddresses(ref(d), d.Config.Addresses)
	same = slices.DeleteFunc(same, func(n planned.Neighbour) bool { return o.OnTwoFabrics(ctx, ref(d), n.Port) })
	port, backup := o.PortPlan(s.Snap, d.Host, d.PortGUID), o.PortPlan(s.Snap, d.Host, d.Bond.Backup)
	// A port that is Ethernet now shows no GUID, though its flash holds one.
	leaving, former := o.leavingPlaces(ref(d))
	planned := judge.PlanFacts{Port: port.Planned || port.InfiniBand, Carrier: port.Carrier(s.Snap),
		Group:      o.group(ctx, s, d),
		BackupPort: d.Bond.Name != "" && (backup.Planned || backup.InfiniBand),
		LinkType:   port.InfiniBand,
		Ethernet:   port.Ethernet, Waits: port.Waits, Former: former,
		SM: o.Planned.HasSM(), Held: s.Held, Leaving: leaving,
		LookedAfter: o.lookedAfter(look, d)}
	all := append(judge.Check(look, d, planned), judge.CheckAddresses(d, neighbours(overlap), neighbours(same))...)
	all = append(all, o.checkBond(ctx, s, d)...)
	if planned.SM && look.Unserved() {
		elsewhere := judge.CheckFabric(d, o.SMsElsewhere(ctx, s.Snap, d.PortGUID))
		// An apply of a subnet manager ends when its port is Active, or names the cause.
		if s.Held && len(elsewhere) == 0 && !o.Planned.ChangesSM() {
			elsewhere = judge.CheckServed(look, d)
		}
		all = append(all, elsewhere...)
	}
	return all
}

// checkBond gives the findings that only the state and the configuration tell from what a bond may have.
func (o object) checkBond(ctx context.Context, s *step, d ipoib.Request) (all []finding.Finding) {
	if d.Bond.Name == "" {
		return nil
	}
	was, _ := s.State.request() // zero without a state
	if was.Host != d.Host || was.Ref() != d.Ref() {
		_, former := o.leavingPlaces(ref(d))
		all = judge.CheckForeignBond(s.Found, d, former)
	}
	backup := attribute.PortRef{Host: d.Host, GUID: d.Bond.Backup}
	if o.OnTwoFabrics(ctx, ref(d), backup) {
		all = append(all, judge.CheckApart(d, o.Fabrics.Of(ref(d)), o.Fabrics.Of(backup), was.Bond == d.Bond))
	}
	return all
}

// group is what the subnet managers of this configuration and the fabric say of the broadcast group of the interface.
// The fabric is asked where the interface does not show that it has what it needs.
func (o object) group(ctx context.Context, s *step, d ipoib.Request) (g judge.Group) {
	need := 0
	if judge.NeedsGroup(d.Config) && s.Found.JoinedMTU() < d.Config.MTU {
		need = d.Config.MTU + ib.DatagramOverhead
	}
	mtu, by := o.Planned.GroupMTU(ref(d), o.Fabrics.Of(ref(d)), need)
	g = judge.Group{Planned: mtu, By: by.GUID.String() + " of " + by.Host, Changes: o.Planned.ChangesSM()}
	if need != 0 {
		g.Live = o.GroupMTU(ctx, s.Snap, d.PortGUID, cmp.Or(d.PKey, ipoib.DefaultPKey))
	}
	if mtu != 0 && judge.NeedsGroup(d.Config) && mtu < d.Config.MTU+ib.DatagramOverhead && g.Changes {
		g.Here = o.SMHere(ctx, s.Snap, d.PortGUID)
	}
	return g
}

// lookedAfter are interfaces of ports that the host does not show whose files may match the one
// of d once that has a name: a resource that this plan replaces removes them, or their port
// comes back with a GUID that this plan writes.
func (o object) lookedAfter(look *found.Look, d ipoib.Request) (all []ipoib.Ref) {
	for _, p := range look.Awaited() {
		was := ref(ipoib.Request{Host: d.Host, PortGUID: p.PortGUID, PKey: p.PKey})
		if o.PortPlan(look.Snapshot(), d.Host, p.PortGUID).Planned || o.Planned.IPoIBIsReplaced(was) {
			all = append(all, p)
		}
	}
	return all
}

// leavingPlaces is the interface that this plan replaces by the one of a port, if there is one, and the name of its
// bond.
func (o object) leavingPlaces(port attribute.PortRef) (all []ipoib.Ref, bond string) {
	old, ok := o.Planned.ReplacedIPoIB(port)
	if !ok || old.Host != port.Host {
		return nil, ""
	}
	key, err := pkeyOf(attribute.PKey{StringValue: attribute.OrNull(old.PKey)})
	if err != nil {
		return nil, ""
	}
	return []ipoib.Ref{{PortGUID: old.GUID, PKey: key}}, old.Bond
}

func neighbours(all []planned.Neighbour) []judge.Neighbour {
	out := make([]judge.Neighbour, len(all))
	for i, n := range all {
		out[i] = judge.Neighbour{Name: n.Port.String(), Address: n.Address}
	}
	return out
}
