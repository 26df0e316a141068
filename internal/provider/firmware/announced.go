package firmware

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// noteKey is where the plan of a destroy leaves its note, in private data. Core gives
// that to the delete that it planned. In a replace the delete gets what the plan of the
// new object left instead (Terraform 1.11, OpenTofu 1.12).
const noteKey = "announced_restore"

// note is what the plan of a destroy has told the operator.
type note struct {
	Walk   string `json:"walk"`
	Card   string `json:"card"`
	Backup string `json:"backup"`
	// Burns says that the plan announced a write; it did not if the card had its old
	// firmware by then.
	Burns bool `json:"burns"`
}

// private is what plans and operations have of private data.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// leave leaves the note that permits the restore.
func (n note) leave(ctx context.Context, in private, diags *diag.Diagnostics) {
	text, err := json.Marshal(n)
	if err != nil {
		diagnostic.AddError(diags, "note the restore of card "+n.Card, err)
		return
	}
	diags.Append(in.SetKey(ctx, noteKey, text)...)
}

// withdraw takes an older note back: a destroy that failed has left it in the
// state.
func withdraw(ctx context.Context, in private, diags *diag.Diagnostics) {
	text, found := in.GetKey(ctx, noteKey)
	if found.HasError() || len(text) == 0 {
		return
	}
	diags.Append(in.SetKey(ctx, noteKey, []byte("{}"))...)
}

// announcedNote gives the note of the plan that announced this restore. A note of the
// same walk does not count: core plans the destroy of what a create_before_destroy
// replaces just before it is done.
func (r *Resource) announcedNote(ctx context.Context, in private, state model) (note, bool) {
	text, found := in.GetKey(ctx, noteKey)
	var n note
	if found.HasError() || len(text) == 0 || json.Unmarshal(text, &n) != nil {
		return note{}, false
	}
	return n, n.Walk != "" && n.Walk != r.Restores.Walk() &&
		n.Card == state.CardID.ValueString() && n.Backup == state.OriginalBackup.ValueString()
}

// key names the card for this walk, under all names of its host: a host that answers is
// named by its machine.
func (r *Resource) key(ctx context.Context, ref attribute.CardRef) string {
	if r.Readable(types.StringValue(ref.Host)) {
		_, _, _, _ = r.Look(ctx, ref.Host) // whoever needs the host says why it does not answer
	}
	return r.CardKey(ref)
}

// sawState notes that the state has a resource of the card.
func (r *Resource) sawState(ctx context.Context, state model) {
	ref, err := attribute.ParseCardRef(state.CardID.ValueString())
	if err == nil && r.Readable(types.StringValue(ref.Host)) {
		r.Restores.SawState(r.key(ctx, ref))
	}
}

// hold notes that the configuration has the card. It gives false if this plan restores
// the card.
func (r *Resource) hold(ctx context.Context, card attribute.CardID, exists bool, diags *diag.Diagnostics) bool {
	if card.IsUnknown() {
		return !r.Restores.HoldUnknown() || !refusePerhapsHeld(ctx, diags, "plan firmware of a card that is not known yet")
	}
	ref, err := attribute.ParseCardRef(card.ValueString())
	if err != nil {
		return true // the attribute validated itself
	}
	key := r.key(ctx, ref)
	if r.Restores.Hold(key, exists) {
		return !refuseHeld(ctx, diags, ref)
	}
	if !exists && r.Restores.InState(key) {
		warnReplaced(diags, ref.String())
	}
	return true
}

func refuseHeld(ctx context.Context, diags *diag.Diagnostics, ref attribute.CardRef) bool {
	return diagnostic.AddFindings(ctx, diags, "restore firmware of card "+ref.String(),
		[]finding.Finding{finding.RestoreOfManagedCard.Find("Card %s", ref)})
}

// refusePerhapsHeld refuses a plan that restores one card and has firmware for one that is not
// known yet: it may be the same.
func refusePerhapsHeld(ctx context.Context, diags *diag.Diagnostics, what string) bool {
	return diagnostic.AddFindings(ctx, diags, what, []finding.Finding{finding.RestoreOfManagedCard.Find(
		"The plan restores a card, and the card_id of another infiniband_firmware is not known yet. It may be that card.").
		WithWayOut(finding.RestoreOfManagedCard.WayOut + " If they are two cards, destroy the one first, and apply the " +
			"other one after that.")})
}

// warnReplaced is the plan of a replace.
func warnReplaced(diags *diag.Diagnostics, card string) {
	diags.AddWarning("Replacing firmware of card "+card+": nothing is restored",
		"The plan destroys the resource and creates it again: after a taint, for another card, or under another name. "+
			"The card keeps the firmware that is in its flash; on_destroy = \"restore\" does not act in a replace. "+
			"The new resource burns its image only if the card does not have it.")
}
