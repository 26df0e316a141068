package activation

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	hcaactivation "github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// ModifyPlan says whether the host is restarted, and for what.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if req.Plan.Raw.IsNull() {
		var state model
		diags.Append(req.State.Get(ctx, &state)...)
		warnForgotten(diags, state.Host.ValueString())
		managed.WarnOwed(ctx, &r.Resource, state.Host.ValueString(), diags)
		return
	}
	plan, config, state, exists := planned.Models[model](ctx, req, diags)
	if diags.HasError() || r.Data == nil {
		return
	}
	if !attribute.Known(config.Host, config.Allow) || !r.HostReady(config.Host) {
		diagnostic.AddPostponed(diags, "a restart for cards",
			"the host or a consent comes from something that does not exist yet")
		return
	}
	host := config.Host.ValueString()
	what := "restart host " + host
	_, _, snap, err := r.Look(ctx, host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), what, err)
		return
	}
	r.Planned.AddOwed(ctx, host, snap, diags)
	if !r.Claim(ctx, what, planned.Claim{Key: r.HostKey(host), Name: host}, req, diags) {
		return
	}
	f := r.foresee(ctx, host, what, resp)
	if plan.Activation.ValueString() == least {
		f.way = r.way(ctx, f, what, diags)
	}
	if diags.HasError() || !r.check(ctx, f, config.consent(), what, resp) {
		return
	}
	plan.ID = config.Host
	plan.fill(f, exists)
	planned.Steady{Held: exists, ToDo: f.waits(), Live: []string{"way", "change", "restarts", "drains", "running"},
		Foreseen: true, Kept: []string{"activation"}}.Plan(ctx, req, resp, &plan)
	if f.waits() {
		plan.warnHidden(&state, f, diags)
	}
}

// warnHidden says what an engine does not show: a state that was not refreshed since keeps what the last change was,
// and what is equal is hidden.
func (m *model) warnHidden(state *model, f foreseen, diags *diag.Diagnostics) {
	host := m.Host.ValueString()
	switch {
	case f.open:
		diags.AddWarning("The apply may restart host "+host+" for its cards", "What waits in them is not known yet: a job "+
			"of an earlier apply is not closed, or a value of a resource is known after the apply only. The apply "+
			"activates what waits then.")
	case m.resets() && m.Way.Equal(state.Way):
		diags.AddWarning("The apply resets cards of host "+host, "It "+f.text+": "+f.way+".")
	case !m.resets() && !m.ShownAfter(state.Restart):
		diags.AddWarning("The apply restarts host "+host+" for its cards", "The restart "+f.text+".")
	}
}

// way says how what waits is activated most gently: by resets if each card that waits can be reset, else by the
// restart, which is then one for all.
func (r *Resource) way(ctx context.Context, f foreseen, what string, diags *diag.Diagnostics) string {
	if diags.HasError() {
		return ""
	}
	var idle []cards.Card
	for _, at := range f.cards {
		if !slices.Contains(f.due, at) {
			idle = append(idle, at.HCA)
		}
	}
	if len(idle) > 0 {
		err := hcaactivation.Stranded(ctx, f.cards[0].Host, idle)
		if diagnostic.AddErrorAt(diags, path.Root("host"), what, err); err != nil {
			return ""
		}
	}
	var reset []string
	for _, at := range f.due {
		card := r.Planned.Card(at.Ref)
		why, err := r.Cards.AgainstReset(ctx, at.HCA, card.Firmware, card.GUIDs, f.what[at])
		if diagnostic.AddErrorAt(diags, path.Root("host"), what, err); err != nil {
			return ""
		}
		if why != "" {
			return wayRestart + at.Ref.PCI.String() + ": " + why
		}
		reset = append(reset, at.Ref.PCI.String())
	}
	if len(reset) == 0 {
		return ""
	}
	return wayReset + strings.Join(reset, ", ")
}

// foreseen is what waits in the cards of a host for a restart.
type foreseen struct {
	cards   []*session.CardAt // all that load their flash then
	due     []*session.CardAt // those that wait
	what    map[*session.CardAt][]string
	text    string
	way     string // with activation = "least"; empty if nothing waits
	planned bool   // this walk writes some of it
	only    bool   // all of it
	open    bool   // more may wait then
}

// foresee gathers what the resources that were planned before write, and what earlier applies have
// left. Core plans once more in the apply, when the cards are written: so what was left is that of
// the first look of this process, and both plans say the same.
func (r *Resource) foresee(ctx context.Context, host, what string, resp *resource.ModifyPlanResponse) (f foreseen) {
	h, _, snap, err := r.Look(ctx, host)
	if err != nil {
		return f
	}
	first := h.First()
	if first == nil {
		first = snap
	}
	f.only, f.what = true, map[*session.CardAt][]string{}
	f.cards = cardsOf(ctx, r.Data, host, what, snap, &resp.Diagnostics)
	f.text = changeText(f.cards, func(at *session.CardAt) []string {
		all := r.Planned.Awaited(at.Ref)
		f.planned = f.planned || len(all) > 0
		f.open = f.open || r.Planned.IsOpen(at.Ref) || runs(at.Pending)
		for _, one := range r.left(ctx, at, first, &resp.Diagnostics) {
			if !slices.Contains(all, one) {
				all, f.only = append(all, one), false
			}
		}
		if len(all) > 0 {
			f.due, f.what[at] = append(f.due, at), all
		}
		return all
	})
	return f
}

