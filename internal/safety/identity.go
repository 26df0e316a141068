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
		found := finding.CardExchanged.Find("At %s: %s. Recorded: %s. So %s.", place, f.Now.Record(),
			f.Recorded.Record(), why)
		if f.Now.Serial == "" || f.Now.Serial == f.Recorded.Serial {
			found = found.WithWayOut(adoptByGUID(f.Now))
		}
		return []finding.Finding{found}
	}
	if f.Unread != "" {
		why += ". The serial number is no help: " + f.Unread
	}
	return []finding.Finding{finding.CardUndecided.Find("At %s: %s. Recorded: %s. It is not known whether they are one "+
		"card: %s.", place,
		cmp.Or(f.Now.Record().String(), "nothing that tells the card from others"), cmp.Or(f.Recorded.Record().String(),
			"nothing"), why)}
}

// adoptByGUID is the way out if no serial number tells the new card from the old one.
func adoptByGUID(now ib.Identity) string {
	who := "Somebody has set the MACs and GUIDs of the card, or has put in another one with the same serial number. "
	if now.Serial == "" {
		who = "Somebody has set the MACs and GUIDs of the card, or has put in another one. Its serial number cannot be read. "
	}
	guids := ib.Identity{GUIDs: now.GUIDs}.Unique().GUIDs
	if len(guids) == 0 {
		return who + "If this is the card that you want, remove its resources from the state with terraform state rm, and " +
			"plan again."
	}
	return who + fmt.Sprintf("If this is the card that you want, write its node GUID into infiniband_card: expect = { "+
		"node_guid = %q }. The next apply adopts it. Where card_id is written by hand, write host/pci_address/%s there. The "+
		"plan then replaces the other resources of the card: it gets what they say, GUIDs and MAC addresses included.",
		guids[0], ib.Identity{GUIDs: guids}.Token())
}

// nameOther says how a resource names the card that is in the slot now; empty for an empty slot.
func nameOther(now ib.Identity) string {
	if now.Token() == "" {
		return ""
	}
	return fmt.Sprintf("A resource that is meant for the card which is in the slot now names it: expect = { "+
		"serial_number = \"…\" } in infiniband_card, or host/pci_address/%s as card_id. ", now.Token())
}

func moveTo(f IdentityFacts) string {
	if f.Edit == "" {
		return fmt.Sprintf("Plan with the card's new address %s.", f.Elsewhere)
	}
	return "Write the new address into infiniband_card, or wherever the configuration has the old one. " +
		nameOther(f.Now) + "Apply that before you remove any resource of the card:\n\n" + f.Edit
}
