package safety

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

var _ = Register(
	Rule{Code: "HO045", Severity: Refuse, Title: "Another program uses the card", Attribute: "card_id",
		Meaning: "Two programs that use a card at once break each other's accesses, and a mere query has made a burn beside it fail. So the card was not touched, also not to read it.",
		WayOut:  "Wait until the program has ended, and plan again. If it hangs, find out what it was doing before you end it: a burn that is cut off leaves the card with its old firmware, and a second try is needed."},
)

// inUse gives the finding on a card that somebody else uses, or may use.
func inUse(card CardFacts, host HostFacts) []Finding {
	texts := slices.Clone(card.InUse)
	users, known := host.Users.Get()
	for _, u := range users {
		if text := u.String(); u.Uses(card.PCI) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) > 0:
		return []Finding{InUse(texts)}
	case !known:
		return []Finding{hiddenUsers(host)}
	}
	return nil
}

// InUse is the finding on a card at which other programs are.
func InUse(users []string) Finding { return find("HO045", "busy: %s", strings.Join(users, "; ")) }

// anyInUse gives the finding on a restart of a host with a card that somebody uses.
func anyInUse(host HostFacts) []Finding {
	users, known := host.Users.Get()
	switch {
	case !known:
		return []Finding{hiddenUsers(host)}
	case len(users) == 0:
		return nil
	}
	return []Finding{find("HO045", "busy: %s. A restart would end it.", inventory.UsersText(users))}
}

func hiddenUsers(host HostFacts) Finding { return HiddenUsers(host.Users.Why()) }

// HiddenUsers is the finding on a card of which it is not known who uses it.
func HiddenUsers(why string) Finding {
	return find("HO045", "Whether another program uses the card is not known: %s.", why).
		way("Let root of the host see all processes and their open files in /proc, with find of findutils, and plan again.")
}
