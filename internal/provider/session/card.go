package session

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// CardAt is a card with its host and what was found there.
type CardAt struct {
	*cards.Look
	Ref  attribute.CardRef
	Host *hosts.Host
	HCA  cards.Card
	// Identity is what a plan records of the card; see RecordedCard.
	Identity types.String
	drains   []string // commands that run before a restart of the host
}

// CardAt looks a card up. It adds an error at card_id and returns nil if the
// host is unknown, does not answer, is not supported, or has no such card.
func (d *Data) CardAt(ctx context.Context, ref attribute.CardRef, what string, diags *diag.Diagnostics) *CardAt {
	at := path.Root("card_id")
	h, cfg, snap, err := d.Look(ctx, ref.Host)
	if err != nil {
		diagnostic.AddErrorAt(diags, at, what, err)
		return nil
	}
	look, err := cards.LookAt(snap, ref.PCI)
	if err != nil {
		diags.AddAttributeError(at, "Unable to "+what, NoCard(snap, ref))
		return nil
	}
	p, err := platform.Of(snap)
	if err != nil {
		diagnostic.AddErrorAt(diags, at, what, err)
		return nil
	}
	return &CardAt{Look: look, Ref: ref, Host: h, HCA: cards.On(h, ref.PCI, p, cfg.RebootAllowed, cfg.Reboot),
		drains: cfg.Reboot.DrainCommands}
}

// FlashUnread reports whether the flash of a card could not be read, and warns
// with the reason. Nothing is concluded from that.
func FlashUnread(diags *diag.Diagnostics, snap *inventory.Snapshot, ref attribute.CardRef) bool {
	c, ok := snap.Card(ref.PCI)
	if !ok || c.ReadFlash() != nil {
		return false
	}
	diags.AddWarning("Card "+ref.String()+": its flash could not be read",
		"The state keeps the values that were read last. "+flashAdvice(c)+"\n\nReason: "+c.FlashError)
	return true
}

// flashAdvice says what a flash that was not read means, by the kind of the failure.
func flashAdvice(c *inventory.Card) string {
	a, _ := c.Adapter()
	switch {
	case c.ByDriver():
		return "Its driver tells the firmware and nothing else of the flash."
	case a.Firmware != "":
		return "The card works without that. Only its firmware and its GUIDs cannot be managed."
	case c.FlashFailure == inventory.FlashUsersUnknown:
		return "The provider reads a card only if it knows that no other program uses it."
	case c.FlashFailure == inventory.FlashLocked:
		return "Another operation of this provider holds the lock of the cards on this host, as a job does that writes one " +
			"of them. Plan again when it has ended."
	case c.FlashTaken:
		return "Another program is at the card, or a job writes to it. Nothing else may read it then."
	case c.FlashFailure == inventory.FlashToolMissing:
		return "Install mstflint on the host."
	case c.Livefish:
		return "The card is in recovery mode: it found no firmware that boots."
	}
	return "Do not restart the host before the flash verifies: the card may not start from it."
}

// InUse reports whether others use a card, so that its configuration was not read, and
// warns of it.
func InUse(diags *diag.Diagnostics, snap *inventory.Snapshot, ref attribute.CardRef) bool {
	users := snap.UsersOf(ref.PCI)
	if len(users) == 0 {
		return false
	}
	diags.AddWarning("Card "+ref.String()+": its configuration was not read",
		"Another program uses the card, so the provider does not touch it. The state keeps the values that were read "+
			"last.\n\nReason: busy: "+inventory.UsersText(users))
	return true
}

// LeftAlone reports whether a card is in use by others and nothing new is asked of it.
// The plan is then what was read last, with a warning.
func LeftAlone(at *CardAt, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) bool {
	c, ok := at.Snap.Card(at.Ref.PCI)
	if !ok || c.FlashFailure != inventory.FlashBusy || req.State.Raw.IsNull() || !req.Plan.Raw.Equal(req.State.Raw) {
		return false
	}
	FlashUnread(&resp.Diagnostics, at.Snap, at.Ref)
	return true
}

// WarnRestart says while planning that the apply restarts the host of the card, and what runs before.
func (c *CardAt) WarnRestart(diags *diag.Diagnostics, why string) {
	if len(c.drains) > 0 {
		why += "\n\nThese commands drain the host before:\n- " + strings.Join(c.drains, "\n- ")
	}
	diags.AddWarning("The apply restarts host "+c.Ref.Host+" for card "+c.Ref.String(), why)
}

// AddJobs warns of flash jobs that nobody has settled: what another apply does now, or
// an interrupted one left. What the card will have is open until they are.
func (d *Data) AddJobs(diags *diag.Diagnostics, ref attribute.CardRef, jobs []journal.Report) {
	d.Planned.LeaveOpen(ref, journal.AnyCloses(jobs))
	for _, j := range jobs {
		diags.AddWarning(j.Title(ref.String()), j.String())
	}
}

// Await notes what a verdict writes to a card that the next restart is to load, if it has none
// itself: the infiniband_activation of the host is planned after it.
func (d *Data) Await(ref attribute.CardRef, v safety.Verdict, what string) {
	waits := v.Action == safety.ActionBurn || v.Action == safety.ActionSetGUIDs || v.Action == safety.ActionLinkTypes
	if waits && v.Activation != safety.ActivationReboot {
		d.Planned.Await(ref, what)
	}
}

// Restart is the restart of the card's host.
func (c *CardAt) Restart() attribute.Restart {
	r := attribute.NoRestart()
	r.Restarts = types.StringValue(c.Ref.Host)
	if len(c.drains) > 0 {
		r.Drains = attribute.StringList(c.drains)
	}
	return r
}

// PlannedRestart is the restart that a verdict on a card announces. It is unknown if the host is
// restarted for what was written before: another card of this plan may have it restarted first.
func (c *CardAt) PlannedRestart(v safety.Verdict) attribute.Restart {
	switch {
	case v.Action == safety.ActionWait:
		return attribute.UnknownRestart()
	case v.Activation != safety.ActivationReboot:
		return attribute.NoRestart()
	case v.Action == safety.ActionNone:
		return attribute.UnknownRestart()
	}
	return c.Restart()
}

// Restarted is the restart that an apply has made since the look at a card, for a plan that could
// not say it.
func (d *Data) Restarted(ctx context.Context, planned attribute.Restart, before *CardAt) attribute.Restart {
	if !planned.Restarts.IsUnknown() {
		return planned
	}
	_, _, now, err := d.Look(ctx, before.Ref.Host)
	if err != nil || now.BootID == before.Snap.BootID {
		return attribute.NoRestart()
	}
	return before.Restart()
}
