package firmware

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// ModifyPlan gives the verdict on the burn: it runs while planning, and again
// at apply just before Create or Update, in a new process.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, config, state model
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if r.Data == nil || resp.Diagnostics.HasError() {
		return
	}
	if req.Plan.Raw.IsNull() {
		managed.WarnOwed(ctx, &r.Resource, state.ID.ValueString(), &resp.Diagnostics)
		r.planDestroy(ctx, state, resp.Private, &resp.Diagnostics)
		return
	}
	withdraw(ctx, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !r.takes(ctx, plan, state, req, &resp.Diagnostics) {
		return
	}
	if config.holds() {
		r.planHeld(ctx, plan, config, state, exists, resp)
		return
	}
	config.Activation = plan.Activation // with the default
	config.CardIdentity = r.Prior(ctx, state.CardID, plan.CardID, state.CardIdentity)
	a := r.assessUnlessBusy(ctx, config, req, resp)
	if a == nil || exists && r.compareWithState(ctx, a, plan, state, resp) ||
		!r.assess(ctx, a, config, state, &resp.Diagnostics) {
		return
	}
	r.modify(ctx, a, plan, config, state, req, resp)
}

// compareWithState compares the card with the state. It reports whether the plan is
// complete then: it is refused, or the card has moved and the state follows.
func (r *Resource) compareWithState(ctx context.Context, a *assessment, plan, state model,
	resp *resource.ModifyPlanResponse) bool {
	if !attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID) {
		return false
	}
	if !state.follow(a.at.Ref, a.image, plan) {
		return !a.compareFlash(ctx, state, &resp.Diagnostics)
	}
	if !diagnostic.AddFindings(ctx, &resp.Diagnostics, "follow card "+a.at.Ref.String(), a.at.Strange()) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
	}
	return true
}

// takes notes that the configuration has the card. It gives false if another resource
// has it, or if this plan restores it.
func (r *Resource) takes(ctx context.Context, plan, state model, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) bool {
	if !r.ClaimCard(ctx, "plan firmware of card", plan.CardID, req, diags) {
		return false
	}
	exists := !req.State.Raw.IsNull()
	same := exists && attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID)
	if exists && !same {
		warnReplaced(diags, state.CardID.ValueString())
	}
	return r.hold(ctx, plan.CardID, same, diags)
}

// modify plans what the verdict allows. Core plans an update again when it applies it,
// and the host may have changed by then. So the kind of plan follows from configuration
// and state; the host only decides whether there is anything to do.
func (r *Resource) modify(ctx context.Context, a *assessment, plan, config, state model, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	// This includes what an earlier apply left: a job to settle, a restart.
	idle := a.converged(config)
	if !idle {
		r.Planned.UpdateCard(a.at.Ref, func(c *planned.Card) { c.Firmware = a.image.Firmware })
		r.Await(a.at.Ref, a.Verdict, hca.WaitsFirmware)
	}
	known := !req.State.Raw.IsNull() && attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID) &&
		state.settled(a.image, plan)
	if known && state.covers(a.image, idle && r.planning(a.at.Ref)) {
		resp.Plan.Raw = req.State.Raw
		kept := state.keep(plan)
		idle = idle || kept // an apply that records what is kept leaves the card alone
		if kept || !idle {
			state.open(!kept)
			resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
		}
	} else {
		plan.CardIdentity = a.at.Identity
		plan.plan(a, state)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
	if !idle {
		a.announce(ctx, state.Restart, resp)
	}
	if a.Verdict.Action == safety.ActionBurn {
		a.tellWay(&resp.Diagnostics)
		r.RunLog.WarnOfRunner(&resp.Diagnostics)
	}
}

// tellWay says if the image takes another way than by mstflint.
func (a *assessment) tellWay(diags *diag.Diagnostics) {
	if a.Card.ByDriver() {
		diags.AddWarning("The driver of card "+a.at.Ref.String()+" has its firmware write the image",
			"mstflint cannot reach the card: "+a.Card.FlashError+". So the apply uses devlink.")
	}
}

// planning reports whether this walk is a plan that has read the state. A plan with
// -refresh=false looks like an apply.
func (r *Resource) planning(ref attribute.CardRef) bool {
	return r.Restores.InState(r.CardKey(ref))
}

// announce says what will be written and restarted, unless attributes of the plan do.
func (a *assessment) announce(ctx context.Context, last attribute.Restart, resp *resource.ModifyPlanResponse) {
	var shown model
	diags := &resp.Diagnostics
	diags.Append(resp.Plan.Get(ctx, &shown)...)
	card, v := a.at.Ref.String(), a.Verdict
	restart := v.Activation == safety.ActivationReboot
	if !shown.Change.IsUnknown() && (shown.ShownAfter(last) || !restart && !shown.Restarts.IsUnknown()) {
		return
	}
	switch {
	case v.Action == safety.ActionBurn:
		then := "The host is not restarted. Until somebody restarts it, the card runs its present firmware."
		switch {
		case restart:
			then = "Then host " + a.at.Ref.Host + " is restarted, so that the card runs it."
		case shown.Activation.ValueString() == attribute.ActivationHost:
			then = "The infiniband_activation of the host activates it."
		}
		diags.AddWarning("The apply burns firmware on card "+card+": "+changeText(describe(a.now.Flash), a.image),
			a.keeps()+", writes the image and verifies it. "+then)
	case v.Action == safety.ActionNone && restart:
		a.at.WarnRestart(diags,
			"The flash holds "+describe(a.now.Flash)+", and the card runs "+describe(a.now.Running.Or(ib.Firmware{}))+
				". Nothing is written.")
	}
}

