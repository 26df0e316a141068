// Package linktype is the resource infiniband_link_type: InfiniBand or Ethernet per
// port.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package linktype

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 20 * time.Minute

var kind = managed.CardKind{
	Name: "infiniband_link_type", Thing: "link types", Change: "set", Awaits: "the card or a port's type",
	Stays: "The ports keep their link types, now and after a restart. The stored setting stays on the host or in the " +
		"card.",
	Timeout: standardTimeout,
}

type step = managed.CardStep[model, ops.Ask, ops.Look, ops.Seen]

// object is what only link types do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.NewOnCard(kind, func(r *session.Resource) managed.CardObject[model, ops.Ask, ops.Look, ops.Seen] {
		return object{r}
	})
}

func (o object) Fields(m *model) *managed.OnCard { return &m.OnCard }

func (o object) Known(config *model) bool { return config.known() }

func (o object) Look(ctx context.Context, s *step) (ops.Look, error) { return ops.Read(ctx, s.At.HCA) }

// Request takes into account firmware that this plan burns before: that may be what makes InfiniBand possible.
func (o object) Request(s *step) (ops.Ask, string, error) {
	request, err := s.Config.request()
	return ops.Ask{Card: s.At.HCA, Request: request, PlannedPSID: o.Planned.Card(s.At.Ref).PSID, Uses: uses}, "ports", err
}

func (o object) Assess(ctx context.Context, s *step) (cards.Assessment, error) {
	return ops.Assess(ctx, o.Cards.Session, s.Ask, s.Found)
}

func (o object) Becomes(s *step) string { return changeText(s.Found.State, s.Ask.Request.Ports) }

func (o object) Seen(l ops.Look) ops.Seen { return ops.SeenOf(l.State) }

func (o object) Apply(ctx context.Context, s *step) (done ops.Look, notes []string, err error) {
	s.Ask.Before = s.Before
	done.State, err = ops.Apply(ctx, o.Cards.Session, s.Ask)
	return done, done.Warnings, err
}

// Finish fills the state from what was read back. A port that is "auto" in the configuration has what
// the cable decides in effect.
func (o object) Finish(s *step, done ops.Look) {
	if s.Plan.Change.IsUnknown() {
		if s.Plan.Change = s.State.Change; len(done.Did) > 0 {
			s.Plan.Change = types.StringValue(cmp.Or(s.Becomes, storedAnew))
		}
	}
	ports := s.Plan.Ports
	s.Plan.observe(s.At.Ref, done.State)
	if s.Plan.Activation.ValueString() == attribute.ActivationHost && done.Pending {
		s.Plan.Effective, s.Plan.RebootRequired = types.MapNull(types.StringType), types.BoolNull()
		places := s.Plan.ByPlace.Elements()
		delete(places, "driver")
		s.Plan.ByPlace = types.MapValueMust(placeType, places)
	}
	s.Plan.Ports = ports
}

// Refresh reads what the ports are, and what they will be after a restart.
func (o object) Refresh(ctx context.Context, seen *session.FoundCard, state *model,
	diags *diag.Diagnostics) (now ops.Look, ok bool) {
	if session.InUse(diags, seen.Snap, seen.Ref) {
		return now, false
	}
	what := "read link types of card " + seen.Ref.String()
	at := o.CardAt(ctx, seen.Ref, what, diags)
	if at == nil {
		return now, false
	}
	now, err := ops.Read(ctx, at.HCA)
	if err != nil {
		diagnostic.AddError(diags, what, err)
		return now, false
	}
	if now.Unanswered != "" {
		warnUnanswered(diags, seen.Ref, now.State)
		state.observeDriver(now.State)
		return now, true
	}
	state.observe(seen.Ref, now.State)
	warnUnshown(diags, seen.Ref, state.unshown(now.State))
	return now, true
}
