package linktype

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	smfound "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const notKnownYet = "the card or a port's type comes from something that does not exist yet"

// ModifyPlan gives the verdict on the types. It takes into account firmware that this
// plan burns before: that may be what makes InfiniBand possible.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		warnForgotten(&resp.Diagnostics, state.CardID.ValueString())
		return
	}
	plan, config, state, exists := planned.Models[model](ctx, req, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() && r.Data != nil {
		r.plan(ctx, plan, config, state, exists, req, resp)
	}
}

func (r *Resource) plan(ctx context.Context, plan, config, state model, exists bool,
	req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	config.CardIdentity = r.Prior(ctx, state.CardID, plan.CardID, state.CardIdentity)
	a := r.assessClaimed(ctx, config, req, &resp.Diagnostics)
	if a == nil || session.LeftAlone(a.at, req, resp) {
		return
	}
	held := exists && state.holds(config)
	if held && a.keeps(state, config) {
		a.warnUnanswered(&resp.Diagnostics)
		planned.Steady{Held: true}.Plan(ctx, req, resp, &plan)
		return
	}
	if !r.assess(ctx, a, &resp.Diagnostics) {
		return
	}
	if r.noteTypes(a); r.refuseUsers(ctx, a, &resp.Diagnostics) {
		return
	}
	plan.CardIdentity = a.at.Identity
	plan.plan(a.at.Ref)
	plan.foresee(a, state, exists && attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID))
	planned.Steady{Held: held, ToDo: a.open(state), Live: live(held)}.Plan(ctx, req, resp, &plan)
	a.announce(held || plan.Restarts.IsUnknown(), &resp.Diagnostics)
}

// warnUnanswered says why the state keeps what it has, if mstconfig did not answer.
func (a *assessment) warnUnanswered(diags *diag.Diagnostics) {
	if a.now.Unanswered != "" {
		warnUnanswered(diags, a.at.Ref, a.now.State)
	}
}

// noteTypes tells the resources that are planned after this one.
func (r *Resource) noteTypes(a *assessment) {
	r.Planned.UpdateCard(a.at.Ref, func(c *planned.Card) {
		if a.waits() {
			c.AtRestart = a.ask.Request.Ports
		} else if a.Verdict.Action != safety.ActionNone {
			c.LinkTypes = a.ask.Request.Ports
		}
	})
}

// refuseUsers refuses a port that becomes Ethernet under a resource that was planned before. One
// that is planned after finds this itself: core plans in any order what does not depend on each
// other, as resources do that name a port by a literal.
func (r *Resource) refuseUsers(ctx context.Context, a *assessment, diags *diag.Diagnostics) (refused bool) {
	if a.waits() {
		return false
	}
	for _, port := range a.at.Card.Ports {
		becomes := a.ask.Request.Ports[port.Number] == ib.LinkTypeETH && a.now.Ports[port.Number].Effective != ib.LinkTypeETH
		if !becomes || port.PortGUID == 0 {
			continue
		}
		refuse := func(what string) {
			f := finding.PortEthernet.Find("This plan makes port %s of %s Ethernet.", port.PortGUID, a.at.Ref.Host).At("ports")
			refused = diagnostic.AddFindings(ctx, diags, what, []finding.Finding{f}) || refused
		}
		sm := attribute.PortRef{Host: a.at.Ref.Host, GUID: port.PortGUID}
		if r.Planned.SM(sm) {
			refuse("run subnet manager " + sm.String())
		}
		for _, at := range r.Planned.IPoIBOn(sm.Host, sm.GUID) {
			refuse("configure IPoIB interface " + at.String())
		}
		if r.Planned.Claimed("infiniband_port", r.NumberedPortKey(a.at.Ref, port.Number)) {
			refuse(fmt.Sprintf("set port %s/%d", a.at.Ref, port.Number))
		}
	}
	return refused
}

// waits reports whether the ports keep their types until somebody restarts the host.
func (a *assessment) waits() bool {
	for _, p := range a.now.Ports {
		if p.InCard {
			return a.Verdict.Activation != safety.ActivationReboot
		}
	}
	return false
}

// announce says whether the host will be restarted; open: where no attribute of the plan does.
func (a *assessment) announce(open bool, diags *diag.Diagnostics) {
	if !open || a.Verdict.Activation != safety.ActivationReboot {
		return
	}
	for number, want := range a.ask.Request.Ports {
		if a.now.Ports[number].Persistent != want {
			session.WarnRestart(diags, a.at.Ref,
				"The apply stores the link types in the card. Then it restarts the host, so that the ports change.")
			return
		}
	}
	session.WarnRestart(diags, a.at.Ref,
		"The card has the link types stored, and its ports do not have them yet. Nothing is stored anew.")
}

