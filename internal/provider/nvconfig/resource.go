// Package nvconfig is the resource infiniband_nv_config: settings in the non-volatile configuration of a card.
//
// It must not run commands or decide about safety; internal/hca/nvconfig and internal/safety do.
package nvconfig

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
)

const standardTimeout = 20 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_nv_config", Thing: "settings of card", Change: "set", Remove: "give back",
	Removed: "kept values of card", HostIn: "card_id", By: session.CardNamed("card_id"), Timeout: standardTimeout,
	Live: []string{"default", "current", "next_boot", "reboot_required", "change", "restarts", "drains"},
	Kept: []string{"on_destroy"},
}

type step = managed.Step[model, ops.Request, ops.Look]

// object is what only the settings of cards do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ops.Request, ops.Look, seen] {
		return object{r}
	})
}

func (o object) Request(_ context.Context, m, config *model) (ops.Request, error) {
	return m.request(config.Allow)
}

func (o object) Card(m *model) (attribute.CardID, *types.String) { return m.CardID, &m.CardIdentity }

// Turn is the card: cards are written one after the other over all hosts, because a restart may follow.
func (o object) Turn(q ops.Request) attribute.CardRef { return cardOf(q) }

func (o object) Place(q ops.Request) managed.Place {
	return managed.Place{Host: q.Host, ID: cardOf(q).String()}
}

func (o object) Key(q ops.Request) string { return o.CardKey(cardOf(q)) }

func (o object) Ready(ctx context.Context, s *step) bool {
	_, ok := o.AskedCard(ctx, "settings", s.Plan.CardID,
		attribute.Known(s.Plan.CardID, s.Plan.Settings, s.Plan.Activation, s.Config.Allow),
		"the card or a value comes from something that does not exist yet", s.Diags)
	return ok
}

func (o object) Find(s *inventory.Snapshot, q *ops.Request) ops.Look { return ops.Find(s, q.Card) }

// Look asks the card itself: the collection does not have its settings.
func (o object) Look(ctx context.Context, h *hosts.Host, q ops.Request, found ops.Look) (ops.Look, error) {
	return ops.Ask(ctx, h, q.Card, found)
}

