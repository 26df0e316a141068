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
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
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
	Timeout: standardTimeout, Live: []string{"most", "functions", "change", "ports"}, BySlot: true,
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
	known := attribute.Known(s.Plan.CardID, s.Plan.Number, s.Config.Allow, s.Plan.LinkState) &&
		attribute.Known(s.Plan.NodeGUIDs, s.Plan.PortGUIDs)
	if !known {
		diagnostic.AddPostponed(s.Diags, "virtual functions",
			"the card, their number or their GUIDs come from something that does not exist yet")
	}
	return known
}

func (o object) Find(s *inventory.Snapshot, q *ops.Request) ops.Look { return ops.Find(s, q) }

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

// Foresee leaves open how many functions a card offers after a restart that comes before, and which GUIDs follow from
// new ones of the card.
func (o object) Foresee(_ context.Context, s *step, first ops.Look, kept ops.Seen) {
	guid := kept.GUID
	same := s.Exists && s.State.CardID.Equal(s.Plan.CardID)
	card := o.Planned.Card(cardOf(s.Ask))
	if same && s.State.Number.Equal(s.Plan.Number) {
		// They stay, and at most get other ports.
		s.Plan.Most, s.Plan.Functions, s.Plan.Ports = s.State.Most, s.State.Functions, s.State.Ports
	}
	if same {
		s.Plan.Change = attribute.PlannedChange(s.Ask.Announce(int(s.State.Number.ValueInt64())), s.State.Change)
	}
	if !s.Exists && first.Card {
		s.Plan.Change, guid = types.StringValue(s.Ask.Announce(len(first.Functions))), first.GUID
		if first.Most == s.Found.Most && !card.Restarts {
			s.Plan.Most = types.Int64Value(int64(first.Most))
		}
	}
	if same || !s.Exists {
		foreseePorts(s, guid, card.GUIDs != nil)
	}
}

// foreseePorts leaves the ports open if the node GUID of the card is not known, or changes.
func foreseePorts(s *step, card ib.GUID, changes bool) {
	switch {
	case s.Ask.LinkState == "":
	case card == 0 || changes:
		s.Plan.Ports = types.MapUnknown(portType)
	default:
		s.Ask.Complete(card)
		s.Plan.Ports = plannedPorts(s.Ask)
	}
}

func (o object) Check(ctx context.Context, s *step) []finding.Finding {
	ref := cardOf(s.Ask)
	var card planned.Card
	o.Planned.UpdateCard(ref, func(c *planned.Card) {
		c.Functions = s.Ask.Number
		card = *c
	})
	all := ops.CheckOffer(s.Ask.Name(), card.Offers, card.Functions) // else what the card offers now
	all = append(all, ops.Check(s.Found, s.Ask, s.Planning && card.Restarts || len(all) > 0)...)
	if len(safety.Blockers(all)) > 0 {
		return all
	}
	return append(all, o.checkGUIDs(ctx, s, ref)...)
}

// checkGUIDs compares the GUIDs that functions are to get with those of the plan, and of all others.
func (o object) checkGUIDs(ctx context.Context, s *step, ref attribute.CardRef) []finding.Finding {
	o.Planned.Lab().PlanFunctions(ref.Host, ref.PCI, ops.Holders(s.Ask))
	if !s.Planning && !s.Plan.Ports.IsUnknown() && s.Ask.LinkState != "" && !s.Plan.Ports.Equal(plannedPorts(s.Ask)) {
		return ops.OtherGUIDs(s.Found, s.Ask)
	}
	if len(s.Found.Stale(s.Ask)) == 0 {
		return nil
	}
	lab := o.Lab(ctx, ref, s.Diags)
	lab.Fabric, lab.Writing = o.Neighbours(ctx, ref, s.Diags), !s.Planning
	return ops.CheckGUIDs(s.Found, s.Ask, lab)
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
