// Package firmware is the resource infiniband_firmware: which image is in a
// card's flash, and runs.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do.
package firmware

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Create burns the image unless the card has it; without an image it only reads the
// card. A failed create stores no state: core would taint the object, destroy it and
// create it again, and hardware cannot be created again.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.Restores.BeginApply()
	r.CreateWith(ctx, req, resp, func(ctx context.Context, c session.Change) {
		if holds(ctx, req.Plan, c.Diags) {
			r.adopt(ctx, c)
			return
		}
		r.apply(ctx, c, model{})
	})
}

// Update does the same as Create: both converge. What only a later destroy will
// need is stored without asking the card for anything, as is all of a resource without
// an image.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.Restores.BeginApply()
	r.UpdateWith(ctx, req, resp, func(ctx context.Context, c session.Change) {
		var prior model
		c.Diags.Append(req.State.Get(ctx, &prior)...)
		switch {
		case holds(ctx, req.Plan, c.Diags):
			r.store(ctx, c, prior, &resp.State)
		case !c.Diags.HasError():
			r.apply(ctx, c, prior)
		}
	}, kept, places)
}

func (r *Resource) apply(ctx context.Context, c session.Change, prior model) {
	var plan, config model
	c.Read(ctx, &plan, &config)
	if config.Activation.IsNull() {
		config.Activation = types.StringValue(attribute.ActivationNone)
	}
	config.CardIdentity = session.AsPlanned(plan.CardIdentity)
	_, ok := r.ChangeCard(ctx, c, "burn firmware on", plan.CardID, c.Op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context, ref attribute.CardRef) error {
			return r.write(ctx, c, ref, config, prior, &plan)
		})
	if ok {
		c.Confirm(ctx, "burn firmware on card "+plan.ID.ValueString(), &plan)
	}
}

// write writes the card when it is its turn.
func (r *Resource) write(ctx context.Context, c session.Change, ref attribute.CardRef, config, prior model,
	plan *model) error {
	a := r.ask(ctx, config, c.Diags)
	if a == nil || diagnostic.AddFindings(ctx, c.Diags, "burn firmware on card "+ref.String(), a.at.Strange()) ||
		!prior.ID.IsNull() && !a.compareFlash(ctx, prior, c.Diags) {
		return nil
	}
	var done hca.FirmwareState
	d := managed.Drain{Resource: &r.Resource, Name: ref.Host, Host: a.at.Host,
		What: "burn firmware on card " + ref.String(), Shown: &plan.Drains, Begins: !a.hasImage() || a.otherBurn(),
		Diags: c.Diags, Late: c.Late}
	if d.Applies() { // the commands run around burn and restart together
		a.ask.Card = a.ask.Card.Undrained()
	}
	if err := d.Around(ctx, func(ctx context.Context) (burnErr error) {
		r.ForgetObserved()
		a.ask.Lab, a.ask.Planned = r.Lab(ctx, ref, c.Diags), plan.announced()
		a.ask.Stops = r.StopsFor(a.at)
		done, burnErr = r.Cards.ApplyFirmware(ctx, a.ask)
		r.MarkStop(ctx, a.ask.Card, done.JobID, burnErr, c.Diags)
		return burnErr
	}); err != nil {
		return err
	}
	r.Planned.DoneCard(ref)
	if is := describe(done.Flash); done.Flash.PSID != "" && is != describe(a.image.Firmware) {
		return &safety.RefusedError{What: "store the firmware of card " + ref.String(), Findings: []finding.Finding{
			finding.ChangedSincePlan.Find("The apply succeeded, but now the flash holds %s. Somebody else writes this card.",
				is),
		}}
	}
	plan.Restart = d.Keeps(r.Restarted(ctx, plan.Restart, a.at))
	plan.finish(a, prior, done)
	noteOriginal(ctx, *plan, done, c.Beside(), c.Diags)
	return nil
}

