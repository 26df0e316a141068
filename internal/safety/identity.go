package safety

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Identity gives the finding on a card that is not, or not provably, the one that
// was recorded. place is what its address is called.
func Identity(place string, f IdentityFacts) []finding.Finding {
	like, why := ib.Compare(f.Recorded, f.Now)
	switch {
	case like == ib.Same:
		return nil
	case f.Elsewhere != "":
		return []finding.Finding{finding.CardMoved.Find("At %s: %s. Recorded: %s. The recorded card is now at %s.",
			place, cmp.Or(f.Now.Record().String(), "no card"), f.Recorded.Record(), f.Elsewhere).WithWayOut(moveTo(f))}
	case like == ib.Other:
		return []finding.Finding{finding.CardExchanged.Find("At %s: %s. Recorded: %s. So %s.", place, f.Now.Record(),
			f.Recorded.Record(), why)}
	}
	if f.Unread != "" {
		why += ". The serial number cannot be read: " + f.Unread
	}
	return []finding.Finding{finding.CardUndecided.Find("At %s: %s. Recorded: %s. It is not known whether they are one "+
		"card: %s.", place,
		cmp.Or(f.Now.Record().String(), "nothing that tells the card from others"), cmp.Or(f.Recorded.Record().String(),
			"nothing"), why)}
}

func moveTo(f IdentityFacts) string {
	if f.Edit == "" {
		return fmt.Sprintf("Plan with the card's new address %s.", f.Elsewhere)
	}
	return "Write the new address into infiniband_card, or wherever the configuration has the old one. " +
		"Apply that before you remove any resource of the card:\n\n" + f.Edit
}
