package linktype

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// wholeCard adds the other ports with their present types: the module parameter is a
// list without gaps.
func wholeCard(want map[int]ib.LinkType, card *inventory.Card) map[int]ib.LinkType {
	all := make(map[int]ib.LinkType, len(card.Ports))
	for _, p := range card.Ports {
		if p.TypeNow == "" {
			continue
		}
		all[p.Number], _ = shownType(p.TypeNow)
	}
	for port, t := range want {
		all[port] = t
	}
	return all
}

// unnamed are the ports of a card that are not asked for, as an apply leaves them for the
// next boot. The ports of a card that decides itself do not depend on each other.
func unnamed(l Ask, s *inventory.Snapshot, card *inventory.Card) map[int]safety.UnnamedPort {
	others := map[int]safety.UnnamedPort{}
	if decidesItself(card) {
		return others
	}
	stored := wholeCard(l.Request.Ports, card)
	for _, p := range card.Ports {
		if _, asked := l.Request.Ports[p.Number]; !asked {
			others[p.Number] = safety.UnnamedPort{AtBoot: stored[p.Number]}
		}
	}
	if l.Card.TypeStore == nil {
		return others
	}
	_, stronger := l.Card.TypeStore.Others(s)
	for _, setting := range stronger {
		for port, t := range setting.Types {
			if _, other := others[port]; other && t != ib.LinkTypeAuto {
				others[port] = safety.UnnamedPort{AtBoot: t, Decides: setting.Where}
			}
		}
	}
	return others
}

// notOurs is what somebody else has in the place where an apply would write the host's
// setting; empty if nothing is there, or if the card's own configuration suffices.
func notOurs(l Ask, s *inventory.Snapshot, card *inventory.Card, place string) string {
	store := l.Card.TypeStore
	if store == nil || decidesItself(card) ||
		place == inCardConfig && !isOverridden(parameter(store, s), wholeCard(l.Request.Ports, card)) {
		return ""
	}
	return store.NotOurs(s)
}
