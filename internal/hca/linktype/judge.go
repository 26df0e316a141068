package linktype

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Assess gives the verdict on link types from one look. It never writes.
func Assess(ctx context.Context, o *cards.Session, l Ask, look Look) (cards.Assessment, error) {
	a, in := o.Assess(l.Card, look.at), input(l, look)
	in.Host = a.Host
	err := o.Judge(ctx, l.Card.Host, &a, func(card safety.CardFacts) safety.Verdict {
		in.Card = card
		return safety.LinkTypes(in)
	})
	return a, err
}

// input is what the verdict depends on, but for the facts of card and host.
func input(l Ask, look Look) safety.LinkTypeInput {
	ours := look.places.Ours()
	in := safety.LinkTypeInput{
		Request: l.Request, PlannedPSID: l.PlannedPSID, Current: look.shown,
		Unnamed: unnamed(l.Request.Ports, look), Uses: l.uses(look),
		Served: look.stored.Served, HasTypes: hasTypes(look.stored), Persisted: look.NextBoot, Decides: look.by,
		StoredIn: look.StoredIn, WhyNotStored: look.whyNot, StaleInitramfs: ours.Stale,
		Overrides: overrides(l.Request.Ports, look), Parameter: parameterOver(l.Request.Ports, look),
	}
	if look.StoredIn != inCardConfig || in.Parameter.Has != "" {
		in.NotOurs = ours.NotOurs
	}
	for _, e := range ours.Edits {
		if look.InHost() {
			in.Edited = e.Evidence(look.at.Snap.Host)
		}
	}
	return in
}

// wholeCard adds the other ports with their present types: the module parameter is a
// list without gaps.
func wholeCard(want map[int]ib.LinkType, card *inventory.Card) map[int]ib.LinkType {
	all := make(map[int]ib.LinkType, len(card.Ports))
	for _, p := range card.Ports {
		if p.TypeNow != "" {
			all[p.Number], _ = shownType(p.TypeNow)
		}
	}
	maps.Copy(all, want)
	return all
}

// unnamed are the ports of a card that are not asked for, as an apply leaves them for the
// next boot. The ports of a card that decides itself do not depend on each other.
func unnamed(want map[int]ib.LinkType, look Look) map[int]safety.UnnamedPort {
	others := map[int]safety.UnnamedPort{}
	if decidesItself(look.at.Card) {
		return others
	}
	stored := wholeCard(want, look.at.Card)
	for _, p := range look.at.Card.Ports {
		if _, asked := want[p.Number]; !asked {
			others[p.Number] = safety.UnnamedPort{AtBoot: stored[p.Number]}
		}
	}
	for _, place := range slices.Backward(look.places.Stronger()) {
		for port, t := range place.Types {
			// 0 in a parameter names no type.
			if _, other := others[port]; other && t != ib.LinkTypeAuto {
				others[port] = safety.UnnamedPort{AtBoot: t, Decides: place.Name}
			}
		}
	}
	return others
}

// overrides are the settings made elsewhere that set a port to another type than asked.
func overrides(ports map[int]ib.LinkType, look Look) fact.Of[[]string] {
	if look.Unclear != "" {
		return fact.Unknown[[]string](look.Unclear)
	}
	var all []string
	stronger := look.places.Stronger()
	outcome := array(append(slices.Clone(stronger), platform.Place{Types: ports}))
	for _, place := range slices.Backward(stronger) {
		for _, port := range sortedPorts(place.Types) {
			want, asked := ports[port]
			switch t := place.Types[port]; {
			case !asked || t == want:
			case t != ib.LinkTypeAuto:
				all = append(all, fmt.Sprintf("%s has %s on port %d", place.Name, t, port))
			case outcome[port] == ib.LinkTypeAuto && look.StoredIn != inCardConfig: // the card's configuration decides on 0
				all = append(all, fmt.Sprintf("%s has 0 on port %d, which leaves the type to the firmware", place.Name, port))
			}
		}
	}
	return fact.Known(all)
}

// parameterOver is a parameter of the driver that would override types that are stored in the
// card. An apply writes it as well then, see keep.
func parameterOver(ports map[int]ib.LinkType, look Look) safety.LinkTypeParameter {
	types := wholeCard(ports, look.at.Card)
	if look.StoredIn != inCardConfig || !isOverridden(look.places, types) {
		return safety.LinkTypeParameter{}
	}
	var has []string
	for _, place := range slices.Backward(look.places.FromOurs()) {
		for _, port := range sortedPorts(place.Types) {
			if want, asked := types[port]; asked && place.Types[port] != want && place.Types[port] != ib.LinkTypeAuto {
				has = append(has, fmt.Sprintf("%s has %s on port %d", place.Name, place.Types[port], port))
			}
		}
	}
	return safety.LinkTypeParameter{Place: look.places.Ours().Name, Has: strings.Join(has, "; ")}
}

// isOverridden reports whether our place, or one that it overrides, has another type for a port
// than is wanted.
func isOverridden(places platform.Places, want map[int]ib.LinkType) bool {
	for port, t := range places.FromOurs().Array() {
		if w, asked := want[port]; asked && t != ib.LinkTypeAuto && t != w {
			return true
		}
	}
	return false
}

// uses names what needs InfiniBand on each port of a card. With mlx5 each port is a PCI
// function.
func (l Ask) uses(look Look) map[int][]string {
	all := map[int][]string{}
	for i := range look.at.Snap.Cards {
		c := &look.at.Snap.Cards[i]
		// Every function of the card: one change unregisters all ports of an mlx4, and a restart those of an mlx5.
		if l.Uses == nil || c.PCI.Slot() != look.at.Card.PCI.Slot() || c.Virtual {
			continue
		}
		for _, p := range c.Ports {
			number := p.Number
			if decidesItself(look.at.Card) {
				number = c.PCI.Function() + 1
			}
			if !p.PortGUID.IsZero() {
				all[number] = l.Uses(look.at.Snap, p.PortGUID)
			}
		}
	}
	return all
}