func (o object) Presence(_ ops.Request, l ops.Look, _ *diag.Diagnostics) session.Presence {
	if !l.Present() {
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(q ops.Request, l ops.Look) []string { return l.Differences(q) }

func (o object) ToDo(q ops.Request, l ops.Look, _ bool) bool {
	return len(l.Differences(q)) > 0 || q.Activation == safety.ActivationReboot && l.Restarts(q)
}

// Plan keeps what the state has while only the silence of the card stands between the two.
func (o object) Plan(_ context.Context, s *step) (held bool) {
	s.Plan.ID = types.StringValue(cardOf(s.Ask).String())
	held = s.State.holds(s.Plan)
	s.Keeps = held && s.Exists && !s.Found.Rows.Known()
	return held
}

func (o object) Check(ctx context.Context, s *step) []finding.Finding {
	at := o.at(ctx, s)
	if at == nil {
		return nil
	}
	a, err := ops.Assess(ctx, o.Cards.Session, at.HCA, s.Ask, s.Found)
	if err != nil {
		diagnostic.AddError(s.Diags, kind.Change+" "+kind.Thing+" "+at.Ref.String(), err)
		return nil
	}
	o.AddJobs(s.Diags, at.Ref, a.Jobs)
	if a.Verdict.Activation == safety.ActivationReboot {
		o.Planned.UpdateCard(at.Ref, func(c *planned.Card) { c.Restarts = true })
	} else if a.Verdict.Action == safety.ActionSettings && s.Found.Restarts(s.Ask) {
		o.Planned.Await(at.Ref, hca.WaitsSettings)
	}
	var card planned.Card
	o.Planned.UpdateCard(at.Ref, func(c *planned.Card) {
		c.Offers = s.Ask.Functions()
		card = *c
	})
	found := diagnostic.WithoutJobs(a.Verdict.Findings)
	for _, f := range sriov.CheckOffer(at.Ref.String(), card.Offers, card.Functions) {
		found = append(found, f.At("settings"))
	}
	return found
}

// at is the card that the plan records.
func (o object) at(ctx context.Context, s *step) *session.CardAt {
	return o.RecordedCard(ctx, s.Plan.CardID, s.Plan.CardIdentity, kind.Change+" "+kind.Thing+" "+cardOf(s.Ask).String(),
		s.Diags)
}

// Foresee says what an update does from what the state has; of new settings from what the card had when
// the walk began.
func (o object) Foresee(ctx context.Context, s *step, first ops.Look, _ seen) {
	was, look, waits := textsOf(s.State.Settings), s.State.look(), s.State.RebootRequired.ValueBool()
	if !s.Exists {
		look, _ = ops.Ask(ctx, s.Host, s.Ask.Card, first) // without an answer the plan was refused
		was = firstValues(look, s.Ask.Settings)
	}
	text := changeText(was, s.Ask.Settings)
	s.Plan.Restart = o.foreseenRestart(ctx, s, look, text, waits)
	switch {
	case text == "" && !s.Exists:
		s.Plan.Change = types.StringNull()
	case text == "" && waits && s.Plan.Announced():
		s.Plan.Change = attribute.PlannedChange("no setting; the restart of "+s.Ask.Host+" is still due", s.State.Change)
	default:
		s.Plan.Change = attribute.PlannedChange(text, s.State.Change)
	}
}

// foreseenRestart is the restart that a change makes. Where another resource may restart the host first, it
// is left open.
func (o object) foreseenRestart(ctx context.Context, s *step, look ops.Look, text string,
	waits bool) attribute.Restart {
	needed := look.Restarts(s.Ask)
	if s.Ask.Activation != safety.ActivationReboot || text == "" && !needed && !waits {
		return attribute.NoRestart()
	}
	at := o.at(ctx, s)
	switch {
	case at != nil && text != "" && needed:
		return at.Restart()
	case at != nil && text == "" && waits:
		at.WarnRestart(s.Diags, "The card has the settings stored, and they wait for the restart. Nothing is stored anew.")
	}
	return attribute.UnknownRestart()
}

func (o object) Remember(m *model, q ops.Request, l ops.Look, before seen) (seen, bool) {
	if !l.Rows.Known() {
		return before, false
	}
	if before.Asked == nil && !m.Settings.IsNull() {
		before.Asked = q.Settings
	}
	names := make([]string, 0, len(q.Settings))
	for name := range q.Settings {
		names = append(names, name)
	}
	before.Seen = ops.SeenOf(l, names)
	return before, true
}

func (o object) Since(s *step, before seen) []finding.Finding {
	return ops.CheckSeen(s.Ask, s.Found, before.Seen)
}

func (o object) Apply(ctx context.Context, s *step) (r ops.Result, stays string, err error) {
	at := o.at(ctx, s)
	if at == nil {
		return r, "", errors.New("the card could not be looked at")
	}
	r, err = ops.Apply(ctx, o.Cards.Session, at.HCA, s.Ask)
	s.Plan.Restart = o.Restarted(ctx, s.Plan.Restart, at)
	if err == nil {
		waits, _ := r.Look.AwaitsRestart(s.Ask)
		r.Look.Left = waits && s.Plan.RebootRequired.IsUnknown() &&
			s.Plan.Activation.ValueString() == attribute.ActivationHost
		o.Planned.DoneCard(at.Ref)
	}
	if r.Changed {
		stays = "What was set in the card"
	}
	return r, stays, err
}

// Fill keeps what was read last while the card does not answer.
func (o object) Fill(_ context.Context, m *model, q ops.Request, l ops.Look, kept seen) (diags diag.Diagnostics) {
	if !l.Rows.Known() {
		diags.AddWarning("Card "+cardOf(q).String()+": its settings could not be read",
			"mstconfig did not say what the card has. The state keeps what was read of it last.\n\nPlan again: a busy card "+
				"may answer next time.\n\nReason: "+l.Rows.Why())
		return diags
	}
	m.observe(q, l, kept.Asked)
	return diags
}

func (o object) Import(_ context.Context, text string, _ *diag.Diagnostics) (map[string]any, error) {
	ref, err := attribute.ParseCardRef(text)
	return map[string]any{"id": ref.String(), "card_id": attribute.NewText[attribute.CardIDKind](text)}, err
}
