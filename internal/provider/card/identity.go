package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// recordedIdentity is the identity of the card that was adopted, with all that refreshes have
// read of it. The id keeps the strongest fact, also if nothing else can be read any more.
func (m *model) recordedIdentity() ib.Identity {
	who := ib.Identity{Serial: m.SerialNumber.ValueString(), Part: m.PartNumber.ValueString(), Chip: m.Chip.ValueString()}
	if name, err := attribute.ParseCardName(m.ID.ValueString()); err == nil {
		token, tokenErr := ib.ParseToken(name.Token)
		if tokenErr == nil && who.Serial == "" {
			who.Serial = token.Serial
		}
		who.MACs, who.GUIDs = token.MACs, token.GUIDs
	}
	record, err := ib.ParseIdentity(m.CardIdentity.ValueString())
	if err != nil {
		return who // somebody edited the state; the id still says which card it is
	}
	return who.With(record)
}

// recall adds to the record what the card showed when it was adopted: before the first refresh that is
// stored, the state itself may have no MAC of it.
func (m *model) recall(ctx context.Context, at session.Kept, diags *diag.Diagnostics) {
	var noted string
	if !session.Seen(ctx, at, &noted, diags) {
		return
	}
	adopted, wrong := ib.ParseIdentity(noted)
	record, edited := ib.ParseIdentity(m.CardIdentity.ValueString())
	if errors.Join(wrong, edited) == nil {
		m.CardIdentity = types.StringValue(record.With(adopted).String())
	}
}

// refresh takes what the card shows. What tells the card from others stays as adopted if it
// cannot be read any more, or if it is not proven that the card is the recorded one.
func (m *model) refresh(ref attribute.CardRef, c *inventory.Card, recorded, now ib.Identity) {
	before := *m
	m.identify(ref, c, now)
	if name, err := attribute.ParseCardName(before.ID.ValueString()); err == nil && name.Token != "" {
		m.ID = before.ID
	}
	if c.FlashFailure == inventory.FlashBusy && !before.PortGUIDs.IsNull() {
		m.PortGUIDs = before.PortGUIDs
	}
	if !isSame(recorded, now) && !recorded.Empty() {
		m.ID, m.SerialNumber, m.PartNumber, m.PortGUIDs = before.ID, before.SerialNumber, before.PartNumber, before.PortGUIDs
		return
	}
	m.CardIdentity = types.StringValue(recorded.With(now).String())
	if m.SerialNumber.IsNull() && before.SerialNumber.ValueString() != "" {
		m.SerialNumber = before.SerialNumber
	}
	if m.PartNumber.IsNull() && before.PartNumber.ValueString() != "" {
		m.PartNumber = before.PartNumber
	}
}

// named is what state and configuration say of the card in the slot themselves. A state that
// recorded this very card says all of it. Else only what the configuration expects and the card
// shows counts; empty: the configuration takes whatever is there.
func (m *model) named(state model, c *inventory.Card, now ib.Identity) ib.Identity {
	if who := state.recordedIdentity(); isSame(who, now) {
		return who
	}
	wrong, unread := m.mismatches(c, now, c.Serial.Or(""), c.PartNumber)
	if len(wrong)+len(unread) > 0 {
		return ib.Identity{}
	}
	return ib.Identity{Serial: attribute.StringOf(m.Expect.Attributes()["serial_number"]), GUIDs: m.expectedGUIDs()}
}

// expectedGUIDs is the node GUID that the configuration expects; empty if it says none.
func (m *model) expectedGUIDs() []ib.GUID {
	guid, err := ib.ParseGUID(attribute.StringOf(m.Expect.Attributes()["node_guid"]))
	if err != nil {
		return nil // the attribute validated itself
	}
	return []ib.GUID{guid}
}

// checkExchanged refuses to adopt a card in a slot where the state has recorded another one,
// unless the configuration names it.
func (r *Resource) checkExchanged(ctx context.Context, ref attribute.CardRef, recorded []ib.Identity,
	named, now ib.Identity, unread string, diags *diag.Diagnostics) {
	for _, who := range recorded {
		if planned.OtherThan(who, named) || isSame(who, now) {
			continue
		}
		f := safety.IdentityFacts{Recorded: who, Now: now, Unread: unread}
		f.Elsewhere, f.Edit = r.WhereIs(ctx, ref, who)
		refuse(ctx, diags, ref, f)
		return
	}
}

// tell is the identity that an id stands for. A card that only its node GUID tells from the
// recorded one has that in its id, so that what was of the other one is replaced.
func (m *model) tell(recorded []ib.Identity, now ib.Identity) ib.Identity {
	guids := m.expectedGUIDs()
	for _, who := range recorded {
		if len(guids) > 0 && who.Serial == now.Serial && !isSame(who, now) {
			return ib.Identity{GUIDs: guids}
		}
	}
	return now
}

// reportMove tells where the card is if its slot is empty because it has moved.
func (r *Resource) reportMove(ctx context.Context, ref attribute.CardRef, who ib.Identity,
	diags *diag.Diagnostics) bool {
	f := safety.IdentityFacts{Recorded: who}
	if f.Elsewhere, f.Edit = r.WhereIs(ctx, ref, who); f.Elsewhere == "" {
		return false
	}
	refuse(ctx, diags, ref, f)
	return true
}

// same refuses a card that is not the recorded one. If the configuration accepts it,
// adopt is true. If the identity cannot be decided, it only warns: this resource writes
// nothing, and the resources that write refuse.
func (r *Resource) same(ctx context.Context, ref attribute.CardRef, plan, state model, snap *inventory.Snapshot,
	c *inventory.Card, diags *diag.Diagnostics) (adopt bool) {
	f := safety.IdentityFacts{Recorded: state.recordedIdentity(), Now: snap.Identity(c), Unread: snap.SilentSerial(c)}
	switch like, _ := ib.Compare(f.Recorded, f.Now); {
	case f.Recorded.Empty():
		return false
	case like == ib.Same:
		named := f.Recorded
		if r.Planned.Imported(r.CardKey(ref)) {
			named = plan.named(model{}, c, f.Now)
		}
		r.checkExchanged(ctx, ref, r.Planned.Adopt(r.CardKey(ref), named), named, f.Now, f.Unread, diags)
		return false
	case like == ib.Other && planned.OtherThan(f.Recorded, plan.named(model{}, c, f.Now)):
		return true
	case like == ib.Other:
		f.Elsewhere, f.Edit = r.WhereIs(ctx, ref, f.Recorded)
	}
	refuse(ctx, diags, ref, f)
	return false
}

func refuse(ctx context.Context, diags *diag.Diagnostics, ref attribute.CardRef, f safety.IdentityFacts) {
	found := safety.Identity(ref.PCI.String()+" of "+ref.Host, f)
	for i := range found {
		found[i].Attribute = "pci_address"
		if found[i].Rule == finding.CardUndecided {
			found[i].Severity = finding.Warn
		}
	}
	diagnostic.AddFindings(ctx, diags, "adopt card "+ref.String(), found)
}
