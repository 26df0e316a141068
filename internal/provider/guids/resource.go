// Package guids is the resource infiniband_guids: the identity of a card.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package guids

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const standardTimeout = 45 * time.Minute

var (
	_ resource.ResourceWithConfigure      = &Resource{}
	_ resource.ResourceWithModifyPlan     = &Resource{}
	_ resource.ResourceWithIdentity       = &Resource{}
	_ resource.ResourceWithImportState    = &Resource{}
	_ resource.ResourceWithValidateConfig = &Resource{}
)

// Resource is infiniband_guids.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_guids", session.CardNamed("card_id"))}
}

// Create writes the values unless the card has them. A failure sets no state.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. Timeouts alone are stored without a
// change of the host.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan, config model
	c.Read(ctx, &plan, &config)
	if config.empty() && !plan.NodeGUID.IsUnknown() { // the plan has shown what follows from the MAC
		config.NodeGUID, config.SystemGUID, config.PortGUIDs = plan.NodeGUID, plan.SystemGUID, plan.PortGUIDs
	}
	config.Activation, config.CardIdentity = types.StringValue(attribute.ActivationOf(config.Activation)),
		session.AsPlanned(plan.CardIdentity)
	ref, ok := r.ChangeCard(ctx, c, "set GUIDs of", plan.CardID, c.Op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context, ref attribute.CardRef) error {
			return r.write(ctx, ref, config, &plan, c)
		})
	if ok {
		c.Confirm(ctx, "set GUIDs of card "+ref.String(), &plan)
	}
}

// write writes the card when it is its turn.
func (r *Resource) write(ctx context.Context, ref attribute.CardRef, config model, plan *model,
	c session.Change) error {
	a := r.ask(ctx, config, c.Diags)
	if a == nil {
		return nil
	}
	a.ask.Lab, a.ask.Kept = r.lab(ctx, a, c.Diags), plan.keptHalf(a.ask.Request)
	a.ask.Lab.Writing = true
	var before seen
	if c.Seen(ctx, &before) {
		a.ask.Before = before.set()
	} else if found := plan.unannounced(a); found != "" {
		return &safety.RefusedError{What: "set GUIDs of card " + ref.String(),
			Findings: []finding.Finding{finding.ChangedSincePlan.Find("%s", found)}}
	} else if !plan.Change.IsUnknown() {
		a.ask.Before = &a.now.InFlash
	}
	done, err := r.Cards.ApplyGUIDs(ctx, a.ask)
	if err == nil {
		r.Planned.DoneCard(ref)
		plan.Restart = r.Restarted(ctx, plan.Restart, a.at)
		plan.finish(ref, a.now, done)
		c.NoteSeen(ctx, seenOf(done))
	}
	return err
}

// Read refreshes the values in flash and those in use.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	at := r.ReadCard(ctx, "GUIDs", state.CardID, &state.CardIdentity, resp)
	if at == nil || session.FlashUnread(&resp.Diagnostics, at.Snap, at.Ref) {
		return
	}
	now := hca.ReadGUIDs(at.Look)
	session.NoteSeen(ctx, resp.Private, seenOf(now), &resp.Diagnostics)
	state.observe(at.Ref, now)
	state.normalise()
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets: the card keeps its identity.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warnForgotten(&resp.Diagnostics, state.CardID.ValueString())
}

// ImportState takes the id of the card.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	r.ImportCard(ctx, "import GUIDs", req, resp)
}

// finish fills the state after a successful apply from what was read back.
func (m *model) finish(ref attribute.CardRef, before, done hca.GUIDState) {
	given := *m
	if m.Change.IsUnknown() {
		m.Change = changeOf(before.InFlash, done.InFlash)
	}
	m.observe(ref, done)
	m.keepGiven(given)
	if done.BackupPath == "" {
		m.BackupPath = given.BackupPath
	}
	if m.BackupPath.IsUnknown() {
		m.BackupPath = types.StringNull()
	}
}

// seen is what flash held when it was read last, as numbers: a GUID is written to JSON as
// text, and not read back from it.
type seen struct {
	GUIDs [4]uint64
	MACs  [2]uint64
}

func seenOf(s hca.GUIDState) seen {
	g := s.InFlash
	return seen{[4]uint64{uint64(g.Node), uint64(g.Port1), uint64(g.Port2), uint64(g.SystemImage)},
		[2]uint64{uint64(g.MAC1), uint64(g.MAC2)}}
}

func (s seen) set() *ib.GUIDSet {
	return &ib.GUIDSet{Node: ib.GUID(s.GUIDs[0]), Port1: ib.GUID(s.GUIDs[1]), Port2: ib.GUID(s.GUIDs[2]),
		SystemImage: ib.GUID(s.GUIDs[3]), MAC1: ib.MAC(s.MACs[0]), MAC2: ib.MAC(s.MACs[1])}
}
