// Package guids is the resource infiniband_guids: the identity of a card.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package guids

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

const standardTimeout = 45 * time.Minute

var kind = managed.CardKind{
	Name: "infiniband_guids", Thing: "GUIDs", Change: "set", Awaits: "the card or a value",
	Stays: "The card keeps its GUIDs and MAC addresses; nothing is written to it.", Timeout: standardTimeout,
}

type step = managed.CardStep[model, hca.GUIDs, hca.GUIDState, seen]

// object is what only GUIDs do.
type object struct{ *session.Resource }

type guids struct {
	*managed.CardResource[model, hca.GUIDs, hca.GUIDState, seen]
}

var _ resource.ResourceWithValidateConfig = &guids{}

// New returns the resource.
func New() resource.Resource {
	return &guids{managed.NewOnCard(kind,
		func(r *session.Resource) managed.CardObject[model, hca.GUIDs, hca.GUIDState, seen] { return object{r} })}
}

// ValidateConfig refuses values that no card may have, before any host is asked.
func (guids) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || !config.valuesKnown() {
		return
	}
	what := "set GUIDs of a card"
	if !config.CardID.IsUnknown() {
		what = "set GUIDs of card " + config.CardID.ValueString()
	}
	request, err := config.request(false)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, what, err)
		return
	}
	diagnostic.AddBlocking(ctx, &resp.Diagnostics, what,
		safety.GUIDValues("", ib.PCIAddress{}, request, clash.Facts{}))
}

func (o object) Fields(m *model) *managed.OnCard { return &m.OnCard }

func (o object) Known(config *model) bool { return config.known() }

func (o object) Look(_ context.Context, s *step) (hca.GUIDState, error) {
	return hca.ReadGUIDs(s.At.Look), nil
}

// Request takes what no value is given for from the MAC of the card, or from the plan that has shown that.
func (o object) Request(s *step) (ask hca.GUIDs, attribute string, err error) {
	config := *s.Config
	if config.empty() && !s.Planning && !s.Plan.NodeGUID.IsUnknown() {
		config.NodeGUID, config.SystemGUID, config.PortGUIDs = s.Plan.NodeGUID, s.Plan.SystemGUID, s.Plan.PortGUIDs
	}
	request, err := config.request(s.Found.OneBase)
	if err == nil && config.empty() && s.At.Card.ReadFlash() != nil {
		attribute, err = "card_id", s.Found.FromMAC(&request)
	}
	return hca.GUIDs{Card: s.At.HCA, Request: request}, attribute, err
}

func (o object) Assess(ctx context.Context, s *step) (cards.Assessment, error) {
	s.Ask.Lab = o.lab(ctx, s)
	return o.Cards.AssessGUIDs(ctx, s.Ask)
}

// lab is what the values are compared with: all cards and, if they are new to this
// card, the fabric.
func (o object) lab(ctx context.Context, s *step) clash.Facts {
	facts := o.Lab(ctx, s.At.Ref, s.Diags)
	if s.Ask.Request.HasGUIDs && !s.Found.Has(s.Ask.Request) {
		facts.Fabric = o.Neighbours(ctx, s.At.Ref, s.Diags)
	}
	return facts
}

func (o object) Apply(ctx context.Context, s *step) (done hca.GUIDState, notes []string, err error) {
	s.Ask.Lab, s.Ask.Kept = o.lab(ctx, s), s.Plan.keptHalf(s.Ask.Request)
	s.Ask.Lab.Writing = true
	if s.Before != nil {
		s.Ask.Before = s.Before.set()
	}
	done, err = o.Cards.ApplyGUIDs(ctx, s.Ask)
	return done, nil, err
}

// Finish fills the state from what was read back.
func (o object) Finish(s *step, done hca.GUIDState) {
	m, given := s.Plan, *s.Plan
	if m.Change.IsUnknown() {
		m.Change = changeOf(s.Found.InFlash, done.InFlash)
	}
	m.observe(s.At.Ref, done)
	if given.RebootRequired.IsNull() || m.RebootRequired.ValueBool() {
		m.leave()
	}
	m.keepGiven(given)
	if done.BackupPath == "" {
		m.BackupPath = given.BackupPath
	}
	if m.BackupPath.IsUnknown() {
		m.BackupPath = types.StringNull()
	}
}

// Refresh reads the values in flash and those in use.
func (o object) Refresh(_ context.Context, at *session.FoundCard, state *model,
	diags *diag.Diagnostics) (now hca.GUIDState, ok bool) {
	if session.FlashUnread(diags, at.Snap, at.Ref) {
		return now, false
	}
	now = hca.ReadGUIDs(at.Look)
	state.observe(at.Ref, now)
	return now, true
}

// seen is what flash held when it was read last, as numbers: a GUID is written to JSON as
// text, and not read back from it.
type seen struct {
	GUIDs [4]uint64
	MACs  [2]uint64
}

// Seen implements managed.CardObject.
func (o object) Seen(s hca.GUIDState) seen {
	g := s.InFlash
	return seen{[4]uint64{uint64(g.Node), uint64(g.Port1), uint64(g.Port2), uint64(g.SystemImage)},
		[2]uint64{uint64(g.MAC1), uint64(g.MAC2)}}
}

func (s seen) set() *ib.GUIDSet {
	return &ib.GUIDSet{Node: ib.GUID(s.GUIDs[0]), Port1: ib.GUID(s.GUIDs[1]), Port2: ib.GUID(s.GUIDs[2]),
		SystemImage: ib.GUID(s.GUIDs[3]), MAC1: ib.MAC(s.MACs[0]), MAC2: ib.MAC(s.MACs[1])}
}
