package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Prior is what a plan knows of the identity of a card: what the state recorded, if it is of
// the card that the configuration names. If the configuration names another card in the same
// slot, that is noted: core plans the replacement without a prior state.
func (d *Data) Prior(ctx context.Context, state, plan attribute.CardID, recorded types.String) types.String {
	if recorded.IsUnknown() || plan.IsUnknown() {
		return types.StringNull()
	}
	if attribute.SameCard(state, recorded, plan) {
		return recorded
	}
	was, err := attribute.ParseCardName(state.ValueString())
	is, planErr := attribute.ParseCardName(plan.ValueString())
	who, whoErr := recordedIdentity(was, recorded)
	if errors.Join(err, planErr, whoErr) == nil && !who.Empty() && was.Host == is.Host &&
		was.PCI.Slot() == is.PCI.Slot() {
		_, _, _, _ = d.Look(ctx, was.Host) // without an answer nothing is planned either
		d.Planned.SetExchanged(d.CardKey(was.CardRef), who)
	}
	return types.StringNull()
}

// AsPlanned is the identity for an apply: the planned one. Without one no card is the
// right one.
func AsPlanned(planned types.String) types.String { return types.StringValue(planned.ValueString()) }

// recordedIdentity gives the identity that an id and an earlier record stand for.
func recordedIdentity(name attribute.CardName, record types.String) (ib.Identity, error) {
	if record.IsNull() || record.IsUnknown() {
		return ib.ParseToken(name.Token)
	}
	return ib.ParseIdentity(record.ValueString())
}

// RecordedCard is CardAt for a change of the card: it compares the card with record. If
// record is null, only the id can say which card it is; otherwise the present one is
// taken. The verdict refuses a card that is not the recorded one. An object that is made
// anew (a taint, -replace, another name) has no record: the card in a slot that the state knows
// to be another's is not taken for it, unless the configuration names the new card. If all that
// recorded it is made anew without a refresh, nothing is known of the old one: core gives no
// prior state to the plan of such an object.
func (d *Data) RecordedCard(ctx context.Context, id attribute.CardID, record types.String, what string,
	diags *diag.Diagnostics) *CardAt {
	if ref, err := attribute.ParseCardRef(id.ValueString()); err == nil && record.IsNull() {
		_, _, _, _ = d.Look(ctx, ref.Host) // cardOf says what fails
		if old, exchanged := d.taken(id); exchanged {
			record = types.StringValue(old.String())
		}
	}
	return d.cardOf(ctx, id, record, what, diags)
}

// taken notes that the card in a slot is taken for what the id says. It gives the one that the
// state has there, if that is another one. Look at its host before.
func (d *Data) taken(id attribute.CardID) (old ib.Identity, exchanged bool) {
	name, err := attribute.ParseCardName(id.ValueString())
	token, tokenErr := ib.ParseToken(name.Token)
	if errors.Join(err, tokenErr) != nil {
		return ib.Identity{}, false // the attribute validated itself
	}
	return d.Planned.Take(d.CardKey(name.CardRef), token)
}

func (d *Data) cardOf(ctx context.Context, id attribute.CardID, record types.String, what string,
	diags *diag.Diagnostics) *CardAt {
	name, err := attribute.ParseCardName(id.ValueString())
	if err != nil {
		return nil // the attribute validated itself
	}
	who, err := recordedIdentity(name, record)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("card_id"), what, err)
		return nil
	}
	if d.movedAway(ctx, name, who, what, diags) {
		return nil
	}
	at := d.CardAt(ctx, name.CardRef, what, diags)
	if at == nil {
		return nil
	}
	now := at.Who
	if record.IsNull() {
		first := at.Before(at.Host.First())
		who = firstRecord(expectedIdentity(name, who, first.Who, true), first)
	} else {
		who = expectedIdentity(name, who, now, false)
	}
	at.HCA.Recorded, at.Identity = who, types.StringValue(who.String())
	if !isSame(who, now) && !who.Empty() {
		at.HCA.Elsewhere, at.HCA.Edit, _ = d.whereIs(ctx, name.CardRef, who)
	}
	return at
}

// FirstRecord is what the plan of a new infiniband_card records of the card in a slot that its id
// names, with the first look of this process at the host: an apply may have the card show more since.
func FirstRecord(id types.String, pci ib.PCIAddress, snap *inventory.Snapshot) types.String {
	name, err := attribute.ParseCardName(id.ValueString())
	look, gone := cards.LookAt(snap, pci)
	token, wrong := ib.ParseToken(name.Token)
	if errors.Join(err, gone, wrong) != nil {
		return types.StringNull() // neither is: the caller has made the id, from the card in this snapshot
	}
	who := expectedIdentity(name, token, look.Who, true)
	return types.StringValue(firstRecord(who, look).String())
}

