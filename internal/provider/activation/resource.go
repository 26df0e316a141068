// Package activation is the resource infiniband_activation: one restart of a host for all that
// waits in its cards.
//
// It must not restart a host or decide about safety; internal/hca and internal/safety do.
package activation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

var (
	_ resource.ResourceWithConfigure   = &Resource{}
	_ resource.ResourceWithModifyPlan  = &Resource{}
	_ resource.ResourceWithIdentity    = &Resource{}
	_ resource.ResourceWithImportState = &Resource{}
)

// Resource is infiniband_activation.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_activation", session.HostNamed())}
}

// cardsOf are the cards of a host that load their flash at its restart.
func cardsOf(ctx context.Context, d *session.Data, host, what string, s *inventory.Snapshot,
	diags *diag.Diagnostics) (all []*session.CardAt) {
	for _, l := range looks(s) {
		at := d.CardAt(ctx, attribute.CardRef{Host: host, PCI: l.Card.PCI}, what, diags)
		if at == nil {
			return nil
		}
		at.HCA.Recorded = at.Who
		all = append(all, at)
	}
	return all
}

// firstOf names the first of these cards: a restart has its turn in the order in which cards are written.
func firstOf(host string, s *inventory.Snapshot) attribute.CardRef {
	first := attribute.CardRef{Host: host}
	if all := looks(s); len(all) > 0 {
		first.PCI = all[0].Card.PCI
	}
	return first
}

func onHost(all []*session.CardAt) []cards.Card {
	on := make([]cards.Card, len(all))
	for i, at := range all {
		on[i] = at.HCA
	}
	return on
}

// Create restarts the host if something waits.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan, config model
	c.Read(ctx, &plan, &config)
	host := plan.Host.ValueString()
	what := "activate the cards of host " + host
	_, _, snap, err := r.Look(ctx, host)
	if diagnostic.AddErrorAt(c.Diags, path.Root("host"), what, err); c.Diags.HasError() {
		return
	}
	err = r.WriteCard(ctx, c.Diags, firstOf(host, snap), c.Op.Limit(ctx, plan.Timeouts, standardTimeout),
		func(ctx context.Context) error { return r.restart(ctx, c.Diags, what, &plan, config.consent()) })
	if diagnostic.AddError(c.Diags, what, err); !c.Diags.HasError() {
		c.Confirm(ctx, what, &plan)
	}
}

// restart restarts the host when it is its turn. A plan that has announced none restarts nothing.
func (r *Resource) restart(ctx context.Context, diags *diag.Diagnostics, what string, plan *model,
	consent []string) error {
	host := plan.Host.ValueString()
	_, _, before, err := r.Look(ctx, host)
	if err != nil {
		return err
	}
	all := cardsOf(ctx, r.Data, host, what, before, diags)
	on := onHost(all)
	text := changeText(all, func(at *session.CardAt) []string { return r.waits(ctx, at, diags) })
	if diags.HasError() {
		return nil
	}
	if err = unannounced(what, plan, all, text); err != nil {
		return err
	}
	switch {
	case plan.resets():
		_, err = r.Cards.Reset(ctx, on)
	case plan.Announced():
		_, err = r.Cards.Activate(ctx, on, consent)
	}
	if err != nil {
		return err
	}
	for _, at := range all {
		r.Planned.DoneCard(at.Ref)
		plan.Restart = r.Restarted(ctx, plan.Restart, at)
	}
	plan.settle(all, text)
	_, _, now, err := r.Look(ctx, host)
	if err == nil {
		plan.Running = runningOf(now)
	}
	return err
}

// unannounced refuses what the plan has not said, and what nobody can say while a job writes to a card.
func unannounced(what string, plan *model, all []*session.CardAt, text string) error {
	if err := refuseWhileWritten(what, all); err != nil {
		return err
	}
	if text == "" || plan.resets() || plan.Announced() {
		return nil
	}
	return &safety.RefusedError{What: what, Findings: []finding.Finding{finding.ChangedSincePlan.Find(
		"The plan was to restart nothing. Now a restart %s. The host was not restarted. Plan again.", text)}}
}

// refuseWhileWritten refuses a restart while a job writes to one of the cards.
func refuseWhileWritten(what string, all []*session.CardAt) error {
	for _, at := range all {
		if runs(at.Pending) {
			return &safety.RefusedError{What: what, Findings: []finding.Finding{
				finding.FlashJobRunning.Find("A job writes to card %s.", at.Ref)}}
		}
	}
	return nil
}

// settle gives what the plan could not say of the restart: a host may have no cards, and a reset has only commands.
func (m *model) settle(all []*session.CardAt, text string) {
	if m.Way.IsUnknown() {
		m.Way = types.StringNull()
		if text != "" {
			m.Way = types.StringValue(wayRestart + "what waits was not known when that was planned")
		}
	}
	if m.Change.IsUnknown() {
		m.Change = attribute.OrNull(text)
	}
	if m.Restarts.IsUnknown() {
		m.Restart = attribute.NoRestart()
	}
	if !m.Drains.IsUnknown() {
		return
	}
	m.Drains = attribute.NoRestart().Drains
	if len(all) > 0 && text != "" {
		m.Drains = all[0].Restart().Drains
	}
}

// waits says what waits in a card now.
func (r *Resource) waits(ctx context.Context, at *session.CardAt, diags *diag.Diagnostics) []string {
	all, err := hca.Waiting(ctx, at.HCA)
	diagnostic.AddErrorAt(diags, path.Root("host"), "read what waits in card "+at.Ref.String(), err)
	return all
}

// Read refreshes what the cards run, and forgets the last restart: a diff hides what is equal, also the restart of a
// host that the state says has been restarted before.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	var state model
	diags.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, diags)
	if diags.HasError() || !r.Readable(state.Host) {
		return
	}
	host := state.Host.ValueString()
	what := "read what waits in the cards of host " + host
	_, _, snap, err := r.Look(ctx, host)
	if diagnostic.AddError(diags, what, err); err != nil {
		return
	}
	all := cardsOf(ctx, r.Data, host, what, snap, diags)
	text := changeText(all, func(at *session.CardAt) []string { return r.waits(ctx, at, diags) })
	planned.NoteToDo(ctx, resp.Private, text != "", diags)
	state.ID, state.Running = state.Host, runningOf(snap)
	state.Restart, state.Change, state.Way = attribute.NoRestart(), types.StringNull(), types.StringNull()
	diags.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warnForgotten(&resp.Diagnostics, state.Host.ValueString())
}

func warnForgotten(diags *diag.Diagnostics, host string) {
	diagnostic.AddForgotten(diags, "cards of host", host,
		"The host is not restarted. What waits in its cards comes with its next restart.")
}

// ImportState takes the name of the host.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	if host, ok := r.ImportID(ctx, "import activation of host", req, resp); ok {
		for _, name := range []string{"id", "host"} {
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), host)...)
		}
	}
}
