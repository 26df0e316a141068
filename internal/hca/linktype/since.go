package linktype

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// storedSince says in an error of the restart that somebody has stored other types since they were
// stored: the card could not run them, and no power cycle helps.
func storedSince(ctx context.Context, l Ask, err error) error {
	var e *cards.Error
	if !errors.As(err, &e) {
		return err
	}
	now, unread := Read(ctx, l.Card)
	types, known := now.stored.Types.Get()
	// In doubt the error stays as it is: this one accuses somebody.
	if unread != nil || !known || covers(types, l.Request.Ports) {
		return err
	}
	e.Heading = "Link types of card " + l.Card.ID() + " were stored; the card holds other ones now"
	e.What += " The card has stored " + linkText(types) + " now, and not " + linkText(l.Request.Ports) + "."
	e.Means = "Somebody has stored other types after this apply had stored its own: another apply, a drain command, or " +
		"a person."
	e.Check = "Find out who else sets the types of the card, and stop that. Then plan again."
	return err
}

func covers(have, want map[int]ib.LinkType) bool {
	for port, t := range want {
		if have[port] != t {
			return false
		}
	}
	return true
}