// firstRecord adds the GUID that the card keeps while its flash is written, if it is the card that
// is asked for.
func firstRecord(who ib.Identity, look *cards.Look) ib.Identity {
	if !isSame(who, look.Who) {
		return who
	}
	return who.With(firstGUID(look))
}

// firstGUID is the GUID of the card that a plan without a record keeps: the one that its driver
// shows, which stays while flash is written. Where no driver shows any it is the one in flash,
// unless a job of ours is at that: it would be another one when the plan is applied.
func firstGUID(c *cards.Look) (who ib.Identity) {
	shown, guids := c.Snap.ShownIdentity(c.Card), []ib.GUID{c.Card.NodeGUID}
	if f := c.Card.Flash; f != nil && c.Card.RDMADevice == "" && len(c.Pending) == 0 {
		guids = append(guids, f.GUIDs.Node)
	}
	for _, g := range guids {
		if len(who.GUIDs) == 0 && slices.Contains(shown.GUIDs, g) {
			who.GUIDs = []ib.GUID{g}
		}
	}
	return who
}

func isSame(a, b ib.Identity) bool {
	like, _ := ib.Compare(a, b)
	return like == ib.Same
}

// Strange says what speaks against the card being the recorded one.
func (c *CardAt) Strange() []finding.Finding {
	return safety.Identity(placeOf(c.Ref), safety.IdentityFacts{
		Recorded: c.HCA.Recorded, Now: c.Snap.Identity(c.Card), Unread: c.Snap.SilentSerial(c.Card),
		Elsewhere: c.HCA.Elsewhere, Edit: c.HCA.Edit,
	})
}

// expectedIdentity is the identity that the card must have: the recorded one, unless
// the id names another. The first time, the present card is recorded if the id does not
// contradict it.
func expectedIdentity(name attribute.CardName, who, now ib.Identity, first bool) ib.Identity {
	if token, err := ib.ParseToken(name.Token); err == nil {
		if like, _ := ib.Compare(token, now); like == ib.Other {
			return token
		}
	}
	like, _ := ib.Compare(who, now)
	switch {
	case first && who.Empty():
		return now.Record()
	case first && like == ib.Same:
		// The plan and the apply must record the same, though the apply may read more or
		// less of the card; so it follows from the id.
		who.Chip = now.Chip
		if who.Serial != "" {
			who.Part = now.Part
		}
	}
	return who
}

// movedAway refuses if the slot is empty and the card that was in it is somewhere else.
func (d *Data) movedAway(ctx context.Context, name attribute.CardName, who ib.Identity, what string,
	diags *diag.Diagnostics) bool {
	_, _, snap, err := d.Look(ctx, name.Host)
	if err != nil || who.Empty() {
		return false // CardAt says so
	}
	if _, there := snap.Card(name.PCI); there {
		return false
	}
	at, edit, _ := d.whereIs(ctx, name.CardRef, who)
	if at == "" {
		return false
	}
	return diagnostic.AddFindings(ctx, diags, what,
		safety.Identity(placeOf(name.CardRef), safety.IdentityFacts{Recorded: who, Elsewhere: at, Edit: edit}))
}

func placeOf(ref attribute.CardRef) string { return ref.PCI.String() + " of " + ref.Host }

// whereIs looks for a card in all other slots of all hosts. It gives its address, the
// lines of configuration that follow it, and the hosts that did not answer. It runs
// only if a card is not in its slot.
func (d *Data) whereIs(ctx context.Context, from attribute.CardRef,
	who ib.Identity) (at, edit string, silent []string) {
	found, missing := d.Snapshots(ctx)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		pci, ok := found[name].Find(who)
		switch {
		case !ok || name == from.Host && pci.Slot() == from.PCI.Slot():
		case name == from.Host:
			return pci.String(), fmt.Sprintf("    pci_address = %q", pci), nil
		default:
			at, edit = pci.String()+" of "+name, fmt.Sprintf("    host        = %q\n    pci_address = %q", name, pci)
		}
	}
	return at, edit, slices.Sorted(maps.Keys(missing))
}

// WhereIs gives the address at which a card is now and the lines of configuration
// that follow it; empty if no host that answers has it.
func (d *Data) WhereIs(ctx context.Context, from attribute.CardRef, who ib.Identity) (at, edit string) {
	at, edit, _ = d.whereIs(ctx, from, who)
	return at, edit
}

// Presence is what a refresh found in the slot of a card.
type Presence int

// The outcomes.
const (
	Present Presence = iota // the recorded card, as far as can be seen
	Absent                  // no card, and the recorded one is on no host
	Strange                 // another card or none, which a warning has told
)

