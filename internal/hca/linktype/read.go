package linktype

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// inCardConfig is the card itself as the place of its link types, by the tool that writes it.
const inCardConfig = "mstconfig"

// Ask asks for the types of a card's ports.
type Ask struct {
	Card        cards.Card
	Request     safety.LinkTypeRequest
	PlannedPSID ib.PSID // what the card will run by then; empty if no change is planned
	// Uses names what needs InfiniBand on the port with a GUID; nil: nobody says.
	Uses   func(s *inventory.Snapshot, port ib.GUID) []string
	Before *Seen // what the ports were when the plan was made; nil for a new object
}

// Port is the type of one port, now and after the next boot.
type Port struct {
	Port       int
	Shown      string      // as the kernel shows it: "ib", "eth", "auto (ib)"; empty if nothing does
	Effective  ib.LinkType // "ib" or "eth": what is on the wire
	Configured ib.LinkType // "ib", "eth" or "auto": what was asked of the kernel
	Persistent ib.LinkType // after the next boot; empty if nothing keeps it
	// InCard says that only the card's own configuration decides, and only when
	// the host starts.
	InCard bool
}

// State is what was read back about a card's ports.
type State struct {
	Ports    map[int]Port
	StoredIn string // mechanism that keeps the types; empty if there is none
	// ByPlace is what each place says by itself, by the name of the place, for the ports
	// that it names. "driver" is what the kernel shows now.
	ByPlace map[string]map[int]string
	// Pending says that a port will have another type after the next boot.
	Pending bool
	// Unanswered is why mstconfig said nothing about the card's configuration; empty if
	// it did, or if it is known not to serve the card. While it is set, StoredIn, the
	// types of the next boot and Pending are not known.
	Unanswered string
	// Unclear is why nobody knows what other settings of the host decide at the next boot;
	// empty if it is known. While it is set, no port has a type of the next boot.
	Unclear string
	// Open says that a setting made elsewhere leaves a port to the firmware: whether it will
	// have another type is not known.
	Open     bool
	Lines    []string // what somebody has added to our file, see platform.AddedLines
	Boot     string   // the boot of the host
	Did      []string
	Warnings []string // what the operator should know, one sentence each
}

// Assess gives the verdict on link types. It reads and never writes.
func Assess(ctx context.Context, o *cards.Session, l Ask) (cards.Assessment, error) {
	s, card, err := l.Card.Read(ctx)
	if err != nil {
		return cards.Assessment{}, err
	}
	stored, err := storedTypes(ctx, l.Card, s, card)
	if err != nil {
		return cards.Assessment{}, err
	}
	a := o.Observe(l.Card, s, card)
	in := safety.LinkTypeInput{
		Card: a.Card, Host: a.Host, Request: l.Request, PlannedPSID: l.PlannedPSID,
		Current: map[int]string{}, Served: stored.Served, HasTypes: hasTypes(stored),
	}
	for number, shown := range shownTypes(s, card) {
		in.Current[number] = shown
	}
	in.Unnamed = unnamed(l, s, card)
	in.Uses = l.uses(s, card)
	in.StoredIn, in.WhyNotStored = storedIn(l.Card, s, card, stored)
	in.NotOurs = notOurs(l, s, card, in.StoredIn)
	in.StaleInitramfs = fact.Known(false)
	if l.Card.TypeStore != nil && !decidesItself(card) {
		in.StaleInitramfs = l.Card.TypeStore.StaleInitramfs(s)
	}
	in.Persisted, in.Decides = nextBoot(l.Card, s, card, stored)
	in.Overrides, in.Parameter = overrides(l, s, card, in.StoredIn == inCardConfig), parameterOver(l, s, card, in.StoredIn)
	for _, e := range edits(l.Card, s, in.StoredIn) {
		in.Edited = e.Evidence(s.Host)
	}
	err = o.Judge(ctx, l.Card.Host, &a, func(card safety.CardFacts) safety.Verdict {
		in.Card = card
		return safety.LinkTypes(in)
	})
	return a, err
}

