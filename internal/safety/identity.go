package safety

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
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

// Other reports whether it is proven that the card is another one; with strict, also
// whether that cannot be excluded.
func (f IdentityFacts) Other(strictly bool) bool {
	like, _ := ib.Compare(f.Recorded, f.Now)
	return like == ib.Other || strictly && like != ib.Same
}

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

// withIdentity adds the findings on the identity of the card to a verdict. If nothing
// is to be written, an undecided identity is told and stops nothing.
func withIdentity(v Verdict, card CardFacts) Verdict {
	for _, f := range Identity(card.PCI.String()+" of "+card.Host, card.Identity) {
		if f.Rule == finding.CardUndecided && v.Action == ActionNone && v.Activation != ActivationReboot {
			f.Severity = finding.Warn
		}
		v.Findings = append([]finding.Finding{f}, v.Findings...)
	}
	return v
}