// finish fills the state after a successful apply from what was read back. Planned
// values that were known stay: the operation has proven them.
func (m *model) finish(a *assessment, prior model, done hca.FirmwareState) {
	planned := *m
	m.setImage(a.image)
	m.observe(a.at.Ref, done)
	if planned.RebootRequired.IsNull() || m.RebootRequired.ValueBool() {
		m.leave()
	}
	m.FlashPSID, m.FlashVersion = planned.FlashPSID, planned.FlashVersion
	pending := a.at.Pending
	earlier := earlierBackup(prior.ID.IsNull(), pending, done)
	m.BackupPath = attribute.OrNull(cmp.Or(done.BackupPath, earlier, prior.BackupPath.ValueString()))
	m.Change, m.OriginalBackup = planned.Change, planned.OriginalBackup
	burned := done.BackupPath != ""
	switch {
	case m.Change.IsUnknown() && burned:
		m.Change = types.StringValue(changeText(describe(a.now.Flash), a.image))
	case m.Change.IsUnknown() && earlier != "":
		m.Change = types.StringValue(changeText(describe(done.JobBefore), a.image))
	case m.Change.IsUnknown():
		m.Change = attribute.OrNull(prior.Change.ValueString())
	}
	if !m.OriginalBackup.IsUnknown() {
		return
	}
	m.OriginalBackup = types.StringNull()
	if prior.ID.IsNull() || burned || journal.AnyCloses(pending) {
		m.OriginalBackup = attribute.OrNull(cmp.Or(done.BackupPath, done.JobBackup))
	}
}

// earlierBackup is the backup of a burn that an earlier apply began and this one has settled;
// empty if there was none. A create that fails after its burn stores no state, so that the
// next one takes up also a burn whose job is settled.
func earlierBackup(creates bool, pending []journal.Report, done hca.FirmwareState) string {
	burn := func(r journal.Report) bool { return r.Kind == journal.Burn && r.Closes() }
	if creates || slices.ContainsFunc(pending, burn) {
		return done.JobBackup
	}
	return ""
}

// Read refreshes what is in flash and what runs.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	r.sawState(ctx, state)
	seen := r.ReadCard(ctx, "firmware", state.CardID, &state.CardIdentity, resp)
	if seen == nil || !seen.Card.FlashKnown() && session.FlashUnread(&resp.Diagnostics, seen.Snap, seen.Ref) {
		return
	}
	now := hca.ReadFirmware(seen.Look)
	before := state.flash()
	state.observe(seen.Ref, now)
	state.followJournal(now)
	state.normalise(seen.Ref, now, imageInFlash(seen.Snap, now))
	state.warnDrift(seen.Ref, before, &resp.Diagnostics)
	noteOriginal(ctx, state, now, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets the card. It restores the earlier firmware before if on_destroy says
// so and the plan has announced it. If that fails, the object stays in the state.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	said, ok := note{}, false
	if r.Data != nil {
		r.Restores.BeginApply()
		said, ok = r.announcedNote(ctx, req.Private, state)
	}
	switch {
	case !state.restores():
		state.warnForgotten(&resp.Diagnostics)
	case !ok:
		state.warnNotRestored(&resp.Diagnostics,
			"no plan announced a restore: the resource is replaced, or an earlier replace left it behind")
	default:
		r.restore(ctx, state, said, resp.Private, &resp.Diagnostics)
		withdraw(ctx, resp.Private, &resp.Diagnostics)
	}
}

// ImportState takes the id of the card.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	r.ImportCard(ctx, "import firmware", req, resp)
}

// announced is what the plan has shown; nil if it could not say it.
func (m *model) announced() *hca.Announced {
	if m.Change.IsUnknown() {
		return nil
	}
	from, _, burns := strings.Cut(m.Change.ValueString(), changesTo)
	return &hca.Announced{Burns: burns, From: from, Restarts: m.Announced()}
}
