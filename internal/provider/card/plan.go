package card

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
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
	}
	ref, known := plan.ref()
	if resp.Diagnostics.HasError() || !known || !r.HostReady(plan.Host) {
		return
	}
	stays := exists && len(resp.RequiresReplace) == 0 && state.PCIAddress.Same(plan.PCIAddress) && state.Host.Equal(plan.Host)
	snap, found := r.find(ctx, ref, state, stays, &resp.Diagnostics)
	if found == nil {
		return
	}
	adopts := !exists || stays && r.same(ctx, ref, plan, state, snap, found, &resp.Diagnostics)
	var before *model
	if stays && !adopts {
		before = &state
	}
	expected(&resp.Diagnostics, ref, plan, before, snap, found)
	if exists && req.Plan.Raw.Equal(req.State.Raw) || resp.Diagnostics.HasError() {
		return
	}
	r.driver(ctx, ref, found, resp)
	switch {
	case adopts:
		plan.identify(ref, found, snap.Identity(found))
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	case stays:
		// What was observed stays until the next refresh.
		state.Expect = plan.Expect
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
	}
}

// driver warns of a card that the host's kernel cannot run. It can be adopted all the
// same: its firmware can be read, and another kernel may come.
func (r *Resource) driver(ctx context.Context, ref tfkit.CardRef, c *inventory.Card, resp *resource.ModifyPlanResponse) {
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		return // find has said so
	}
	p, err := platform.Of(snap)
	if err != nil {
		return // reading works on every system
	}
	if f, bad := platform.CheckDriver(snap, p, c); bad {
		resp.Diagnostics.AddAttributeWarning(path.Root("pci_address"), "Card "+ref.String()+" has no driver on this host", f.Detail())
	}
}

// find returns the card, or adds an error and returns nil. stays says that the
// state holds a card of this very place.
func (r *Resource) find(ctx context.Context, ref tfkit.CardRef, state model, stays bool, diags *diag.Diagnostics) (*inventory.Snapshot, *inventory.Card) {
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		tfkit.AddErrorAt(diags, path.Root("host"), "read card "+ref.String(), err)
		return nil, nil
	}
	c, ok := snap.Card(ref.PCI)
	if ok {
		return snap, c
	}
	if who := state.recorded(); stays && !who.Empty() && r.moved(ctx, ref, who, diags) {
		return nil, nil
	}
	diags.AddAttributeError(path.Root("pci_address"), "Unable to read card "+ref.String(), tfkit.NoCard(snap, ref))
	return nil, nil
}

// expected refuses a card that is not what the configuration says. before is what
// was recorded of it; nil if it is adopted now.
func expected(diags *diag.Diagnostics, ref tfkit.CardRef, m model, before *model, snap *inventory.Snapshot, c *inventory.Card) {
	now := snap.Identity(c)
	serial, part := cmp.Or(c.SerialNumber, now.Serial), cmp.Or(c.PartNumber, now.Part)
	if before != nil {
		serial, part = cmp.Or(serial, before.SerialNumber.ValueString()), cmp.Or(part, before.PartNumber.ValueString())
	}
	wrong := m.mismatches(c, serial, part)
	if len(wrong) == 0 {
		return
	}
	detail := "Another card is at this address: " + strings.Join(wrong, "; ") + ". Nothing was changed.\n\n" +
		"Cards change their address when others are added or moved. Correct pci_address, or expect if the card was exchanged on purpose."
	if serial == "" && c.VPDError != "" {
		detail += "\n\nThe serial number cannot be read: " + c.VPDError + "."
	}
	diags.AddAttributeError(path.Root("expect"), fmt.Sprintf("Refusing to adopt card %s: it is not the expected one", ref), detail)
}
