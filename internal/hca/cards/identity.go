package cards

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Facts are those of the card with who it is and who it was.
func (c Card) Facts(s *inventory.Snapshot, card *inventory.Card) safety.CardFacts {
	f := CardFacts(s, card)
	f.Identity = c.Compare(s, card)
	return f
}

// Compare gives who the card in the slot is; card is nil for an empty one. A card
// that is not the recorded one is looked for in the other slots of the host.
func (c Card) Compare(s *inventory.Snapshot, card *inventory.Card) safety.IdentityFacts {
	f := safety.IdentityFacts{Recorded: c.Recorded, Elsewhere: c.Elsewhere, Edit: c.Edit}
	if card != nil {
		f.Now, f.Unread = s.Identity(card), card.Serial.Why()
	}
	if f.Elsewhere != "" || f.Same() {
		return f
	}
	if pci, ok := s.Find(c.Recorded); ok && pci.Slot() != c.PCI.Slot() {
		f.Elsewhere = pci.String()
	}
	return f
}

// Confirm reads the host anew and refuses if the card in the slot is not the
// recorded one. A write comes right behind it.
func (c Card) Confirm(ctx context.Context, what string) error {
	c.Host.Invalidate()
	s, card, err := c.Read(ctx)
	var gone *NoCardError
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	f := c.Compare(s, card)
	if f.Same() || card == nil && f.Elsewhere == "" {
		return err
	}
	return &safety.RefusedError{What: what, Findings: safety.Identity(c.PCI.String()+" of "+c.Host.Name(), f)}
}
