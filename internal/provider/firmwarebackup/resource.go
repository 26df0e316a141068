// Package firmwarebackup is the resource infiniband_firmware_backup: a proven
// backup of a card's firmware on the operator's machine.
//
// It must not run commands or decide about safety; internal/hca and
// internal/safety do. It never deletes a backup.
package firmwarebackup

import (
	"context"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// timeout bounds one backup: two reads of some seconds each, and a copy.
const timeout = 15 * time.Minute

var _ session.WithImport = &Resource{}

// Resource is infiniband_firmware_backup.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_firmware_backup", session.CardNamed("card_id"))}
}

// Create takes a backup.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	r.take(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// Update takes another backup if the triggers changed. For a card that has moved it
// stores where the card is.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Triggers.Equal(state.Triggers) {
		resp.State.Raw = req.Plan.Raw
		return
	}
	r.take(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *Resource) take(ctx context.Context, from tfsdk.Plan, to *tfsdk.State, diags *diag.Diagnostics) {
	var plan model
	diags.Append(from.Get(ctx, &plan)...)
	if diags.HasError() {
		return
	}
	what := "back up firmware of card " + plan.CardID.ValueString()
	ref, err := attribute.ParseCardRef(plan.CardID.ValueString())
	if err != nil {
		diagnostic.AddError(diags, what, err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = r.WithHost(ctx, ref.Host, func(*hosts.Host) error {
		at := r.RecordedCard(ctx, plan.CardID, session.AsPlanned(plan.CardIdentity), what, diags)
		if at == nil {
			return nil
		}
		taken, takeErr := r.Cards.Backups.Take(ctx, at.HCA)
		if takeErr == nil {
			plan.fill(ref, taken)
			plan.MatchesFlash = types.BoolValue(true)
		}
		return takeErr
	})
	diagnostic.AddError(diags, what, err)
	r.RunLog.Warn(diags)
	if !diags.HasError() {
		diags.Append(to.Set(ctx, &plan)...)
	}
}

// Read verifies the file and compares it with the card. A backup that cannot be
// relied on any more is removed from the state, so that a new one is planned;
// what is on the disk stays.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	seen := r.ReadCard(ctx, "backup", state.CardID, &state.CardIdentity, resp)
	if seen == nil {
		return
	}
	backup, why := r.open(state, seen.Look)
	if why != "" {
		resp.Diagnostics.AddWarning("Backup of card "+seen.Ref.String()+" is lost: a new one is planned",
			why+"\n\nNothing on the disk was changed or deleted.")
		resp.State.RemoveResource(ctx)
		return
	}
	session.FlashUnread(&resp.Diagnostics, seen.Snap, seen.Ref)
	state.fill(seen.Ref, backup)
	state.compare(seen.Card, backup)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// open reads the backup of the state and says why it cannot be relied on.
func (r *Resource) open(state model, look *cards.Look) (taken backup.Backup, why string) {
	taken, err := r.Cards.Backups.Open(filepath.Dir(state.ImagePath.ValueString()))
	switch {
	case err != nil:
		return taken, diagnostic.Sentence(err.Error())
	case taken.Record.SHA256 != state.SHA256.ValueString() && !state.SHA256.IsNull():
		return taken, "The file " + taken.File() + " is another backup: it has SHA-256 " + taken.Record.SHA256 +
			" instead of " + state.SHA256.ValueString() + "."
	}
	if other := taken.Other(look); other != "" {
		return taken, "The backup " + taken.Dir + " is not of the card that is in its place now: " +
			diagnostic.Sentence(other)
	}
	return taken, ""
}

// Delete forgets: a backup is never deleted.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	state.warnForgotten(&resp.Diagnostics)
}

// ImportState takes the id of a card and finds its newest backup that verifies.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	at, what := r.ImportedCard(ctx, "import backup of card", req, resp)
	if at == nil {
		return
	}
	newest, err := r.Cards.Backups.Newest(at.Look)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, what, err)
		return
	}
	state := model{CardID: attribute.NewText[attribute.CardIDKind](at.Ref.String()),
		Triggers: types.MapNull(types.StringType)}
	state.fill(at.Ref, newest)
	state.compare(at.Card, newest)
	state.CardIdentity = types.StringValue(at.Who.String())
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}
