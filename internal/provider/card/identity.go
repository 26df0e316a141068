package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// recordedIdentity is the identity of the card at adoption. The id keeps the strongest
// fact, also if the others cannot be read any more.
func (m *model) recordedIdentity() ib.Identity {
	who := ib.Identity{Serial: m.SerialNumber.ValueString(), Part: m.PartNumber.ValueString(), Chip: m.Chip.ValueString()}
	if name, err := attribute.ParseCardName(m.ID.ValueString()); err == nil {
		token, tokenErr := ib.ParseToken(name.Token)
		if tokenErr == nil && who.Serial == "" {
			who.Serial = token.Serial
		}
		who.MACs, who.GUIDs = token.MACs, token.GUIDs
	}
	for _, v := range m.FlashMACs.Elements() {
		if mac, err := ib.ParseMAC(attribute.StringOf(v)); err == nil {
			who.MACs = append(who.MACs, mac)
		}
	}
	for _, text := range m.guids() {
		if guid, err := ib.ParseGUID(text); err == nil {
			who.GUIDs = append(who.GUIDs, guid)
		}
	}
	return who
}

// guids are the GUIDs in flash, or those in use if no tool can read the flash.
func (m *model) guids() []string {
	all := []string{m.FlashNode.ValueString()}
	for _, v := range m.FlashPorts.Elements() {
		all = append(all, attribute.StringOf(v))
	}
	if !m.FlashPSID.IsNull() {
		return all
	}
	all = append(all, m.NodeGUID.ValueString())
	for _, v := range m.Ports.Elements() {
		port, ok := v.(types.Object)
		// The GUID of an Ethernet port is made from its MAC.
		if ok && attribute.StringOf(port.Attributes()["link_layer"]) == "InfiniBand" {
			all = append(all, attribute.StringOf(port.Attributes()["port_guid"]))
		}
	}
	return all
}

// refresh fills everything but the identity. Part and serial number stay as adopted if
// the vital product data cannot be read any more, or if it is not proven that the card is
// the recorded one.
func (m *model) refresh(ref attribute.CardRef, c *inventory.Card, recorded, now ib.Identity) {
	before := *m
	m.observe(ref, c, now)
	if c.FlashFailure == inventory.FlashBusy {
		m.keepFlash(before)
	}
	if name, err := attribute.ParseCardName(before.ID.ValueString()); err == nil && name.Token != "" {
		m.ID = before.ID
	}
	if like, _ := ib.Compare(recorded, now); like != ib.Same && !recorded.Empty() {
		m.ID, m.SerialNumber, m.PartNumber = before.ID, before.SerialNumber, before.PartNumber
		return
	}
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
	wrong, unread := m.mismatches(c, c.Serial.Or(""), c.PartNumber)
	if len(wrong)+len(unread) > 0 {
		return ib.Identity{}
	}
	return ib.Identity{Serial: attribute.StringOf(m.Expect.Attributes()["serial_number"])}
}

// accepts reports whether the configuration names this card as another one than the recorded.
func (m *model) accepts(c *inventory.Card, recorded ib.Identity) bool {
	like, _ := ib.Compare(recorded, m.named(model{}, c, ib.Identity{}))
	return like == ib.Other
}

func isSame(a, b ib.Identity) bool {
	like, _ := ib.Compare(a, b)
	return like == ib.Same
}

// checkExchanged refuses to adopt a card in a slot where the state has recorded another one,
// unless the configuration names it.
func (r *Resource) checkExchanged(ctx context.Context, ref attribute.CardRef, named, now ib.Identity,
	c *inventory.Card, diags *diag.Diagnostics) {
	recorded, forbidden := r.Planned.Adopt(r.CardKey(ref), named)
	if !forbidden || isSame(recorded, now) {
		return
	}
	f := safety.IdentityFacts{Recorded: recorded, Now: now, Unread: c.Serial.Why()}
	f.Elsewhere, f.Edit = r.WhereIs(ctx, ref, recorded)
	refuse(ctx, diags, ref, f)
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
	f := safety.IdentityFacts{Recorded: state.recordedIdentity(), Now: snap.Identity(c), Unread: c.Serial.Why()}
	switch like, _ := ib.Compare(f.Recorded, f.Now); {
	case f.Recorded.Empty():
		return false
	case like == ib.Same:
		r.Planned.Adopt(r.CardKey(ref), f.Recorded)
		return false
	case like == ib.Other && plan.accepts(c, f.Recorded):
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
