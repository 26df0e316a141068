package firmware

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// A resource without an image shows what its card has, and never writes, neither in an
// apply nor in a destroy.

// holds is the same of a plan.
func holds(ctx context.Context, plan tfsdk.Plan, diags *diag.Diagnostics) bool {
	var m model
	diags.Append(plan.Get(ctx, &m)...)
	return !diags.HasError() && m.holds()
}

// planHeld plans such a resource. An existing one follows from the state, which a
// refresh has read. The plan of a new one has what the card has.
func (r *Resource) planHeld(ctx context.Context, plan, config, state model, exists bool,
	resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	same := exists && attribute.SameCard(state.CardID, state.CardIdentity, plan.CardID)
	if same && state.CardID.Same(plan.CardID) {
		was := state
		if state.hold(plan); state.expect(config) {
			state.Change = attribute.PlannedChange(was.flash()+changesTo+state.flash(), was.Change)
			notAsWritten(ctx, finding.Warn, was, state, diags)
		}
		diags.Append(resp.Plan.Set(ctx, &state)...)
		return
	}
	ref, ok := r.AskedCard(ctx, "firmware", plan.CardID, true, notKnownYet, diags)
	if !ok {
		return
	}
	record := r.Prior(ctx, state.CardID, plan.CardID, state.CardIdentity)
	at, now := r.look(ctx, plan.CardID, record, "adopt firmware of card "+ref.String(), diags)
	switch {
	case at == nil:
	case same: // the card has moved
		state.hold(plan)
		state.ID, state.CardID = types.StringValue(ref.String()), plan.CardID
		diags.Append(resp.Plan.Set(ctx, &state)...)
	default:
		plan.ID, plan.CardIdentity = types.StringValue(ref.String()), at.Identity
		plan.forgetImage()
		plan.Change, plan.BackupPath = types.StringNull(), types.StringNull()
		plan.OriginalBackup = attribute.OrNull(now.JobBackup)
		plan.observe(ref, now)
		is := plan
		if plan.expect(config) && notAsWritten(ctx, finding.Refuse, is, plan, diags) {
			return
		}
		plan.spell(config)
		plan.Restart = attribute.NoRestart()
		if now.Pending { // another resource may restart the host first
			plan.RunningPSID, plan.RunningVersion, plan.RebootRequired = attribute.UnknownText[attribute.PSIDKind](),
				attribute.UnknownText[attribute.VersionKind](), types.BoolUnknown()
		}
		diags.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// expect gives the plan what the configuration says of the flash. It reports whether the flash has something else.
func (m *model) expect(config model) (differs bool) {
	if want := config.FlashPSID; !want.IsNull() && !want.Same(m.FlashPSID) {
		m.FlashPSID, differs = want, !want.IsUnknown()
	}
	if want := config.FlashVersion; !want.IsNull() && !want.Same(m.FlashVersion) {
		m.FlashVersion, differs = want, differs || !want.IsUnknown()
	}
	return differs
}

// agrees refuses to hold another firmware than that of the image.
func (a *assessment) agrees(config model, diags *diag.Diagnostics) bool {
	var burned model
	burned.setImage(a.image)
	burned.FlashPSID, burned.FlashVersion = burned.ImagePSID, burned.ImageVersion
	image := burned.flash()
	if !burned.expect(config) {
		return true
	}
	diags.AddAttributeError(path.Root("flash_psid"), "Refusing to burn firmware on card "+a.at.Ref.String()+
		": the image is of other firmware", "image_id burns "+image+". flash_psid and flash_version say "+burned.flash()+
		".\n\nRemove flash_psid and flash_version. They are for a card without image_id.")
	return false
}

// spell gives what is in flash the spelling of the configuration.
func (m *model) spell(given model) {
	m.FlashPSID, m.FlashVersion = spelled(m.FlashPSID, given.FlashPSID), spelled(m.FlashVersion, given.FlashVersion)
}

// spelled is a value in the spelling of the configuration, if that means the same.
func spelled[K attribute.Kind](read, given attribute.Text[K]) attribute.Text[K] {
	if read.Same(given) {
		return given
	}
	return read
}

// notAsWritten says that the flash differs from the configuration: a plan warns, and the apply refuses.
func notAsWritten(ctx context.Context, as finding.Severity, is, want model, diags *diag.Diagnostics) (refused bool) {
	f := finding.FlashNotAsWritten.Find("The flash holds %s. The configuration says %s.", is.flash(), want.flash())
	f.Severity = as
	return diagnostic.AddFindings(ctx, diags, "hold firmware of card "+want.ID.ValueString(), []finding.Finding{f})
}

// store stores the plan of a card that exists. Where the plan has shown another flash than the configuration says,
// that flash has to be there by now: nothing is burned.
func (r *Resource) store(ctx context.Context, c session.Change, prior model, to *tfsdk.State) {
	var plan model
	c.Read(ctx, &plan, nil)
	if was := prior; was.expect(plan) && !c.Diags.HasError() {
		at, now := r.look(ctx, plan.CardID, session.AsPlanned(plan.CardIdentity), "hold firmware of card "+
			plan.ID.ValueString(), c.Diags)
		if at == nil {
			return
		}
		is := plan
		if is.observe(at.Ref, now); !is.FlashPSID.Same(plan.FlashPSID) || !is.FlashVersion.Same(plan.FlashVersion) {
			notAsWritten(ctx, finding.Refuse, is, plan, c.Diags)
			return
		}
	}
	to.Raw = c.Plan().Raw
}

// look reads the flash of the recorded card; nil if it is another card or the flash
// cannot be read, which diags tells.
func (r *Resource) look(ctx context.Context, id attribute.CardID, record types.String, what string,
	diags *diag.Diagnostics) (*session.CardAt, hca.FirmwareState) {
	at := r.RecordedCard(ctx, id, record, what, diags)
	if at == nil || diagnostic.AddFindings(ctx, diags, what, at.Strange()) {
		return nil, hca.FirmwareState{}
	}
	now := hca.ReadFirmware(at.Look)
	if at.Card.Flash == nil {
		diags.AddAttributeError(path.Root("card_id"), "Unable to "+what+": its flash could not be read",
			"What is in flash is not known. Without image_id this resource has nothing else to hold.\n\n"+
				"Wait until the card is free, or install what is missing. Then plan again.\n\nReason: "+at.Card.FlashError)
		return nil, now
	}
	return at, now
}

// hold keeps what the state has of the card. The record of an earlier burn stays, so
// that a later image_id continues from there.
func (m *model) hold(plan model) {
	m.keep(plan)
	m.ImageID = plan.ImageID
	m.forgetImage()
}

// forgetImage leaves null what follows from an image.
func (m *model) forgetImage() {
	m.ImageSHA256, m.ImageBootROM = types.StringNull(), types.StringNull()
	m.ImagePSID, m.ImageVersion = attribute.NullText[attribute.PSIDKind](), attribute.NullText[attribute.VersionKind]()
}

// adopt stores what the flash of a new card has. It waits for whoever writes to the
// host, and writes nothing.
func (r *Resource) adopt(ctx context.Context, c session.Change) {
	var plan model
	c.Read(ctx, &plan, nil)
	ref, err := attribute.ParseCardRef(plan.CardID.ValueString())
	what := "adopt firmware of card " + plan.CardID.ValueString()
	if err == nil && !c.Diags.HasError() {
		limit := c.Op.Limit(ctx, plan.Timeouts, standardTimeout)
		err = r.WriteHost(ctx, ref.Host, limit, func(ctx context.Context, _ *hosts.Host) error {
			at, now := r.look(ctx, plan.CardID, session.AsPlanned(plan.CardIdentity), what, c.Diags)
			if at != nil {
				plan.BackupPath, plan.OriginalBackup = types.StringNull(), attribute.OrNull(now.JobBackup)
				asked := plan
				plan.observe(ref, now)
				plan.spell(asked)
			}
			return nil
		})
	}
	diagnostic.AddError(c.Diags, what, err)
	if !c.Diags.HasError() {
		c.Confirm(ctx, what, &plan)
	}
}

// warnDrift warns that the flash of a card has changed since the state was stored.
// Without an image the plan has nothing to change.
func (m *model) warnDrift(ref attribute.CardRef, before string, diags *diag.Diagnostics) {
	if is := m.flash(); m.holds() && before != "" && is != before {
		diags.AddWarning("Firmware of card "+ref.String()+" is another one: "+before+" -> "+is,
			"Somebody else has written the flash since the state was stored. The configuration has no image_id, so that "+
				"nothing is burned; the state takes over what is there. "+
				"Write image_id to say what the card should have.")
	}
}

// imageInFlash is the image whose content is in flash, as far as the host knows: that
// of the last burn in its journal, if the flash has it and its copy is still there. An
// import stores it; with another one its plan would not be empty.
func imageInFlash(s *inventory.Snapshot, now hca.FirmwareState) (sha256 string) {
	if !s.Staged[now.LastBurn.Image.SHA256] || now.LastBurn.After != now.Flash {
		return ""
	}
	return now.LastBurn.Image.SHA256
}
