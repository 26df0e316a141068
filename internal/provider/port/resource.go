// Package port is the resource infiniband_port: the administrative state, speeds
// and widths of one port.
//
// It must not run commands; the operations of internal/port do.
package port

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	things "github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 5 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_port", Thing: "port", Change: "set", Remove: "forget", Removed: "setting of port", HostIn: "card_id",
	By: session.Name{
		Parts: append(session.PlaceParts[:2:2],
			session.Part{Name: "port", Number: true, Description: "Number of the port, 1 or 2."}), From: []string{"id"},
		Canonical: func(text string) (string, error) {
			ref, number, err := parseID(text)
			return id(ref, number), err
		},
	},
	Timeout: standardTimeout, BySlot: true,
	Live: []string{"port_guid", "state", "physical_state", "rate", "lid", "sm_lid", "change"},
}

type step = managed.Step[model, ops.Request, ops.Observation]

// object is what only ports do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ops.Request, ops.Observation, seen] {
		return object{r}
	})
}

func (o object) Request(_ context.Context, m, config *model) (ops.Request, error) {
	return m.request(config.Allow)
}

func (o object) Card(m *model) (attribute.CardID, *types.String) { return m.CardID, &m.CardIdentity }

func (o object) Place(d ops.Request) managed.Place {
	return managed.Place{Host: d.Host, ID: id(cardOf(d), d.Number)}
}

func (o object) Key(d ops.Request) string { return o.NumberedPortKey(cardOf(d), d.Number) }

func (o object) Ready(_ context.Context, s *step) bool {
	if !s.Plan.known() || !attribute.Known(s.Config.Allow) {
		diagnostic.AddPostponed(s.Diags, "a port",
			"the card or a part of its setting comes from something that does not exist yet")
		return false
	}
	d, err := s.Plan.request(s.Config.Allow)
	diagnostic.AddErrorAt(s.Diags, path.Root("speeds"), "plan port "+o.Place(d).ID, err)
	return err == nil
}

func (o object) Find(s *inventory.Snapshot, d *ops.Request) ops.Observation {
	return ops.Observe(s, d.Card, d.Number)
}

// Look asks the port itself where speeds or widths matter: the collection does not have them.
func (o object) Look(ctx context.Context, h *hosts.Host, d ops.Request,
	found ops.Observation) (ops.Observation, error) {
	return ops.Ask(ctx, h, d, found)
}

func (o object) Presence(_ ops.Request, found ops.Observation, _ *diag.Diagnostics) session.Presence {
	if !found.Card && !found.Stored {
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(d ops.Request, found ops.Observation) []string {
	return found.Differences(d)
}

func (o object) ToDo(d ops.Request, found ops.Observation, _ bool) bool {
	return len(found.Differences(d)) > 0
}

func (o object) Plan(_ context.Context, s *step) (held bool) {
	s.Plan.plan(cardOf(s.Ask), s.Ask.Number)
	return s.State.holds(s.Plan)
}

func (o object) Foresee(_ context.Context, s *step, first ops.Observation, kept seen) {
	if s.Exists && attribute.SameCardThere(s.State.CardID, s.State.CardIdentity, s.Plan.CardID) &&
		s.State.Port.Equal(s.Plan.Port) {
		s.Plan.foresee(s.State, kept.Keeps(s.Ask, s.State.State.ValueString(), s.State.PhysicalState.ValueString()))
		s.Plan.Change = attribute.PlannedChange(s.Ask.Announce(kept.Seen), s.State.Change)
		return
	}
	s.Plan.Change = types.StringValue(s.Ask.Announce(first.Seen()))
	if !first.PortGUID.IsZero() {
		s.Plan.PortGUID = attribute.GUIDText(first.PortGUID)
	}
}

func (o object) Check(_ context.Context, s *step) []finding.Finding {
	ref := cardOf(s.Ask)
	port := o.CardPortPlan(s.Snap, ref, s.Ask.Number)
	return ops.Check(s.Snap, s.Ask, s.Found, ops.PlanFacts{InfiniBand: port.InfiniBand, Ethernet: port.Ethernet,
		Waits: port.Waits, Restarts: o.Planned.Card(ref).Restarts})
}

func (o object) Remember(m *model, _ ops.Request, found ops.Observation, before seen) (seen, bool) {
	if before.Asked == nil {
		before.Asked = m.setting()
	}
	before.Seen = found.Seen()
	return before, true
}

func (o object) Fill(_ context.Context, m *model, d ops.Request, found ops.Observation, kept seen) diag.Diagnostics {
	m.observe(cardOf(d), d.Number, found, kept.Asked)
	return nil
}

func (o object) Since(s *step, before seen) []finding.Finding {
	return ops.CheckSeen(s.Found, before.Seen, s.Ask)
}

func (o object) Apply(ctx context.Context, s *step) (r things.Result[ops.Observation], stays string, err error) {
	r, err = ops.Apply(ctx, s.Host, s.Ask, ops.Options{})
	if r.Changed {
		stays = "The unit " + ops.UnitName(s.Ask.Card, s.Ask.Number) + ", which makes the setting at boot,"
	}
	return r, stays, err
}

func (o object) WarnRemoval(_ context.Context, m *model, diags *diag.Diagnostics) {
	diagnostic.AddForgotten(diags, "port", m.ID.ValueString(),
		"The port stays as it is until the driver is loaded again or the host restarts. The unit that makes the setting at "+
			"boot is removed.")
}

func (o object) Ours(_ ops.Request, found ops.Observation) bool { return found.Stored }

func (o object) CheckRemoval(_ ops.Request, found ops.Observation) []finding.Finding {
	return ops.CheckRemove(found)
}

func (o object) SinceRemoval(d ops.Request, found ops.Observation, kept *seen) []finding.Finding {
	if kept == nil {
		return nil
	}
	return ops.CheckSeenRemoved(found, kept.Seen, d)
}

func (o object) Remove(ctx context.Context, h *hosts.Host, d ops.Request, _ ops.Observation,
	_ *model) (title string, notes []string, err error) {
	r, err := ops.Remove(ctx, h, d.Card, d.Number)
	return "Port", append(r.Warnings, r.Left...), err
}

func (o object) Import(_ context.Context, text string, _ *diag.Diagnostics) (map[string]any, error) {
	ref, number, err := parseID(text)
	return map[string]any{"id": id(ref, number), "card_id": ref.String(), "port": int64(number)}, err
}
