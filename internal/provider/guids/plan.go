package guids

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

const notKnownYet = "the card or a value comes from something that does not exist yet"

// ModifyPlan gives the verdict on the values, and shows all of them.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		warnForgotten(&resp.Diagnostics, state.CardID.ValueString())
		return
	}
	plan, config, state, exists := planned.Models[model](ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	if !r.ClaimCard(ctx, "plan GUIDs of card", config.CardID, req, &resp.Diagnostics) {
		return
	}
	config.Activation = plan.Activation // with the default
	config.CardIdentity = r.Prior(ctx, state.CardID, plan.CardID, state.CardIdentity)
	a := r.ask(ctx, config, &resp.Diagnostics)
	if a == nil || session.LeftAlone(a.at, req, resp) || !r.assess(ctx, a, &resp.Diagnostics) {
		return
	}
	want := a.want()
	r.remember(a, want)
	given := plan
	given.BaseGUID, given.BaseMAC = config.BaseGUID, config.BaseMAC
	plan.CardIdentity = a.at.Identity
	plan.plan(a, state)
	plan.keepGiven(given)
	held := exists && state.holds(config, a.ask.Request)
	planned.Steady{Held: held, ToDo: !a.converged(config), Live: plan.live(held, state)}.Plan(ctx, req, resp, &plan)
	if held || plan.Restarts.IsUnknown() {
		a.announce(&resp.Diagnostics)
	}
}

// announce says whether the host will be restarted, where no attribute of the plan does.
func (a *assessment) announce(diags *diag.Diagnostics) {
	switch {
	case a.Verdict.Activation != safety.ActivationReboot:
	case a.writes():
		session.WarnRestart(diags, a.at.Ref,
			"The apply writes the GUIDs into flash. Then it restarts the host, so that the card uses them.")
	default:
		session.WarnRestart(diags, a.at.Ref,
			"The flash has the GUIDs, and the card does not use them yet. Nothing is written.")
	}
}

// ValidateConfig refuses values that no card may have, before any host is asked.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
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

// assessment is the verdict with what it is about.
type assessment struct {
	cards.Assessment
	at  *session.CardAt
	now hca.GUIDState
	ask hca.GUIDs
}

// ask gathers what is asked of the card; nil if that is not known yet or wrong,
// with the reason in diags.
func (r *Resource) ask(ctx context.Context, config model, diags *diag.Diagnostics) *assessment {
	ref, ok := r.AskedCard(ctx, "GUIDs", config.CardID, config.known(), notKnownYet, diags)
	if !ok {
		return nil
	}
	what := "plan GUIDs of card " + ref.String()
	at := r.RecordedCard(ctx, config.CardID, config.CardIdentity, what, diags)
	if at == nil {
		return nil
	}
	now := hca.ReadGUIDs(at.Look)
	request, err := config.request(now.OneBase)
	if err != nil {
		diagnostic.AddError(diags, what, err)
		return nil
	}
	if config.empty() && at.Card.FlashKnown() {
		if err = now.FromMAC(&request); err != nil {
			diagnostic.AddErrorAt(diags, path.Root("card_id"), what, err)
			return nil
		}
	}
	return &assessment{at: at, now: now, ask: hca.GUIDs{Card: at.HCA, Request: request}}
}

// assess gives the verdict and reports it; false if nothing may be planned.
func (r *Resource) assess(ctx context.Context, a *assessment, diags *diag.Diagnostics) bool {
	a.ask.Lab = r.lab(ctx, a, diags)
	var err error
	a.Assessment, err = r.Cards.AssessGUIDs(ctx, a.ask)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), "plan GUIDs of card "+a.at.Ref.String(), err)
		return false
	}
	session.AddJobs(diags, a.at.Ref, a.Jobs)
	return !diagnostic.AddFindings(ctx, diags, "set GUIDs of card "+a.at.Ref.String(),
		diagnostic.WithoutJobs(a.Verdict.Findings))
}

// lab is what the values are compared with: all cards and, if they are new to this
// card, the fabric.
func (r *Resource) lab(ctx context.Context, a *assessment, diags *diag.Diagnostics) clash.Facts {
	facts := r.Lab(ctx, a.at.Ref, diags)
	if a.ask.Request.HasGUIDs && !a.now.Has(a.ask.Request) {
		facts.Fabric = r.Neighbours(ctx, a.at.Ref, diags)
	}
	return facts
}

// remember tells the rest of the plan which GUIDs the card will have. An apply that was
// interrupted may have left them in flash: then the restart alone gives them to the card.
func (r *Resource) remember(a *assessment, want ib.GUIDSet) {
	r.Planned.UpdateCard(a.at.Ref, func(c *planned.Card) {
		c.Restarts = a.Verdict.Activation == safety.ActivationReboot
		if (a.writes() || c.Restarts) && (!a.waiting() || a.ask.Request.HasGUIDs) {
			c.GUIDs = &want
		}
	})
}

// waiting reports whether a job of an earlier apply has the card.
func (a *assessment) waiting() bool { return a.Verdict.Action == safety.ActionWait }

// writes reports whether the card is going to be changed.
func (a *assessment) writes() bool { return a.Verdict.Action != safety.ActionNone }

// want is the identity that the card will have. A card that waits cannot be
// read; what is not asked for is completed at apply.
func (a *assessment) want() ib.GUIDSet {
	if a.waiting() {
		return a.ask.Request.Want
	}
	return a.Verdict.GUIDs
}

