package linktype

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
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
	if store == nil || decidesItself(card) || place == inCardConfig && parameterOver(l, s, card, place).Has == "" {
		return ""
	}
	return store.NotOurs(s)
}

// parameterOver is a parameter of the driver that would override types that are stored in the
// card. An apply writes it as well then, see keep.
func parameterOver(l Ask, s *inventory.Snapshot, card *inventory.Card, place string) safety.LinkTypeParameter {
	store := l.Card.TypeStore
	if store == nil || place != inCardConfig || decidesItself(card) {
		return safety.LinkTypeParameter{}
	}
	types := wholeCard(l.Request.Ports, card)
	if !isOverridden(parameter(store, s), types) {
		return safety.LinkTypeParameter{}
	}
	own, _ := store.StoredIn()
	weaker, _ := store.Others(s)
	var has []string
	for _, setting := range append(weaker, platform.LinkTypeSetting{Where: own, Types: store.StoredTypes(s)}) {
		for _, port := range sortedPorts(setting.Types) {
			if want, asked := types[port]; asked && setting.Types[port] != want && setting.Types[port] != ib.LinkTypeAuto {
				has = append(has, fmt.Sprintf("%s has %s on port %d", setting.Where, setting.Types[port], port))
			}
		}
	}
	return safety.LinkTypeParameter{Place: own, Has: strings.Join(has, "; ")}
}

// edits are what somebody has written into our file, where an apply writes it anew.
func edits(c cards.Card, s *inventory.Snapshot, place string) []platform.Edit {
	if c.TypeStore == nil || place == "" || place == inCardConfig {
		return nil
	}
	return c.TypeStore.Edits(s)
}