// live are the attributes that the host decides: of an update that the state does not ask for
// also what it does.
func live(held bool) []string {
	all := []string{"stored_in", "effective", "next_boot", "by_place", "reboot_required"}
	if held {
		all = append(all, "change", "restarts", "drains")
	}
	return all
}

// assessClaimed looks at a card that no other resource has, with what is asked of it.
func (r *Resource) assessClaimed(ctx context.Context, config model, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) *assessment {
	if !r.ClaimCard(ctx, "plan link types of card", config.CardID, req, diags) {
		return nil
	}
	at, ask := r.ask(ctx, config, diags)
	if at == nil {
		return nil
	}
	now, err := ops.Read(ctx, at.HCA)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), "plan link types of card "+at.Ref.String(), err)
		return nil
	}
	return &assessment{at: at, now: now, ask: ask}
}

// holds reports whether the state is of the configured card and has every port
// that the configuration names as it names it; after an import it has all of them. Where
// the next boot would give a port another type, the state does not hold it: another card's
// resource of the same apply may store the types of both, see planned.NoteToDo.
func (m *model) holds(config model) bool {
	for key, want := range config.Ports.Elements() {
		if have, ok := m.Ports.Elements()[key]; !ok || !have.Equal(want) {
			return false
		}
		if next, ok := m.NextBoot.Elements()[key]; !ok || !next.Equal(want) {
			return false
		}
	}
	waits := m.RebootRequired.ValueBool() && attribute.ActivationOf(config.Activation) == attribute.ActivationReboot
	return attribute.SameCardThere(m.CardID, m.CardIdentity, config.CardID) && !waits
}

// assessment is the verdict with what it is about.
type assessment struct {
	cards.Assessment
	at  *session.CardAt
	now ops.Look
	ask ops.Ask
}

// open reports whether an update is planned of a state that holds what is asked for.
func (a *assessment) open(state model) bool {
	return a.Verdict.Action != safety.ActionNone || a.ClosesJobs() || a.sawOther(state)
}

// sawOther reports whether the refresh of a state saw another type in effect than is asked for:
// the update that its plan announced reads the card back, also if the port has the type by now.
// planned.NoteToDo says why; here the state itself is the note. A card that decides by its own
// configuration shows another type until the next restart.
func (a *assessment) sawOther(state model) bool {
	for number, want := range a.ask.Request.Ports {
		saw, _ := state.Effective.Elements()[strconv.Itoa(number)].(types.String)
		other := want == ib.LinkTypeIB && saw.ValueString() == ib.LinkTypeETH.String() ||
			want == ib.LinkTypeETH && saw.ValueString() == ib.LinkTypeIB.String()
		if other && !a.now.Ports[number].InCard {
			return true
		}
	}
	return false
}

// keeps reports whether only the silence of mstconfig, or a driver that is not there, stands
// between the card and a state that holds: then, as far as is known, nothing is to be written.
func (a *assessment) keeps(state, config model) bool {
	sameRestart := attribute.ActivationOf(state.Activation) == attribute.ActivationOf(config.Activation)
	gone := false
	for number, want := range a.ask.Request.Ports {
		switch p := a.now.Ports[number]; {
		case p.Shown == "" && (!p.InCard || sameRestart && state.had(number, want)):
			gone = true
		case !p.InCard && p.Configured != want:
			return false
		}
	}
	// Types that other firmware has are set after its burn.
	return a.now.Unanswered != "" || gone && a.ask.PlannedPSID == ""
}

// had reports whether a port had a type in effect when something showed it.
func (m *model) had(number int, t ib.LinkType) bool {
	was, _ := m.Effective.Elements()[strconv.Itoa(number)].(types.String)
	return was.ValueString() == t.String()
}

// warnUnanswered says why the state keeps what it has of a card's configuration.
func warnUnanswered(diags *diag.Diagnostics, ref attribute.CardRef, now ops.State) {
	diags.AddWarning("Card "+ref.String()+": its stored link types could not be read",
		"mstconfig did not say what the card's configuration has. The state keeps what was read of it last: stored_in, "+
			"next_boot and reboot_required. "+
			"What the ports are now was read from the driver.\n\nPlan again: a busy card may answer next time.\n\nReason: "+
			now.Unanswered)
}

