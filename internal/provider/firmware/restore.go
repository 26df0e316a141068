package firmware

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// restores reports whether a destroy of what the state holds burns the card. Without
// an image nothing is ever written.
func (m *model) restores() bool {
	return !m.holds() && m.OnDestroy.ValueString() == destroyRestore && m.OriginalBackup.ValueString() != ""
}

// kept are the arguments that a destroy needs from the state, where there is no
// configuration any more.
var kept = []string{"on_destroy", "rollback_image_id", "boot_rom", "activation", "allowed_management_path"}

// places are the attributes that say where the card is. Another image on the same
// host differs in image_sha256, too.
var places = []string{"id", "card_id", "image_id"}

// planDestroy says what a destroy will do to the card, and refuses one that
// cannot be done. The note that it leaves permits the restore.
func (r *Resource) planDestroy(ctx context.Context, state model, leave private, diags *diag.Diagnostics) {
	withdraw(ctx, leave, diags)
	if !state.restores() {
		state.warnForgotten(diags)
		return
	}
	if r.Restores.SetApplying() {
		return // of what was replaced; the delete says that nothing is restored
	}
	card := state.CardID.ValueString()
	ref, err := attribute.ParseCardRef(card)
	if err != nil {
		diagnostic.AddError(diags, "restore firmware of card "+card, err)
		return
	}
	switch r.Restores.Announce(r.key(ctx, ref)) {
	case planned.HeldByNew:
		refuseHeld(ctx, diags, ref)
		return
	case planned.HeldPerhaps:
		refusePerhapsHeld(ctx, diags, "restore firmware of card "+ref.String())
		return
	case planned.HeldByOther:
		state.warnNotRestored(diags, "another resource of the configuration has the card")
		return
	case planned.HeldByNobody:
	}
	if said, burns := r.planRestore(ctx, ref, state, leave, diags); said {
		note{Walk: r.Restores.Walk(), Card: card, Backup: state.OriginalBackup.ValueString(), Burns: burns}.leave(ctx, leave,
			diags)
	}
}

// planRestore gives the verdict on a restore and announces it. It reports whether
// it was announced, and whether as a write.
func (r *Resource) planRestore(ctx context.Context, ref attribute.CardRef, state model, kept session.Kept,
	diags *diag.Diagnostics) (said, burns bool) {
	card := ref.String()
	if !r.HostReady(types.StringValue(ref.Host)) {
		diagnostic.AddPostponed(diags, "restoring the firmware of card "+card,
			"the provider's configuration is not known yet")
		return true, true
	}
	ask, ok := r.restoreOf(ctx, ref, state, kept, diags)
	if !ok {
		return false, false
	}
	a, err := r.Cards.AssessRestore(ctx, ask)
	if err != nil {
		diagnostic.AddError(diags, "plan to restore firmware of card "+card, err)
		return false, false
	}
	r.AddJobs(diags, ref, a.Jobs)
	if diagnostic.AddFindings(ctx, diags, "restore firmware of card "+card, diagnostic.WithoutJobs(a.Verdict.Findings)) {
		return false, false
	}
	announce(diags, card, r.Cards.Backups.Place(ask.Backup), r.Hosts[ref.Host].Reboot.DrainCommands, a.Verdict)
	return true, a.Verdict.Action != safety.ActionNone
}

// restoreOf gathers what a restore needs from the state.
func (r *Resource) restoreOf(ctx context.Context, ref attribute.CardRef, state model, kept session.Kept,
	diags *diag.Diagnostics) (hca.Restore, bool) {
	what := "restore firmware of card " + ref.String()
	at := r.RecordedCard(ctx, state.CardID, session.AsPlanned(state.CardIdentity), what, diags)
	if at == nil {
		return hca.Restore{}, false
	}
	left, err := ib.ParseFWVersion(state.ImageVersion.ValueString())
	if err != nil {
		diagnostic.AddError(diags, what, fmt.Errorf("the version that was burned is not in the state: %w", err))
		return hca.Restore{}, false
	}
	how := safety.Activation(state.Activation.ValueString())
	if how == safety.ActivationHost { // the infiniband_activation was destroyed before
		how = safety.ActivationReboot
	}
	ask := hca.Restore{
		Card: at.HCA, Backup: state.OriginalBackup.ValueString(), SHA256: originalOf(ctx, state, kept, diags),
		Lab:            r.Lab(ctx, ref, diags),
		Left:           ib.Firmware{PSID: ib.PSID(state.ImagePSID.ValueString()), FW: left},
		Activation:     how,
		ManagementPath: attribute.StringsOf(state.AllowedPath),
	}
	if back, err := attribute.ParseImageRef(state.RollbackID.ValueString()); err == nil {
		ask.Declared = back.SHA256
	}
	if sum := state.ImageSHA256.ValueString(); at.Facts.WithoutCopy() && at.Snap.Staged[sum] {
		parsed, size, err := image.Open(ctx, at.Host, sum)
		burned := image.Facts(at.Ref.Host+"/"+sum, sum, "", size, parsed, err)
		ask.Burned = &burned
	}
	return ask, true
}

