package safety

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Ready gives what stands in the way of any change of a card's flash, whatever that
// change would be: it is asked before one is configured. A card whose firmware is left
// alone has none.
func Ready(card CardFacts, host HostFacts) []finding.Finding {
	if card.Virtual || card.VendorID != ib.MellanoxVendor || card.Chip.Name == "" && !card.Livefish {
		return nil
	}
	found := cardReach(card, host)
	if host.MSTFlint.Present && !card.FlashKnown() {
		found = append(found, cardState(card)...)
	}
	found = append(found, lockdown(card, host)...)
	found = append(found, battery(host)...)
	found = append(found, missingTools(host)...)
	return withAddress(append(found, jobs(card, host)...), card.PCI)
}