// RecordedPresence compares what a refresh finds with what the state recorded, and records it
// the first time. It adds to the record of a card only if that is proven to be the same: what
// this provider has written is known then, also when the journal of the host is gone. The
// state of another card stays as it is: the next plan refuses, and nothing is lost.
func (d *Data) RecordedPresence(ctx context.Context, snap *inventory.Snapshot, id attribute.CardID,
	record *types.String, diags *diag.Diagnostics) Presence {
	name, err := attribute.ParseCardName(id.ValueString())
	if err != nil {
		return Present
	}
	who, err := recordedIdentity(name, *record)
	if err != nil {
		return Present // the plan says so
	}
	card, there := snap.Card(name.PCI)
	var now ib.Identity
	if there {
		now = snap.Identity(card)
	}
	presence := d.Compare(ctx, name.CardRef, who, now, there, diags)
	like, _ := ib.Compare(who, now)
	if presence == Present && (like == ib.Same || who.Empty()) {
		// What it had before stays: ids and plans may name it.
		*record = types.StringValue(who.With(now).String())
	}
	return presence
}

// noteExchanged notes that a refresh found another card than the recorded one in a slot, or
// perhaps another one. If this walk has already planned to write to it, that is refused.
func (d *Data) noteExchanged(ctx context.Context, ref attribute.CardRef, who, now ib.Identity,
	diags *diag.Diagnostics) {
	like, _ := ib.Compare(who, now)
	if like == ib.Same || who.Empty() {
		return
	}
	if late := d.Planned.SetExchanged(d.CardKey(ref), who); late && like == ib.Other {
		diagnostic.AddFindings(ctx, diags, "use card "+ref.String(),
			safety.Identity(placeOf(ref), safety.IdentityFacts{Recorded: who, Now: now}))
	}
}

// Compare is RecordedPresence for an identity that is known already.
func (d *Data) Compare(ctx context.Context, ref attribute.CardRef, who, now ib.Identity, there bool,
	diags *diag.Diagnostics) Presence {
	if there {
		d.noteExchanged(ctx, ref, who, now, diags)
	}
	like, _ := ib.Compare(who, now)
	if there && like != ib.Other {
		return Present
	}
	if who.Empty() {
		return Absent
	}
	at, edit, silent := d.whereIs(ctx, ref, who)
	if !there && at == "" {
		if len(silent) == 0 {
			return Absent
		}
		diags.AddWarning("Card "+ref.String()+" is not in its slot",
			fmt.Sprintf("It may have moved to %s, which did not answer. Until that is known, the state keeps what was "+
				"recorded.\n\nRecorded: %s", NameList("host", silent), who.Record()))
		return Strange
	}
	for _, f := range safety.Identity(placeOf(ref),
		safety.IdentityFacts{Recorded: who, Now: now, Elsewhere: at, Edit: edit}) {
		diags.AddWarning("Card "+ref.String()+": "+f.Rule.Code+" "+f.Summary,
			"The state keeps what was recorded. "+f.Detail())
	}
	return Strange
}

// Renamed gives the name that the host of a state had, and the one that it has now, if its key in
// the hosts map was renamed: the machine is recognised by the card, or the port, that the state has
// of it. The second is empty if the host is in the map, or if not exactly one machine is that. attrs
// are the attributes of the state that are texts.
func (d *Data) Renamed(ctx context.Context, attrs map[string]string) (old, is string) {
	old, _, _ = strings.Cut(cmp.Or(attrs["host"], attrs["card_id"], attrs["id"]), "/")
	if !d.Ready || old == "" || d.InMap(old) == nil {
		return old, ""
	}
	found, _ := d.Machines(ctx)
	has := recordedOn(attrs)
	for name, snap := range found {
		if !has(snap) {
			continue
		}
		if is != "" {
			return old, ""
		}
		is = name
	}
	return old, is
}

// recordedOn finds the machine that has the card of a state in its slot, or its port.
func recordedOn(attrs map[string]string) func(*inventory.Snapshot) bool {
	record := types.StringNull()
	if text, ok := attrs["card_identity"]; ok {
		record = types.StringValue(text)
	}
	name, err := attribute.ParseCardName(cmp.Or(attrs["card_id"], attrs["id"]))
	who, unread := recordedIdentity(name, record)
	guid, _ := ib.ParseGUID(attrs["port_guid"]) // without one it is zero, which no port has
	return func(snap *inventory.Snapshot) bool {
		if errors.Join(err, unread) == nil && !who.Empty() {
			pci, there := snap.Find(who)
			return there && pci.Slot() == name.PCI.Slot()
		}
		_, _, is := snap.CardByPortGUID(guid)
		return is
	}
}