// converged reports whether nothing is left to do.
func (a *assessment) converged(config model) bool {
	waiting := a.now.Pending && config.Activation.ValueString() == attribute.ActivationReboot
	return a.Verdict.Action == safety.ActionNone && !a.ClosesJobs() && !waiting
}

func warnForgotten(diags *diag.Diagnostics, card string) {
	diagnostic.AddForgotten(diags, "GUIDs of card", card,
		"The card keeps its GUIDs and MAC addresses; nothing is written to it.")
}

// live are the attributes of an update that the host decides. A new resource has the verdict, and
// so has the restart after a change that follows from the state.
func (m *model) live(held bool, prior model) []string {
	all := []string{"backup_path", "effective", "reboot_required"}
	switch {
	case m.isNew(prior):
		return nil
	case held:
		return append(all, "restarts", "drains")
	}
	return all
}

// isNew reports whether the state is not of the card.
func (m *model) isNew(prior model) bool {
	return prior.ID.IsNull() || !attribute.SameCard(prior.CardID, prior.CardIdentity, m.CardID)
}

// plan fills what follows from configuration and state: the half that is asked for, and
// the other half as the state has it. planned.Steady handles what the host decides.
func (m *model) plan(a *assessment, prior model) {
	req := a.ask.Request
	m.ID = types.StringValue(a.at.Ref.String())
	if m.isNew(prior) {
		m.planNew(a)
		return
	}
	set := prior.identity()
	if req.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = req.Want.Node, req.Want.Port1, req.Want.Port2, req.Want.SystemImage
	} else {
		m.BaseGUID, m.NodeGUID, m.SystemGUID, m.PortGUIDs = attribute.UnknownText[attribute.GUIDKind](), prior.NodeGUID,
			prior.SystemGUID, prior.PortGUIDs
	}
	if req.HasMACs {
		set.MAC1, set.MAC2 = req.Want.MAC1, req.Want.MAC2
	} else {
		m.BaseMAC, m.MACs = attribute.UnknownText[attribute.MACKind](), prior.MACs
	}
	m.setIdentity(set)
	becomes := set
	onlyNamed(prior.PortGUIDs, &becomes.Port1, &becomes.Port2)
	onlyNamed(prior.MACs, &becomes.MAC1, &becomes.MAC2)
	m.Restart = attribute.NoRestart()
	if m.Change = changeOf(prior.identity(), becomes); m.Change.IsNull() {
		m.Change, m.Restart = prior.Change, attribute.UnknownRestart()
	} else if m.Activation.ValueString() == attribute.ActivationReboot {
		m.Restart = a.at.Restart()
	}
	// One port does not say what the other one has.
	if !req.HasGUIDs && len(prior.PortGUIDs.Elements()) == 1 {
		m.PortGUIDs = types.MapUnknown(attribute.GUIDType{})
	}
	if !req.HasMACs && len(prior.MACs.Elements()) == 1 {
		m.MACs = types.MapUnknown(attribute.MACType{})
	}
}

// planNew fills the half that is asked for, and the rest from the verdict. Core plans a new object
// once more before the create and wants the same: so it stops if the flash has changed. What an
// earlier run left open is not known before the apply has settled it.
func (m *model) planNew(a *assessment) {
	req, v := a.ask.Request, a.Verdict
	m.Effective, m.RebootRequired, m.BackupPath = types.ObjectUnknown(effectiveTypes), types.BoolUnknown(),
		types.StringUnknown()
	m.Restart, m.Change = attribute.UnknownRestart(), types.StringUnknown()
	if settled := !a.waiting() && !a.ClosesJobs() && a.at.Loss == nil; settled {
		m.setIdentity(a.becomes())
		m.Change, m.Restart = a.change(), a.at.PlannedRestart(v)
		if !a.writes() {
			m.BackupPath = types.StringNull()
		}
		if a.now.Shown && (v.Activation == safety.ActivationReboot || !a.writes() && !a.now.Pending) {
			m.RebootRequired = types.BoolValue(false)
		}
		return
	}
	m.setIdentity(req.Want)
	if !req.HasGUIDs {
		m.BaseGUID, m.NodeGUID, m.SystemGUID = attribute.UnknownText[attribute.GUIDKind](),
			attribute.UnknownText[attribute.GUIDKind](), attribute.UnknownText[attribute.GUIDKind]()
		m.PortGUIDs = types.MapUnknown(attribute.GUIDType{})
	}
	if !req.HasMACs {
		m.BaseMAC, m.MACs = attribute.UnknownText[attribute.MACKind](), types.MapUnknown(attribute.MACType{})
	}
}

// becomes is what flash holds with all that is asked for.
func (a *assessment) becomes() ib.GUIDSet {
	set, want := a.now.InFlash, a.ask.Request.Want
	if a.ask.Request.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = want.Node, want.Port1, want.Port2, want.SystemImage
	}
	if a.ask.Request.HasMACs {
		set.MAC1, set.MAC2 = want.MAC1, want.MAC2
	}
	return set
}

// change is what the apply does to the values in flash; null if they stay.
func (a *assessment) change() types.String { return changeOf(a.now.InFlash, a.becomes()) }

// unannounced says in what a new resource would do another change than its plan has shown; empty
// if it does not.
func (m *model) unannounced(a *assessment) string {
	now := a.change()
	if m.Change.IsUnknown() || now.IsNull() || now.Equal(m.Change) {
		return ""
	}
	planned := "The plan was to write nothing."
	if !m.Change.IsNull() {
		planned = "The plan was to change " + m.Change.ValueString() + "."
	}
	return planned + " Now it would be " + now.ValueString() + ". Nothing was written. Plan again."
}
