package card

import (
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

// ModifyPlan looks the card up, so that a wrong host or address fails the plan
// and the plan shows which card it is.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Data == nil || (!req.State.Raw.IsNull() && req.Plan.Raw.Equal(req.State.Raw)) {
		return // adopting changes nothing, so that forgetting needs no warning
	}
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	ref, known := plan.ref()
	if resp.Diagnostics.HasError() || !known || !r.HostReady(plan.Host) {
		return
	}
	found := r.find(ctx, ref, &resp.Diagnostics)
	if found == nil {
		return
	}
	expected(&resp.Diagnostics, ref, plan, found)
	r.driver(ctx, ref, found, resp)
	if !req.State.Raw.IsNull() {
		keepObserved(ctx, req, resp, plan)
		return
	}
	plan.identify(ref, found)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
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

// keepObserved plans a change of expectations alone: what was observed stays
// until the next refresh.
func keepObserved(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, plan model) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if len(resp.RequiresReplace) > 0 || !state.PCIAddress.Same(plan.PCIAddress) || !state.Host.Equal(plan.Host) {
		return
	}
	state.Expect = plan.Expect
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &state)...)
}

// find returns the card, or adds an error and returns nil.
func (r *Resource) find(ctx context.Context, ref tfkit.CardRef, diags *diag.Diagnostics) *inventory.Card {
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		tfkit.AddErrorAt(diags, path.Root("host"), "read card "+ref.String(), err)
		return nil
	}
	c, ok := snap.Card(ref.PCI)
	if !ok {
		diags.AddAttributeError(path.Root("pci_address"), "Unable to read card "+ref.String(), tfkit.NoCard(snap, ref))
		return nil
	}
	return c
}

func expected(diags *diag.Diagnostics, ref tfkit.CardRef, m model, c *inventory.Card) {
	if wrong := m.mismatches(c); len(wrong) > 0 {
		diags.AddAttributeError(path.Root("expect"), fmt.Sprintf("Refusing to adopt card %s: it is not the expected one", ref),
			"Another card is at this address: "+strings.Join(wrong, "; ")+". Nothing was changed.\n\n"+
				"Cards change their address when others are added or moved. Correct pci_address, or expect if the card was exchanged on purpose.")
	}
}
