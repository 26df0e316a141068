package card

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/actions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewSettleJob returns the action infiniband_settle_job.
var NewSettleJob = actions.New(actions.Kind[settling]{
	Name: "infiniband_settle_job",
	Description: "Closes the jobs that an earlier, interrupted apply has left of a card, as the next apply that changes " +
		"the card does first: it waits for a job that still runs, reads the card, and notes on the host what it has found. " +
		"Nothing is written to the card. Use it to know how a burn ended without planning another one, for example after " +
		"the machine that ran the apply was lost.\n\n" +
		"The plan names the jobs that are open. One stays open, and a warning says so, if it may have been for another " +
		"card than the one in the slot, if its journal cannot be read, or if a burn took GUIDs or MACs from the card: " +
		"these only an apply of `infiniband_firmware` writes back. A card without one whole image in its flash fails the " +
		"action. It may take 45 minutes.",
	Timeout: 45 * time.Minute,
	Attributes: map[string]schema.Attribute{
		"card_id": schema.StringAttribute{Required: true, CustomType: attribute.CardIDType{},
			MarkdownDescription: "The card: `infiniband_card.….id`."},
	},
	On: func(m *settling) actions.Target {
		return actions.Target{Host: m.ref().Host, At: "card_id", What: m.what()}
	},
	Plan: func(ctx context.Context, d *session.Data, m *settling, diags *diag.Diagnostics) {
		if at := d.RecordedCard(ctx, m.CardID, types.StringNull(), m.what(), diags); at != nil {
			d.AddJobs(diags, at.Ref, at.Pending)
			diagnostic.AddFindings(ctx, diags, m.what(), at.Strange())
		}
	},
	Invoke: func(ctx context.Context, d *session.Data, m *settling, tell func(string), diags *diag.Diagnostics) {
		err := d.Turns.Do(ctx, m.ref(), func() error {
			return d.WithHost(ctx, m.ref().Host, func(*hosts.Host) error { return m.settle(ctx, d, tell, diags) })
		})
		diagnostic.AddError(diags, m.what(), err)
	},
})

type settling struct {
	CardID attribute.CardID `tfsdk:"card_id"`
}

// ref is the card's place; the type of the attribute has checked the id.
func (m *settling) ref() attribute.CardRef {
	ref, _ := attribute.ParseCardRef(m.CardID.ValueString())
	return ref
}

func (m *settling) what() string { return "settle jobs of card " + m.ref().String() }

func (m *settling) settle(ctx context.Context, d *session.Data, tell func(string), diags *diag.Diagnostics) error {
	at := d.RecordedCard(ctx, m.CardID, types.StringNull(), m.what(), diags)
	if at == nil {
		return nil
	}
	if len(at.Pending) == 0 {
		tell("no job of card " + at.Ref.String() + " is open")
		return nil
	}
	for _, open := range at.Pending {
		tell(open.String())
	}
	var did []string
	err := job.SettleEarlier(ctx, d.Cards.Session, at.HCA, m.what(), &did)
	for _, text := range did {
		tell(text)
	}
	if err != nil {
		return err
	}
	_, _, now, err := d.Look(ctx, at.Ref.Host)
	if err != nil {
		return err
	}
	left, err := cards.LookAt(now, at.Ref.PCI)
	if err == nil {
		d.AddJobs(diags, at.Ref, left.Pending)
	}
	return err
}