// announce is the plan of a restore from a backup. drains are the commands before a restart of the host.
func announce(diags *diag.Diagnostics, card, backup string, drains []string, v safety.Verdict) {
	var then string
	switch {
	case v.Activation == safety.ActivationReboot && len(drains) > 0:
		then = "Afterwards the host is drained and restarted, so that the card runs it. Its drain_commands are: " +
			strings.Join(drains, "; ") + "."
	case v.Activation == safety.ActivationReboot:
		then = "Afterwards the host is restarted, so that the card runs it."
	case v.Action == safety.ActionBurn:
		then = "The host is not restarted. Until somebody restarts it, the card runs its present firmware."
	}
	switch v.Action {
	case safety.ActionBurn:
		diags.AddWarning(fmt.Sprintf("The destroy restores firmware of card %s, %s %s -> %s %s", card, v.From.PSID, v.From.FW,
			v.To.PSID, v.To.FW),
			strings.TrimSpace("on_destroy is \"restore\". The destroy burns the firmware that the card had before, from the "+
				"backup "+backup+". Before that it backs up the present firmware. "+
				"The card keeps its present GUIDs and MACs. "+then))
	case safety.ActionNone:
		diags.AddWarning(fmt.Sprintf("Nothing to restore: firmware of card %s, %s %s", card, v.To.PSID, v.To.FW),
			strings.TrimSpace("The flash already holds the firmware of the backup "+backup+"; nothing is written. "+then))
	case safety.ActionWait:
		diags.AddWarning("The destroy restores firmware of card "+card+", after a job that is running",
			"The destroy waits for the job, reads the card, and burns the backup "+backup+
				" if the card does not hold it then.")
	case safety.ActionRefuse, safety.ActionSetGUIDs, safety.ActionLinkTypes, safety.ActionBackup, safety.ActionSettings:
	}
}

// restore burns the backup back.
func (r *Resource) restore(ctx context.Context, state model, plan note, kept session.Kept, diags *diag.Diagnostics) {
	card := state.CardID.ValueString()
	ref, err := attribute.ParseCardRef(card)
	if err == nil && !r.HostReady(types.StringValue(ref.Host)) {
		err = errors.New("the provider's configuration is not known yet, so that the host cannot be reached")
	}
	if err != nil {
		diagnostic.AddError(diags, "restore firmware of card "+card, err)
		return
	}
	var done hca.FirmwareState
	err = r.WriteCard(ctx, diags, ref, attribute.Delete.Limit(ctx, state.Timeouts, standardTimeout),
		func(ctx context.Context) (opErr error) {
			if r.Restores.Announce(r.key(ctx, ref)) != planned.HeldByNobody {
				// Its card was not known when the restore was planned.
				refuseHeld(ctx, diags, ref)
				return nil
			}
			ask, ok := r.restoreOf(ctx, ref, state, kept, diags)
			if !ok {
				return nil
			}
			ask.NoWrite = !plan.Burns
			done, opErr = r.Cards.RestoreFirmware(ctx, ask)
			r.MarkStop(ctx, ask.Card, done.JobID, opErr, diags)
			return opErr
		})
	diagnostic.AddError(diags, "restore firmware of card "+card, err)
	if diags.HasError() {
		diags.AddWarning("Card "+card+" stays in the state: its firmware was not restored",
			"Destroy again to go on; a job that still runs on the host is taken up. To leave the firmware as it is, write "+
				"on_destroy = \"keep\" and apply before.")
		return
	}
	diagnostic.AddNotes(diags, fmt.Sprintf("Restored: firmware of card %s, %s %s", card, done.Flash.PSID, done.Flash.FW),
		done.Did)
}

// warnNotRestored warns that the object is forgotten without the restore that it asks
// for.
func (m *model) warnNotRestored(diags *diag.Diagnostics, why string) {
	diags.AddWarning("Not restored: firmware of card "+m.CardID.ValueString(),
		"on_destroy is \"restore\", and "+why+
			". The card keeps the firmware that is in its flash; nothing is written to it. "+
			"The backup of the earlier firmware is "+m.OriginalBackup.ValueString()+".")
}

func (m *model) warnForgotten(diags *diag.Diagnostics) {
	card := m.CardID.ValueString()
	stays := "The card keeps the firmware that is in its flash; nothing is written to it."
	switch {
	case m.OnDestroy.ValueString() == destroyRestore && m.holds():
		stays += " on_destroy is \"restore\", but the configuration had no image_id: such a resource writes nothing to its " +
			"card, and nothing is restored."
		if backup := m.OriginalBackup.ValueString(); backup != "" {
			stays += " The backup of the earlier firmware is " + backup + "."
		}
	case m.OnDestroy.ValueString() == destroyRestore:
		stays += " on_destroy is \"restore\", but the state has no backup of an earlier firmware of this card: nothing is " +
			"restored. Look into backup_dir for one."
	case m.OriginalBackup.ValueString() != "":
		stays += " To go back to the firmware that it had before, write on_destroy = \"restore\" and apply before you " +
			"destroy; the backup is " + m.OriginalBackup.ValueString() + "."
	default:
		stays += " To go back to the firmware that it had before, burn the backup from backup_dir with an " +
			"infiniband_firmware_image and an infiniband_firmware resource."
	}
	diagnostic.AddForgotten(diags, "firmware of card", card, stays)
}
