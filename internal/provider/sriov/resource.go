// Package sriov is the resource infiniband_virtual_functions: the number of virtual functions of one card.
//
// It must not run commands; the operations of internal/sriov do.
package sriov

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
)

const standardTimeout = 10 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_virtual_functions", Thing: "virtual functions of card", Change: "set", Remove: "forget",
	Removed: "unit of the virtual functions of card", HostIn: "card_id",
	By: session.Name{
		Parts: session.PlaceParts[:2:2], From: []string{"id"},
		Canonical: func(text string) (string, error) {
			ref, err := attribute.ParseCardRef(text)
			return ref.String(), err
		},
	},
	Timeout: standardTimeout, Live: []string{"most", "functions", "change"}, BySlot: true,
}

type step = managed.Step[model, ops.Request, ops.Look]

// object is what only virtual functions do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ops.Request, ops.Look, ops.Seen] {
		return object{r}
	})
}

func (o object) Request(_ context.Context, m, config *model) (ops.Request, error) {
	return m.request(config.Allow)
}

func (o object) Card(m *model) (attribute.CardID, *types.String) { return m.CardID, &m.CardIdentity }

func (o object) Place(q ops.Request) managed.Place {
	return managed.Place{Host: q.Host, ID: cardOf(q).String()}
}

func (o object) Key(q ops.Request) string { return o.FunctionKey(cardOf(q)) }

func (o object) Ready(_ context.Context, s *step) bool {
	known := attribute.Known(s.Plan.CardID, s.Plan.Number, s.Config.Allow)
	if !known {
		diagnostic.AddPostponed(s.Diags, "virtual functions",
			"the card or their number comes from something that does not exist yet")
	}
	return known
}

func (o object) Find(s *inventory.Snapshot, q *ops.Request) ops.Look { return ops.Find(s, q.Card) }

func (o object) Presence(_ ops.Request, l ops.Look, _ *diag.Diagnostics) session.Presence {
	if len(l.Functions) == 0 && !l.Stored {
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(q ops.Request, l ops.Look) []string { return l.Differences(q) }

func (o object) ToDo(q ops.Request, l ops.Look, _ bool) bool { return len(l.Differences(q)) > 0 }

func (o object) Plan(_ context.Context, s *step) (held bool) {
	s.Plan.plan(s.Ask)
	return s.State.holds(s.Plan)
}

// Foresee leaves open how many functions a card offers after a restart that comes before.
func (o object) Foresee(_ context.Context, s *step, first ops.Look, _ ops.Seen) {
	same := s.Exists && s.State.CardID.Equal(s.Plan.CardID)
	if same && s.State.Number.Equal(s.Plan.Number) {
		s.Plan.Most, s.Plan.Functions = s.State.Most, s.State.Functions // only the unit is made anew
	}
	if same {
		s.Plan.Change = attribute.PlannedChange(s.Ask.Announce(int(s.State.Number.ValueInt64())), s.State.Change)
	}
	if !s.Exists && first.Card {
		s.Plan.Change = types.StringValue(s.Ask.Announce(len(first.Functions)))
		if first.Most == s.Found.Most && !o.Planned.Card(cardOf(s.Ask)).Restarts {
			s.Plan.Most = types.Int64Value(int64(first.Most))
		}
	}
}

func (o object) Check(_ context.Context, s *step) []finding.Finding {
	var card planned.Card
	o.Planned.UpdateCard(cardOf(s.Ask), func(c *planned.Card) {
		c.Functions = s.Ask.Number
		card = *c
	})
	return append(ops.Check(s.Found, s.Ask, s.Planning && card.Restarts),
		ops.CheckOffer(s.Ask.Name(), card.Offers, card.Functions)...)
}

func (o object) Remember(_ *model, _ ops.Request, l ops.Look, _ ops.Seen) (ops.Seen, bool) {
	return l.Seen(), true
}

func (o object) Since(s *step, before ops.Seen) []finding.Finding {
	return ops.CheckSeen(s.Found, s.Ask, before)
}

func (o object) Apply(ctx context.Context, s *step) (r ops.Result, stays string, err error) {
	r, err = ops.Apply(ctx, s.Host, s.Found, s.Ask)
	if r.Changed {
		stays = "The unit " + ops.UnitName(s.Ask.Card) + ", which makes the functions at boot,"
	}
	return r, stays, err
}

func (o object) Fill(_ context.Context, m *model, q ops.Request, l ops.Look, _ ops.Seen) diag.Diagnostics {
	m.observe(q, l)
	return nil
}

func (o object) WarnRemoval(_ context.Context, m *model, diags *diag.Diagnostics) {
	diagnostic.AddForgotten(diags, "virtual functions of card", m.ID.ValueString(),
		"The functions stay until the host restarts. The unit that makes them at boot is removed.")
}

func (o object) Ours(_ ops.Request, l ops.Look) bool { return l.Stored }

// CheckRemoval has nothing against a destroy: it takes no function from anybody.
func (o object) CheckRemoval(ops.Request, ops.Look) []finding.Finding { return nil }

// SinceRemoval keeps a unit that somebody has written into, as Remove says.
func (o object) SinceRemoval(ops.Request, ops.Look, *ops.Seen) []finding.Finding { return nil }

func (o object) Remove(ctx context.Context, h *hosts.Host, q ops.Request, l ops.Look,
	_ *model) (title string, notes []string, err error) {
	r, err := ops.Remove(ctx, h, l, q)
	return "Virtual functions of card", append(r.Warnings, r.Left...), err
}

func (o object) Import(_ context.Context, text string, _ *diag.Diagnostics) (map[string]any, error) {
	ref, err := attribute.ParseCardRef(text)
	return map[string]any{"id": ref.String(), "card_id": ref.String()}, err
}