// left is what earlier applies have left in a card. Where the first look met a job that was not closed, the plan was
// open, too, and what the card has now counts.
func (r *Resource) left(ctx context.Context, at *session.CardAt, first *inventory.Snapshot,
	diags *diag.Diagnostics) []string {
	now := r.waits(ctx, at, diags)
	was := at.Before(first)
	if was == at.Look || journal.AnyCloses(was.Pending) {
		return now
	}
	stored := slices.DeleteFunc(now, func(s string) bool { return s != hca.WaitsLinkTypes && s != hca.WaitsSettings })
	return append(stored, hca.Written(was)...)
}

// waits reports whether anything does, or may.
func (f foreseen) waits() bool { return f.text != "" || f.open }

// runs reports whether a job of a card runs, or is not proven to have ended.
func runs(jobs []journal.Report) bool {
	return slices.ContainsFunc(jobs, func(j journal.Report) bool { return j.Running })
}

func (f foreseen) resets() bool { return strings.HasPrefix(f.way, wayReset) }

// ofWay is a finding on the restart as one on the way that is taken: a reset needs no leave to restart the host.
func (f foreseen) ofWay(one finding.Finding) (finding.Finding, bool) {
	if why, restarts := strings.CutPrefix(f.way, wayRestart); restarts && one.Rule == finding.RebootNotAllowed {
		one.Evidence += ". A reset does not do: " + why
	}
	return one, one.Rule != finding.RebootNotAllowed || !f.resets()
}

// check gives the verdicts on the restart for each card that waits, and tells the resources that
// are planned after this one. It gives false if the host may not be restarted.
func (r *Resource) check(ctx context.Context, f foreseen, consent []string, what string,
	resp *resource.ModifyPlanResponse) bool {
	diags := &resp.Diagnostics
	found, err := verdicts(ctx, r.Data, f.due, consent, f.ofWay)
	if diagnostic.AddErrorAt(diags, path.Root("host"), what, err); err != nil {
		return false
	}
	if diagnostic.AddPlanned(ctx, diags, what, found) {
		return false
	}
	r.tell(f)
	return true
}

// verdicts gives the findings on a restart of the host for each of some cards, each once. as says
// how one is shown, and whether it counts.
func verdicts(ctx context.Context, d *session.Data, all []*session.CardAt, consent []string,
	as func(finding.Finding) (finding.Finding, bool)) (found []finding.Finding, err error) {
	for _, at := range all {
		a := d.Cards.Assess(at.HCA, at.Look)
		err = d.Cards.Judge(ctx, at.Host, &a, func(card safety.CardFacts) safety.Verdict {
			return safety.HostRestart(card, a.Host, consent)
		})
		if err != nil {
			return nil, err
		}
		for _, one := range a.Verdict.Findings {
			if one.Attribute == "activation" {
				one = one.At("host")
			}
			shown, counts := as(one)
			same := func(other finding.Finding) bool { return other.Rule == shown.Rule && other.Evidence == shown.Evidence }
			if counts && !slices.ContainsFunc(found, same) {
				found = append(found, shown)
			}
		}
	}
	return found, nil
}

// tell notes for the resources that are planned after this one which cards start anew, or may.
func (r *Resource) tell(f foreseen) {
	started := f.cards
	if !f.open && (len(f.due) == 0 || f.resets()) {
		started = f.due
	}
	for _, at := range started {
		r.Planned.UpdateCard(at.Ref, func(c *planned.Card) { c.Restart(waiting(at)) })
	}
}

// waiting is what an earlier apply has left in the flash of a card: no resource of this walk says
// that the card will have it.
func waiting(at *session.CardAt) (firmware ib.Firmware, guids *ib.GUIDSet) {
	flash, left := at.Card.InFlash(), hca.Written(at.Look)
	if slices.Contains(left, hca.WaitsFirmware) {
		firmware = flash.Firmware
	}
	if slices.Contains(left, hca.WaitsGUIDs) {
		guids = &flash.GUIDs
	}
	return firmware, guids
}

// fill says what is known of the restart. What this walk writes follows from the plan. What an
// earlier apply has left may be gone by the apply of an update, because somebody restarts the host.
func (m *model) fill(f foreseen, exists bool) {
	m.Restart, m.Change, m.Running = attribute.UnknownRestart(), types.StringUnknown(), types.MapUnknown(runningType)
	m.Way = attribute.OrNull(f.way)
	switch {
	case f.open:
		if m.Activation.ValueString() == least {
			m.Way = types.StringUnknown()
		}
		return
	case f.text == "" && !exists:
		m.Restart, m.Change = attribute.NoRestart(), types.StringNull()
	case f.planned || f.text != "" && !exists:
		m.Restart = f.due[0].Restart()
		if f.only || !exists {
			m.Change = types.StringValue(f.text)
		}
	}
	if f.resets() {
		m.Restarts = types.StringNull()
	}
}