// warnUnshown says of which ports the state keeps the type in effect.
func warnUnshown(diags *diag.Diagnostics, ref attribute.CardRef, ports []int) {
	if len(ports) == 0 {
		return
	}
	said := make([]string, len(ports))
	for i, number := range ports {
		said[i] = fmt.Sprintf("Port %d", number)
	}
	diags.AddWarning("Card "+ref.String()+": its ports show no link types",
		strings.Join(said, ", ")+": the driver shows no type. The state keeps in effective what was read of it last, "+
			"if anything was.\n\n"+finding.PortTypesNotShown.WayOut)
}

// ask gathers what is asked of the card; no card if that is not known yet or wrong,
// with the reason in diags.
func (r *Resource) ask(ctx context.Context, config model, diags *diag.Diagnostics) (*session.CardAt, ops.Ask) {
	ref, ok := r.AskedCard(ctx, "link types", config.CardID, config.known(), notKnownYet, diags)
	if !ok {
		return nil, ops.Ask{}
	}
	what := "plan link types of card " + ref.String()
	request, err := config.request()
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("ports"), what, err)
		return nil, ops.Ask{}
	}
	at := r.RecordedCard(ctx, config.CardID, config.CardIdentity, what, diags)
	if at == nil {
		return nil, ops.Ask{}
	}
	return at, ops.Ask{Card: at.HCA, Request: request, PlannedPSID: r.Planned.Card(ref).PSID, Uses: uses}
}

// uses names what does not live on an Ethernet port.
func uses(s *inventory.Snapshot, port ib.GUID) []string {
	return slices.Concat(found.Uses(s, port), smfound.Of(s, port).Users())
}

// assess gives the verdict and reports it; false if nothing may be planned.
func (r *Resource) assess(ctx context.Context, a *assessment, diags *diag.Diagnostics) bool {
	var err error
	a.Assessment, err = ops.Assess(ctx, r.Cards.Session, a.ask, a.now)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), "plan link types of card "+a.at.Ref.String(), err)
		return false
	}
	session.AddJobs(diags, a.at.Ref, a.Jobs)
	return !diagnostic.AddFindings(ctx, diags, "set link types of card "+a.at.Ref.String(),
		diagnostic.WithoutJobs(a.Verdict.Findings))
}

func warnForgotten(diags *diag.Diagnostics, card string) {
	diagnostic.AddForgotten(diags, "link types of card", card,
		"The ports keep their link types, now and after a restart. The stored setting stays on the host or in the card.")
}

// foresee fills in what the plan says of the change. Core plans a new resource once more before
// the create and wants the same: so it stops if the ports have changed. An update follows from
// the state.
func (m *model) foresee(a *assessment, prior model, exists bool) {
	m.Change, m.Restart = types.StringUnknown(), attribute.UnknownRestart()
	if a.Verdict.Action == safety.ActionWait || a.ClosesJobs() {
		return
	}
	inCard, stores := a.inCard()
	if a.Verdict.Activation != safety.ActivationReboot || !inCard {
		m.Restart = attribute.NoRestart() // a driver switches the ports itself
	} else if stores {
		m.Restart = a.at.Restart()
	}
	switch {
	case exists:
		m.Change = attribute.OrNull(m.changed(prior))
		if m.Change.IsNull() {
			m.Change = types.StringUnknown()
		}
	case a.ask.PlannedPSID == "" && a.steady():
		m.Change = a.change()
	}
}

// inCard reports whether the ports decide by the card's own configuration, and whether that is to
// be written.
func (a *assessment) inCard() (yes, stores bool) {
	for number, want := range a.ask.Request.Ports {
		p := a.now.Ports[number]
		yes, stores = yes || p.InCard, stores || p.InCard && p.Persistent != want
	}
	return yes, stores
}

// steady reports whether other resources of the plan leave the ports as they are. One may restart
// the host first, and that of another card may store what holds for all cards of a driver.
func (a *assessment) steady() bool {
	inCard := false
	for number := range a.ask.Request.Ports {
		p := a.now.Ports[number]
		if p.Shown == "" || p.Persistent != "" && p.Persistent != p.Configured {
			return false
		}
		inCard = inCard || p.InCard
	}
	return inCard || a.Verdict.Action == safety.ActionNone || len(a.at.Snap.Cards) == 1
}

// change is what becomes of the ports; null if nothing is to be done.
func (a *assessment) change() types.String {
	if a.Verdict.Action == safety.ActionNone {
		return types.StringNull()
	}
	return types.StringValue(cmp.Or(changeText(a.now.State, a.ask.Request.Ports), storedAnew))
}
