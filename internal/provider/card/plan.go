package card

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan looks the card up at every plan, so that a wrong host or address
// fails it, and so does another card than the one that was adopted.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Data == nil {
		return // adopting changes nothing, so that forgetting needs no warning
	}
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		state.recall(ctx, req.Private, &resp.Diagnostics)
	}
	ref, known := plan.ref()
	switch {
	case resp.Diagnostics.HasError() || !known || !r.HostReady(plan.Host):
	case exists && state.PCIAddress.Same(plan.PCIAddress) && state.Host.Equal(plan.Host):
		r.planKept(ctx, ref, plan, state, req.Plan.Raw.Equal(req.State.Raw), resp)
	default:
		r.planAdoption(ctx, ref, plan, state, resp)
	}
	r.claim(ctx, plan, req, &resp.Diagnostics) // the host was looked at
}

// planAdoption shows which card it is. state is empty if there is none.
func (r *Resource) planAdoption(ctx context.Context, ref attribute.CardRef, plan, state model,
	resp *resource.ModifyPlanResponse) {
	snap, found := r.find(ctx, ref, nil, &resp.Diagnostics)
	if found == nil {
		return
	}
	now := snap.Identity(found)
	named, silent := plan.named(state, found, now), snap.SilentSerial(found)
	recorded := r.Planned.Adopt(r.CardKey(ref), named)
	r.checkExchanged(ctx, ref, recorded, named, now, silent, &resp.Diagnostics)
	checkExpected(&resp.Diagnostics, ref, plan, nil, snap, found)
	r.driver(ctx, ref, found, resp)
	// No other chip is ever written.
	if found.Chip.Name != "" && silent != "" && !found.Virtual && now.Serial == "" {
		diagnostic.AddFindings(ctx, &resp.Diagnostics, "adopt card "+ref.String(),
			[]finding.Finding{finding.CardWithoutSerialNumber.Find("Card at %s of %s: %s", ref.PCI, ref.Host,
				silent)})
	}
	seen, shown := r.first(ref, snap, found)
	plan.identify(ref, shown, seen.Identity(shown))
	plan.ID = idOf(ref, plan.tell(append(recorded, state.recordedIdentity()), now))
	if plan.CardIdentity = state.CardIdentity; !isSame(state.recordedIdentity(), now) || plan.CardIdentity.IsNull() {
		plan.CardIdentity = session.FirstRecord(plan.ID, ref.PCI, seen)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// first is the card in the slot as this process saw it first. An apply plans a new object once more, and a restart
// may have the card show its GUIDs by then: both plans must say the same.
func (r *Resource) first(ref attribute.CardRef, snap *inventory.Snapshot,
	found *inventory.Card) (*inventory.Snapshot, *inventory.Card) {
	h, _, err := r.Host(ref.Host)
	if err != nil || h.First() == nil {
		return snap, found
	}
	before, ok := h.First().Card(ref.PCI)
	if !ok || !isSame(h.First().Identity(before), snap.Identity(found)) {
		return snap, found
	}
	return h.First(), before
}

// planKept compares the card in the slot with the one in the state. unchanged says that
// the configuration asks for nothing else than the state has.
func (r *Resource) planKept(ctx context.Context, ref attribute.CardRef, plan, state model, unchanged bool,
	resp *resource.ModifyPlanResponse) {
	snap, found := r.find(ctx, ref, &state, &resp.Diagnostics)
	if found == nil {
		return
	}
	if r.same(ctx, ref, plan, state, snap, found, &resp.Diagnostics) {
		r.planAdoption(ctx, ref, plan, state, resp)
		return
	}
	checkExpected(&resp.Diagnostics, ref, plan, &state, snap, found)
	if unchanged || resp.Diagnostics.HasError() {
		return
	}
	r.driver(ctx, ref, found, resp)
	state.Expect = plan.Expect // what was observed stays until the next refresh
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
}

// claim refuses a second resource for the card that expects another one. Two that agree
// do no harm, because this resource changes nothing.
func (r *Resource) claim(ctx context.Context, plan model, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	if ref, known := plan.ref(); known && r.HostReady(plan.Host) && !diags.HasError() {
		r.Claim(ctx, "adopt card", planned.Claim{Key: r.FunctionKey(ref), Name: ref.String(), Shared: "expect"}, req, diags)
	}
}

// driver warns of a card that the host's kernel has no driver for. The card can still
// be adopted: its firmware can be read, and another kernel may have a driver.
func (r *Resource) driver(ctx context.Context, ref attribute.CardRef, c *inventory.Card,
	resp *resource.ModifyPlanResponse) {
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		return // find has said so
	}
	p, err := platform.Of(snap)
	if err != nil {
		return // reading works on every system
	}
	if f, bad := platform.CheckDriver(snap, p, c); bad {
		resp.Diagnostics.AddAttributeWarning(path.Root("pci_address"), "Card "+ref.String()+" has no driver on this host",
			f.Detail())
	}
}

// find returns the card, or adds an error and returns nil. state is what holds a
// card of this very place; nil if nothing does.
func (r *Resource) find(ctx context.Context, ref attribute.CardRef, state *model,
	diags *diag.Diagnostics) (*inventory.Snapshot, *inventory.Card) {
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), "read card "+ref.String(), err)
		return nil, nil
	}
	c, ok := snap.Card(ref.PCI)
	if ok {
		return snap, c
	}
	if state != nil && !state.recordedIdentity().Empty() && r.reportMove(ctx, ref, state.recordedIdentity(), diags) {
		return nil, nil
	}
	diags.AddAttributeError(path.Root("pci_address"), "Unable to read card "+ref.String(), session.NoCard(snap, ref))
	return nil, nil
}

// checkExpected refuses a card that is not what the configuration says. before is what
// was recorded of it; nil if it is adopted now.
func checkExpected(diags *diag.Diagnostics, ref attribute.CardRef, m model, before *model, snap *inventory.Snapshot,
	c *inventory.Card) {
	now := snap.Identity(c)
	serial, part := cmp.Or(c.Serial.Or(""), now.Serial), cmp.Or(c.PartNumber, now.Part)
	if before != nil {
		serial, part = cmp.Or(serial, before.SerialNumber.ValueString()), cmp.Or(part, before.PartNumber.ValueString())
	}
	wrong, unread := m.mismatches(c, now, serial, part)
	if len(wrong)+len(unread) == 0 {
		return
	}
	var detail string
	if len(wrong) > 0 {
		detail = "Another card is at this address: " + strings.Join(wrong, "; ") + ". Nothing was written to it.\n\n" +
			"Cards change their address when others are added or moved. Correct pci_address, or expect if the card was " +
			"exchanged on purpose."
	}
	if len(unread) > 0 {
		detail += fmt.Sprintf("\n\nThe %s cannot be read, so it cannot be compared.", strings.Join(unread, " and the "))
	}
	if len(wrong) == 0 {
		detail += " Nothing was written to it.\n\nLeave out of expect what the card does not tell, or mend what keeps it " +
			"from being read."
	}
	if serial == "" && !c.Serial.Known() {
		detail += "\n\nThe serial number cannot be read: " + c.Serial.Why() + "."
	}
	detail = strings.TrimSpace(detail)
	diags.AddAttributeError(path.Root("expect"), fmt.Sprintf("Refusing to adopt card %s: %s", ref, expectation(wrong)),
		detail)
}

func expectation(wrong []string) string {
	if len(wrong) == 0 {
		return "it is not known to be the expected one"
	}
	return "it is not the expected one"
}