// storedTypes gives the types that the card's own configuration has for the next start.
// It does not run a tool that is known not to support the chip any more.
func storedTypes(ctx context.Context, c cards.Card, s *inventory.Snapshot,
	card *inventory.Card) (inventory.StoredLinkTypes, error) {
	if grade, why := safety.CheckTool(inCardConfig, s.MSTFlint.Version, card.Chip.Format); grade == safety.ToolRemoved {
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
func storedIn(c cards.Card, s *inventory.Snapshot, card *inventory.Card, stored inventory.StoredLinkTypes) (place,
	whyNot string) {
	if fact.Yes(hasTypes(stored)) {
		return inCardConfig, ""
	}
	if !stored.Served.Known() {
		return "", "mstconfig did not say what the card's configuration has: " + stored.Served.Why()
	}
	if decidesItself(card) {
		return "", "mstconfig shows no link type, and the driver of " + card.Chip.Name + " can store none"
	}
	if c.TypeStore == nil {
		return "", "the platform of " + s.Host + " has no place to store link types"
	}
	return c.TypeStore.StoredIn()
}

// nextBoot gives the types of the ports after the next boot, without those that nothing
// known decides, and the place that decides on each. A module parameter overrides the card's
// configuration where it names a type (Linux drivers/net/ethernet/mellanox/mlx4/main.c:
// port_type_array is applied after the firmware's suggestion). So a forgotten parameter shows.
func nextBoot(c cards.Card, s *inventory.Snapshot, card *inventory.Card,
	stored inventory.StoredLinkTypes) (types map[int]ib.LinkType, by map[int]string) {
	types, by = map[int]ib.LinkType{}, map[int]string{}
	for port, t := range stored.Types.Or(nil) {
		types[port], by[port] = t, inCardConfig
	}
	if c.TypeStore == nil || decidesItself(card) {
		return types, by
	}
	if c.TypeStore.Unclear(s) != "" {
		return nil, nil
	}
	weaker, stronger := c.TypeStore.Others(s)
	if fact.Yes(c.TypeStore.StaleInitramfs(s)) {
		// The initial RAM disk may have older copies of all files. The command line is none.
		weaker = nil
		inDisk := func(o platform.LinkTypeSetting) bool { return o.Where != platform.CommandLine }
		stronger = slices.DeleteFunc(stronger, inDisk)
	}
	place, _ := c.TypeStore.StoredIn()
	ours := platform.LinkTypeSetting{Where: place, Types: c.TypeStore.StoredTypes(s)}
	settings := slices.Concat(weaker, []platform.LinkTypeSetting{ours}, stronger)
	for port, t := range array(settings) {
		if t != ib.LinkTypeAuto {
			types[port], by[port] = t, lastOf(settings, port)
		}
	}
	return types, by
}

// lastOf gives the place of the last setting that names a port.
func lastOf(settings []platform.LinkTypeSetting, port int) string {
	for _, setting := range slices.Backward(settings) {
		if _, named := setting.Types[port]; named {
			return setting.Where
		}
	}
	return ""
}

// array is the driver's parameter after all settings. Of port 1 without a type it makes
// InfiniBand if port 2 has that (mlx4_verify_params).
func array(settings []platform.LinkTypeSetting) map[int]ib.LinkType {
	all := map[int]ib.LinkType{}
	for _, setting := range settings {
		maps.Copy(all, setting.Types)
	}
	if all[1] == ib.LinkTypeAuto && all[2] == ib.LinkTypeIB {
		all[1] = ib.LinkTypeIB
	}
	return all
}

// leftToFirmware reports whether a setting made elsewhere takes the stored type from a port,
// so that the firmware's preference decides. The card's own configuration is one.
func leftToFirmware(c cards.Card, s *inventory.Snapshot, card *inventory.Card, next map[int]ib.LinkType) bool {
	if c.TypeStore == nil || decidesItself(card) {
		return false
	}
	_, stronger := c.TypeStore.Others(s)
	for port, t := range array(stronger) {
		if _, decided := next[port]; t == ib.LinkTypeAuto && !decided {
			return true
		}
	}
	return false
}

// overrides are the settings made elsewhere that set a port to another type than asked.
func overrides(l Ask, s *inventory.Snapshot, card *inventory.Card, inCard bool) fact.Of[[]string] {
	if l.Card.TypeStore == nil || decidesItself(card) {
		return fact.Known[[]string](nil)
	}
	if why := l.Card.TypeStore.Unclear(s); why != "" {
		return fact.Unknown[[]string](why)
	}
	var all []string
	_, stronger := l.Card.TypeStore.Others(s)
	asked := platform.LinkTypeSetting{Types: l.Request.Ports}
	outcome := array(slices.Concat([]platform.LinkTypeSetting{asked}, stronger))
	for _, setting := range stronger {
		for _, port := range sortedPorts(setting.Types) {
			want, asked := l.Request.Ports[port]
			switch t := setting.Types[port]; {
			case !asked || t == want:
			case t != ib.LinkTypeAuto:
				all = append(all, fmt.Sprintf("%s has %s on port %d", setting.Where, t, port))
			case outcome[port] == ib.LinkTypeAuto && !inCard: // the card's configuration decides on 0
				all = append(all, fmt.Sprintf("%s has 0 on port %d, which leaves the type to the firmware", setting.Where, port))
			}
		}
	}
	return fact.Known(all)
}

// Read gives the types of a card's ports.
func Read(ctx context.Context, c cards.Card) (State, error) {
	s, card, err := c.Read(ctx)
	if err != nil {
		return State{}, err
	}
	stored, err := storedTypes(ctx, c, s, card)
	if err != nil {
		return State{}, err
	}
	state := State{Boot: s.BootID, Ports: map[int]Port{}, ByPlace: byPlace(s, c, card, stored),
		Unanswered: stored.Served.Why()}
	if decidesItself(card) { // a tool that is not there leaves no other place that decides
		state.Unanswered = stored.Types.Why()
	}
	state.StoredIn, _ = storedIn(c, s, card, stored)
	kept, _ := nextBoot(c, s, card, stored)
	for number, shown := range shownOrStored(s, card, stored) {
		link := Port{Port: number, Shown: shown, Persistent: kept[number], InCard: decidesItself(card)}
		link.Configured, link.Effective = shownType(shown)
		state.Ports[number] = link
		state.Pending = state.Pending || shown != "" && link.Persistent != "" && link.Persistent != link.Configured
	}
	if c.TypeStore != nil && !decidesItself(card) {
		state.Unclear = c.TypeStore.Unclear(s)
	}
	state.Lines = platform.AddedLines(edits(c, s, state.StoredIn))
	state.Open = !state.Pending && leftToFirmware(c, s, card, kept)
	return state, nil
}

// byPlace gives what each place says, so that a difference shows where it is: a
// parameter that somebody added, or a card that was set for the next boot with a tool.
func byPlace(s *inventory.Snapshot, c cards.Card, card *inventory.Card,
	stored inventory.StoredLinkTypes) map[string]map[int]string {
	all := map[string]map[int]string{}
	if shown := shownTypes(s, card); len(shown) > 0 {
		all["driver"] = shown
	}
	add := func(name string, types map[int]ib.LinkType) {
		if len(types) == 0 || name == "" {
			return
		}
		all[name] = map[int]string{}
		for port, t := range types {
			all[name][port] = t.String()
		}
	}
	add(inCardConfig, stored.Types.Or(nil))
	if c.TypeStore != nil && !decidesItself(card) {
		name, _ := c.TypeStore.StoredIn()
		add(name, c.TypeStore.StoredTypes(s))
		weaker, stronger := c.TypeStore.Others(s)
		for _, setting := range slices.Concat(weaker, stronger) {
			add(setting.Where, setting.Types)
		}
	}
	return all
}

// decidesItself reports whether nothing but the card's own configuration decides
// on the types of its ports.
func decidesItself(card *inventory.Card) bool { return card.Chip.Driver == "mlx5_core" }

// uses names what needs InfiniBand on each port of a card. With mlx5 each port is a PCI
// function.
func (l Ask) uses(s *inventory.Snapshot, card *inventory.Card) map[int][]string {
	all := map[int][]string{}
	for i := range s.Cards {
		c := &s.Cards[i]
		if l.Uses == nil || c.PCI.Slot() != card.PCI.Slot() || c.Virtual {
			continue
		}
		for _, p := range c.Ports {
			number := p.Number
			if decidesItself(card) {
				number = c.PCI.Function() + 1
			}
			if !p.PortGUID.IsZero() {
				all[number] = l.Uses(s, p.PortGUID)
			}
		}
	}
	return all
}

func sortedPorts(types map[int]ib.LinkType) []int { return slices.Sorted(maps.Keys(types)) }
