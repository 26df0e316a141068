package safety

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// inUse gives the finding on a card that somebody else uses, or may use.
func inUse(card CardFacts, host HostFacts) []finding.Finding {
	texts := slices.Clone(card.InUse)
	users, known := host.Users.Get()
	for _, u := range users {
		if text := u.String(); u.Uses(card.PCI) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) > 0:
		return []finding.Finding{InUse(texts)}
	case !known:
		return []finding.Finding{hiddenUsers(host)}
	}
	return nil
}

// InUse is the finding on a card at which other programs are.
func InUse(users []string) finding.Finding {
	return finding.CardInUse.Find("busy: %s", strings.Join(users, "; "))
}

// anyInUse gives the finding on a restart of a host with a card that somebody uses.
func anyInUse(host HostFacts) []finding.Finding {
	users, known := host.Users.Get()
	switch {
	case !known:
		return []finding.Finding{hiddenUsers(host)}
	case len(users) == 0:
		return nil
	}
	return []finding.Finding{finding.CardInUse.Find("busy: %s. A restart would end it.", inventory.UsersText(users))}
}

func hiddenUsers(host HostFacts) finding.Finding { return HiddenUsers(host.Users.Why()) }

// HiddenUsers is the finding on a card of which it is not known who uses it.
func HiddenUsers(why string) finding.Finding {
	return finding.CardInUse.Find("Whether another program uses the card is not known: %s.", why).
		WithWayOut("Let root of the host see all processes and their open files in /proc, with find of findutils, and plan " +
			"again.")
}
