package hostcheck

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// CardUsers gives the finding on a card that somebody else uses, or may use. came are those that
// came to it during an inspection.
func CardUsers(s *inventory.Snapshot, pci ib.PCIAddress, came []string) []finding.Finding {
	texts := slices.Clone(came)
	users, known := s.Users.Get()
	for _, u := range users {
		if text := u.String(); u.Uses(pci) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) > 0:
		return []finding.Finding{InUse(texts)}
	case !known:
		return []finding.Finding{HiddenUsers(s.Users.Why())}
	}
	return nil
}

// InUse is the finding on a card at which other programs are.
func InUse(users []string) finding.Finding {
	return finding.CardInUse.Find("busy: %s", strings.Join(users, "; "))
}

// AnyUsers gives the finding on a restart of a host with a card that somebody uses.
func AnyUsers(s *inventory.Snapshot) []finding.Finding {
	users, known := s.Users.Get()
	switch {
	case !known:
		return []finding.Finding{HiddenUsers(s.Users.Why())}
	case len(users) == 0:
		return nil
	}
	return []finding.Finding{finding.CardInUse.Find("busy: %s. A restart would end it.", inventory.UsersText(users))}
}

// HiddenUsers is the finding on a card of which it is not known who uses it.
func HiddenUsers(why string) finding.Finding {
	return finding.CardInUse.Find("Whether another program uses the card is not known: %s.", why).
		WithWayOut("Let root of the host see all processes and their open files in /proc, with find of findutils, and plan " +
			"again.")
}