// keeps says what becomes of the firmware in flash.
func (a *assessment) keeps() string {
	if a.Card.Rollback != nil {
		return "It keeps the rollback image in backup_dir, because nobody can read the flash"
	}
	return "It backs up the present firmware to backup_dir"
}

// assessment is the verdict with what it is about.
type assessment struct {
	cards.Assessment
	at    *session.CardAt
	image safety.ImageFacts
	now   hca.FirmwareState
	ask   hca.Firmware
	// drains are the commands around a burn without a restart.
	drains types.List
}

// assessUnlessBusy is ask. It gives nil also if another program uses the card and
// nothing new is asked of it.
func (r *Resource) assessUnlessBusy(ctx context.Context, config model, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) *assessment {
	a := r.ask(ctx, config, &resp.Diagnostics)
	if a != nil && session.LeftAlone(a.at, req, resp) {
		return nil
	}
	return a
}

// ask gathers what is asked of the card. It gives nil if that is not known yet or
// wrong; diags has the reason.
func (r *Resource) ask(ctx context.Context, config model, diags *diag.Diagnostics) *assessment {
	ref, ok := r.AskedCard(ctx, "firmware", config.CardID, config.known(), notKnownYet, diags)
	if !ok {
		return nil
	}
	what := "plan firmware of card " + ref.String()
	request, err := config.request()
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root(finding.Allow), what, err)
		return nil
	}
	at := r.RecordedCard(ctx, config.CardID, config.CardIdentity, what, diags)
	if at == nil {
		return nil
	}
	image, ok := r.image(ctx, at, "image_id", config.ImageID, diags)
	if !ok {
		return nil
	}
	a := &assessment{at: at, image: image, drains: managed.PlannedDrains(&r.Resource, ref.Host, types.BoolValue(true),
		types.ListNull(types.StringType), diags), now: hca.ReadFirmware(at.Look),
		ask: hca.Firmware{Card: at.HCA, Image: image, Request: request, Unapproved: r.Approved.Lacks(image.SHA256)}}
	if at.Facts.WithoutCopy() && !config.RollbackID.IsNull() {
		back, ok := r.image(ctx, at, "rollback_image_id", config.RollbackID, diags)
		if !ok {
			return nil
		}
		a.ask.Rollback = &back
	}
	return a
}

// assess gives the verdict and reports it. It gives false if nothing may be planned.
func (r *Resource) assess(ctx context.Context, a *assessment, config, state model, diags *diag.Diagnostics) bool {
	// A comparison of the content reads the whole flash.
	a.ask.Compare = !state.ImageID.Same(config.ImageID) || a.otherBurn()
	if a.ask.Compare || !a.hasImage() {
		a.ask.Lab, a.ask.Stops = r.Lab(ctx, a.at.Ref, diags), r.StopsFor(a.at)
	}
	var err error
	a.Assessment, err = r.Cards.AssessFirmware(ctx, a.ask)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), "plan firmware of card "+a.at.Ref.String(), err)
		return false
	}
	r.Planned.AddOwed(ctx, a.at.Ref.Host, a.at.Snap, diags)
	r.AddJobs(diags, a.at.Ref, a.Jobs)
	return !a.report(ctx, diags) && a.agrees(config, diags)
}

// hasImage reports whether flash already has the image's PSID and version.
func (a *assessment) hasImage() bool {
	return a.now.Flash == a.image.Firmware
}

// otherBurn reports whether the last burn in the host's journal was of another image
// with the same PSID and version, which the query of the flash does not show.
func (a *assessment) otherBurn() bool {
	last := a.now.LastBurn
	return last.ID != "" && a.hasImage() && last.Image.SHA256 != a.image.SHA256
}

// report adds findings.
func (a *assessment) report(ctx context.Context, diags *diag.Diagnostics) (blocked bool) {
	findings := diagnostic.WithoutJobs(a.Verdict.Findings)
	if a.now.Restored {
		findings = finding.DestroyGoesOn(findings)
	}
	what := "burn firmware on card " + a.at.Ref.String()
	if a.now.Pending && safety.Holds(a.Card, a.image) {
		what = "restart the host of card " + a.at.Ref.String()
		for i := range findings {
			if findings[i].Severity.Blocks() {
				findings[i].Evidence += fmt.Sprintf("\n\nThe flash holds %s already: nothing is to be burned. Only the restart is "+
					"refused.", describe(a.now.Flash))
			}
		}
	}
	return diagnostic.AddPlanned(ctx, diags, what, findings)
}

