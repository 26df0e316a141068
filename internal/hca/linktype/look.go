package linktype

import (
	"context"
	"maps"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// Look is what one look at a host has found of the types of a card's ports.
type Look struct {
	State
	at     *cards.Look
	shown  map[int]string            // now, see shownTypes
	stored inventory.StoredLinkTypes // in the card's own configuration
	places platform.Places           // of the host; none if only the card's configuration decides
	by     map[int]string            // the place that decides on each type of NextBoot
	whyNot string                    // why no place keeps the types
}

// Read looks at the types of a card's ports, now and in each place that keeps them.
func Read(ctx context.Context, c cards.Card) (Look, error) {
	found, err := c.Look(ctx)
	if err != nil {
		return Look{}, err
	}
	s, card := found.Snap, found.Card
	stored, err := storedTypes(ctx, c, s, card)
	if err != nil {
		return Look{}, err
	}
	l := Look{at: found, shown: shownTypes(s, card), stored: stored}
	l.Boot, l.Unanswered = s.BootID, stored.Served.Why()
	if decidesItself(card) { // a tool that is not there leaves no other place that decides
		l.Unanswered = stored.Types.Why()
	} else {
		l.places = c.TypeStore.Places(s)
	}
	l.Unclear = l.places.Unclear()
	l.StoredIn, l.whyNot = l.storedIn()
	if l.InHost() {
		l.Lines = platform.AddedLines(l.places.Ours().Edits)
	}
	l.NextBoot, l.by = l.nextBoot()
	l.ByPlace = l.byPlace()
	l.Ports = l.ports()
	for _, p := range l.Ports {
		// A type that nothing shows, or that nothing keeps, is not one that changes.
		l.Pending = l.Pending || p.Shown != "" && p.Persistent != "" && p.Persistent != p.Configured
	}
	l.Open = !l.Pending && l.leftToFirmware()
	return l, nil
}

// storedTypes gives the types that the card's own configuration has for the next start.
// It does not run a tool that is known not to support the chip any more.
func storedTypes(ctx context.Context, c cards.Card, s *inventory.Snapshot,
	card *inventory.Card) (inventory.StoredLinkTypes, error) {
	if grade, why := release.Check(inCardConfig, s.MSTFlint.Version, card.Chip.Format); grade == release.Removed {
		return inventory.LinkTypesNotServed(inCardConfig + " " + s.MSTFlint.Version + ": " + why), nil
	}
	return c.Host.StoredLinkTypes(ctx, c.PCI)
}

func hasTypes(stored inventory.StoredLinkTypes) fact.Bool {
	types, known := stored.Types.Get()
	if !known {
		return fact.Unknown[bool](stored.Types.Why())
	}
	return fact.Known(len(types) > 0)
}

// storedIn chooses the place that keeps the types: the card's own configuration where
// the tool can write it, else the host's. A card that gets other firmware may gain the
// first, which shows when that firmware runs. While the tool is silent no place is
// chosen, because its next answer could choose another one.
func (l Look) storedIn() (place, whyNot string) {
	switch {
	case fact.Yes(hasTypes(l.stored)):
		return inCardConfig, ""
	case !l.stored.Served.Known():
		return "", "mstconfig did not say what the card's configuration has: " + l.stored.Served.Why()
	case decidesItself(l.at.Card):
		return "", "mstconfig shows no link type, and the driver of " + l.at.Card.Chip.Name + " can store none"
	}
	return l.places.Ours().Name, ""
}

// InHost reports whether the types are kept by a setting of the host.
func (l Look) InHost() bool { return l.StoredIn != "" && l.StoredIn != inCardConfig }

// nextBoot gives the types of the ports after the next boot, without those that nothing
// known decides, and the place that decides on each. A module parameter overrides the card's
// configuration where it names a type (Linux drivers/net/ethernet/mellanox/mlx4/main.c:
// port_type_array is applied after the firmware's suggestion). So a forgotten parameter shows.
func (l Look) nextBoot() (types map[int]ib.LinkType, by map[int]string) {
	if l.Unclear != "" {
		return nil, nil
	}
	types, by = map[int]ib.LinkType{}, map[int]string{}
	for port, t := range l.stored.Types.Or(nil) {
		types[port], by[port] = t, inCardConfig
	}
	fresh := l.places.Fresh()
	for port, t := range array(fresh) {
		if t != ib.LinkTypeAuto {
			types[port], by[port] = t, fresh.Deciding(port)
		}
	}
	return types, by
}

// array is the driver's parameter after all settings. Of port 1 without a type it makes
// InfiniBand if port 2 has that (mlx4_verify_params).
func array(places platform.Places) map[int]ib.LinkType {
	all := places.Array()
	if all[1] == ib.LinkTypeAuto && all[2] == ib.LinkTypeIB {
		all[1] = ib.LinkTypeIB
	}
	return all
}

// leftToFirmware reports whether a setting made elsewhere takes the stored type from a port,
// so that the firmware's preference decides. The card's own configuration is one.
func (l Look) leftToFirmware() bool {
	for port, t := range array(l.places.Stronger()) {
		if _, decided := l.NextBoot[port]; t == ib.LinkTypeAuto && !decided {
			return true
		}
	}
	return false
}

// byPlace gives what each place says, so that a difference shows where it is: a
// parameter that somebody added, or a card that was set for the next boot with a tool.
func (l Look) byPlace() map[string]map[int]string {
	all := map[string]map[int]string{}
	if len(l.shown) > 0 {
		all["driver"] = l.shown
	}
	add := func(name string, types map[int]ib.LinkType) {
		if len(types) == 0 {
			return
		}
		all[name] = map[int]string{}
		for port, t := range types {
			all[name][port] = t.String()
		}
	}
	add(inCardConfig, l.stored.Types.Or(nil))
	for _, p := range l.places {
		// Our file does not count while the initial RAM disk has an older copy: that one is read at boot.
		if !p.Ours || !fact.Yes(p.Stale) {
			add(p.Name, p.Types)
		}
	}
	return all
}

// ports are those that the kernel shows, and those of which only the card says something: what
// it has stored is read without the driver.
func (l Look) ports() map[int]Port {
	shown := map[int]string{}
	if decidesItself(l.at.Card) {
		for number := range l.stored.Types.Or(nil) {
			shown[number] = ""
		}
	}
	maps.Copy(shown, l.shown)
	all := map[int]Port{}
	for number, text := range shown {
		p := Port{Port: number, Shown: text, Persistent: l.NextBoot[number], InCard: decidesItself(l.at.Card),
			Written: l.places.Ours().Types[number]}
		p.Configured, p.Effective = shownType(text)
		all[number] = p
	}
	return all
}
