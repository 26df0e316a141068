package hca

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// facts are those of the card with who it is and who it was.
func (c Card) facts(s *inventory.Snapshot, card *inventory.Card) safety.CardFacts {
	f := cardFacts(s, card)
	f.Identity = c.compare(s, card)
	return f
}

// compare gives who the card in the slot is; card is nil for an empty one. A card
// that is not the recorded one is looked for in the other slots of the host.
func (c Card) compare(s *inventory.Snapshot, card *inventory.Card) safety.IdentityFacts {
	f := safety.IdentityFacts{Recorded: c.Recorded, Elsewhere: c.Elsewhere, Edit: c.Edit}
	if card != nil {
		f.Now, f.Unread = s.Identity(card), card.VPDError
	}
	if f.Elsewhere != "" || f.Same() {
		return f
	}
	if pci, ok := s.Find(c.Recorded); ok && pci.Slot() != c.PCI.Slot() {
		f.Elsewhere = pci.String()
	}
	return f
}

// rightCard reads the host anew and refuses if the card in the slot is not the
// recorded one. A write comes right behind it.
func (o *Ops) rightCard(ctx context.Context, c Card, what string) error {
	c.Host.Invalidate()
	s, card, err := snapshotCard(ctx, c)
	var gone *NoCardError
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	f := c.compare(s, card)
	if f.Same() || card == nil && f.Elsewhere == "" {
		return err
	}
	return &safety.RefusedError{What: what, Findings: safety.Identity(c.PCI.String()+" of "+c.Host.Name(), f)}
}

// mayAdopt is rightCard for the begin of an apply. What is not decided stops
// it only if an earlier job is to be finished; else the verdict says whether
// anything is to be written at all.
func (o *Ops) mayAdopt(ctx context.Context, c Card, what string) error {
	err := o.rightCard(ctx, c, what)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.CardUndecided {
		return err
	}
	s, _, snapErr := snapshotCard(ctx, c)
	if snapErr != nil || len(journal.Pending(s, c.PCI)) > 0 {
		return err
	}
	return nil
}
