package safety

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// IdentityFacts are who a card was when its plan was made or when it was adopted,
// and who it is now. Without a recorded identity no card is the right one.
type IdentityFacts struct {
	Recorded, Now ib.Identity
	Unread        string // why the serial number cannot be read; empty: it can
	// Elsewhere is the address at which the recorded card is now, with its host if
	// that is another one; empty: it was not found.
	Elsewhere string
	// Edit are the lines of configuration that follow a card that has moved.
	Edit string
}

// Same reports whether it is proven that the card is the recorded one.
func (f IdentityFacts) Same() bool {
	like, _ := ib.Compare(f.Recorded, f.Now)
	return like == ib.Same
}

// Other reports whether it is proven that the card is not the recorded one; strictly
// also if it is not proven that it is.
func (f IdentityFacts) Other(strictly bool) bool {
	like, _ := ib.Compare(f.Recorded, f.Now)
	return like == ib.Other || strictly && like != ib.Same
}

// Identity gives the finding on a card that is not, or not provably, the one that
// was recorded. place is what its address is called.
func Identity(place string, f IdentityFacts) []Finding {
	like, why := ib.Compare(f.Recorded, f.Now)
	switch {
	case like == ib.Same:
		return nil
	case f.Elsewhere != "":
		return []Finding{find("FW082", "At %s: %s. Recorded: %s. The recorded card is now at %s.",
			place, orText(f.Now.Record().String(), "no card"), f.Recorded.Record(), f.Elsewhere).way(moveTo(f))}
	case like == ib.Other:
		return []Finding{find("FW080", "At %s: %s. Recorded: %s. So %s.", place, f.Now.Record(), f.Recorded.Record(), why)}
	}
	if f.Unread != "" {
		why += ". The serial number cannot be read: " + f.Unread
	}
	return []Finding{find("FW081", "At %s: %s. Recorded: %s. It is not known whether they are one card: %s.", place,
		orText(f.Now.Record().String(), "nothing that tells the card from others"), orText(f.Recorded.Record().String(), "nothing"), why)}
}

func moveTo(f IdentityFacts) string {
	if f.Edit == "" {
		return fmt.Sprintf("Plan with the card's new address %s.", f.Elsewhere)
	}
	return "Follow the card in the configuration of infiniband_card, or wherever its address is written:\n\n" + f.Edit
}

// Unnamed warns of a card that is adopted without a serial number.
func Unnamed(place, unread string) Finding { return find("FW083", "Card at %s: %s", place, unread) }

// identified adds what speaks against the identity of the card to a verdict.
// Where nothing is going to be written, an identity that is not decided is told
// and stops nothing.
func identified(v Verdict, card CardFacts) Verdict {
	for _, f := range Identity(card.PCI.String()+" of "+card.Host, card.Identity) {
		if f.Code == "FW081" && v.Action == ActionNone && v.Activation != ActivationReboot {
			f.Severity = Warn
		}
		v.Findings = append([]Finding{f}, v.Findings...)
	}
	return v
}

// Rules about which card it is.
var _ = Register(
	Rule{Code: "FW080", Severity: Refuse, Title: "Another card is in the slot", Attribute: "card_id",
		Meaning: "A card is who it is, not where it sits: nothing of what was planned for one card is written to another.",
		WayOut: "If the card was exchanged on purpose, write the serial number of the new one into the configuration of infiniband_card, expect = { serial_number = \"…\" }: " +
			"the next apply adopts it, and forgets what was recorded of the first one. Where card_id is written by hand, correct it. A resource of a card that does not come back leaves the state with terraform state rm. " +
			"If nothing was exchanged, plan again: the addresses of cards change when devices are added."},
	Rule{Code: "FW081", Severity: Refuse, Title: "Card cannot be told from another one", Attribute: "card_id",
		Meaning: "Two cards of one kind look the same but for serial number, MACs and GUIDs. What cannot be read is no proof.",
		WayOut: "Have what is missing read: lspci is in the package pciutils, and mstflint reads MACs and GUIDs. If the card shows nothing at all, compare its label with the recorded serial number, " +
			"remove its resources from the state with terraform state rm, and plan again."},
	Rule{Code: "FW083", Severity: Warn, Title: "Card has no serial number that can be read", Attribute: "pci_address",
		Meaning: "The card is known by its MACs and GUIDs alone, which anybody can set. While they cannot be read either, nothing is written to it.",
		WayOut:  "Install pciutils if lspci is missing. After a cross-flash the vital product data of some boards stay unreadable."},
	Rule{Code: "FW082", Severity: Refuse, Title: "Card has moved", Attribute: "card_id",
		Meaning: "PCI addresses change when devices are added, and when cards change slots. Nothing was written.",
		WayOut:  "Correct the address of the card in the configuration."},
)