// converged reports whether nothing is left to do.
func (a *assessment) converged(config model) bool {
	waiting := a.now.Pending && config.Activation.ValueString() == attribute.ActivationReboot
	return a.Verdict.Action == safety.ActionNone && !a.ClosesJobs() && !waiting
}

// compareFlash compares the flash with that of the state, on which the plan was made.
// In the plan both are equal, because it has just read the state. At apply, a card that
// has the image already, or a job that is not settled, is no surprise: the operation
// converges from there. Of another card than the recorded one the verdict speaks.
func (a *assessment) compareFlash(ctx context.Context, state model, diags *diag.Diagnostics) bool {
	was, is := state.flash(), describe(a.now.Flash)
	if like, _ := ib.Compare(a.at.HCA.Recorded, a.at.Who); like == ib.Other {
		return true
	}
	if a.hasImage() || was == "" || was == is || a.now.Flash.PSID == "" ||
		journal.AnyCloses(a.at.Pending) {
		return true
	}
	wanted := "leave " + was + " in flash"
	if !state.has(a.image) {
		wanted = "change " + changeText(was, a.image)
	}
	next := "Plan again, without -refresh=false: such a plan does not see the present flash."
	if state.ID.ValueString() != a.at.Ref.String() {
		had := "with the image that it had: write image_id = \"" + state.ImageID.ValueString() + "\""
		if state.holds() {
			had = "without image_id: remove it"
		}
		next = "The card has moved since, so that a refresh does not read its flash. Follow the card " + had +
			" and apply. Then plan again."
	}
	return !diagnostic.AddFindings(ctx, diags, "burn firmware on card "+a.at.Ref.String(), []finding.Finding{
		finding.ChangedSincePlan.Find("The plan was to %s. Now the flash holds %s. Nothing was written. %s", wanted, is,
			next),
	})
}

// plan fills what the change leads to. Core plans again when it applies, and what was
// known must be the same then. So known values of an update follow from the configuration, the
// image and the state, and not from the host, which may have changed: an update compares the
// host with the state. A new resource has no state, and its known values bind the apply.
func (m *model) plan(a *assessment, prior model) {
	img := a.image
	m.ID = types.StringValue(a.at.Ref.String())
	m.setImage(img)
	m.FlashPSID, m.FlashVersion = spelled(m.ImagePSID, m.FlashPSID), spelled(m.ImageVersion, m.FlashVersion)
	m.BackupPath, m.OriginalBackup, m.Change = prior.BackupPath, prior.OriginalBackup, prior.Change
	m.open(true)
	switch flash := prior.flash(); {
	case prior.ID.IsNull():
		m.foresee(a)
	case flash != "" && !prior.has(img):
		m.Change = types.StringValue(changeText(flash, img))
		m.foreseeUpdate(a, prior)
	}
}

// foresee fills in what the verdict on a new resource says of its apply. Core plans a new object
// once more before the create and wants the same values: so it stops if the host has changed.
// What an earlier run left open is not known before the apply has settled it.
func (m *model) foresee(a *assessment) {
	v := a.Verdict
	if v.Action == safety.ActionWait || v.Action == safety.ActionRefuse || a.ClosesJobs() || a.at.Loss != nil {
		return // also where the host is in observe mode
	}
	m.Restart = a.at.PlannedRestart(v)
	burns := v.Action == safety.ActionBurn
	if m.Change = types.StringNull(); burns {
		m.Change = types.StringValue(changeText(describe(a.now.Flash), a.image))
		if m.Restarts.IsNull() {
			m.Drains = a.drains
		}
	} else if a.now.JobBackup == "" {
		m.BackupPath, m.OriginalBackup = types.StringNull(), types.StringNull()
	}
	m.foreseeRunning(a, burns)
}

// foreseeRunning says what the card will run, where that is known.
func (m *model) foreseeRunning(a *assessment, burns bool) {
	running, known := a.now.Running.Get()
	if known && (a.Verdict.Activation == safety.ActivationReboot || !burns && running == a.now.Flash) {
		m.runs()
	} else if burns || a.now.Pending {
		m.leave()
	}
}

// foreseeUpdate does the same for a burn that follows from the state, whatever the host is by then.
func (m *model) foreseeUpdate(a *assessment, prior model) {
	m.Restart = attribute.Restart{Restarts: types.StringNull(), Drains: a.drains}
	if m.Activation.ValueString() != attribute.ActivationReboot {
		return
	}
	m.Restart = a.at.Restart()
	if !prior.RunningPSID.IsNull() { // a driver shows what the card runs
		m.runs()
	}
}

// runs says that the card will run the image.
func (m *model) runs() {
	m.RunningPSID, m.RunningVersion, m.RebootRequired = m.ImagePSID, m.ImageVersion, types.BoolValue(false)
}

// leave says nothing of what the restart by another resource changes, perhaps in the same apply.
func (m *model) leave() {
	if m.Activation.ValueString() != attribute.ActivationHost {
		return
	}
	m.RunningPSID, m.RunningVersion = attribute.NullText[attribute.PSIDKind](), attribute.NullText[attribute.VersionKind]()
	m.RebootRequired = types.BoolNull()
}
