package hostcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Path gives the findings on what reaches the host through this card, and what the host
// reaches. Both ports count: they are one PCI function and go down together. A card
// without interfaces carries nothing, even if other facts are not known.
func Path(s *inventory.Snapshot, pci ib.PCIAddress, consent []string) []finding.Finding {
	own := s.NetdevsOf(pci)
	ways := paths{need: usedInterfaces(s, pci), all: own, consent: consent, pci: pci}
	session, known := s.SSH.Devs.Get()
	if !known && len(own) > 0 {
		f := finding.SessionOverCard.Find("The interfaces of the session to %s are not known: %s. They may be %s of %s",
			s.Host, s.SSH.Devs.Why(), strings.Join(own, " and "), pci)
		f.Summary = "It is not known whether the SSH session runs over this card"
		return append(append([]finding.Finding{ways.judgeUnknown(f)}, routes(s, pci, nil, ways)...),
			storage(s, pci, ways)...)
	}
	var found []finding.Finding
	var devs []string
	// Of each interface, as several may have the address that the session came to.
	for _, dev := range session {
		if on := carries(s, pci, s.CardsBelow(dev)); !fact.No(on) {
			devs = append(devs, dev)
			found = append(found, ways.over(finding.SessionOverCard, "The session to "+s.Host, dev, on))
		}
	}
	return append(append(found, routes(s, pci, devs, ways)...), storage(s, pci, ways)...)
}

// routes gives the findings on default routes, but for the interfaces of which
// a finding says already that the session uses them.
func routes(s *inventory.Snapshot, pci ib.PCIAddress, said []string, ways paths) []finding.Finding {
	var found []finding.Finding
	for _, dev := range s.Routes.Devs() {
		if on := carries(s, pci, s.CardsBelow(dev)); !fact.No(on) && !slices.Contains(said, dev) {
			found = append(found, ways.over(finding.DefaultRouteOverCard, "The default route of "+s.Host, dev, on))
		}
	}
	// A card without interfaces carries no route, whatever is hidden.
	if hidden := s.HiddenRoutes(); len(hidden) > 0 && len(ways.all) > 0 {
		f := finding.DefaultRouteOverCard.Find("What carries the default route of %s is not known: %s. It may be %s of %s",
			s.Host, strings.Join(hidden, "; "), strings.Join(ways.all, " or "), pci)
		f.Summary = "It is not known whether the default route of the host uses this card"
		found = append(found, ways.judgeUnknown(f))
	}
	return found
}

// paths is what a consent to losing the interfaces of a card is judged by.
type paths struct {
	need    []string // interfaces of the card that something uses or may use
	all     []string // of the card
	consent []string // names of interfaces
	pci     ib.PCIAddress
}

// usedInterfaces gives the interfaces of a card that something on the host uses. It
// gives all of them if something is there and it is not known what it uses.
func usedInterfaces(s *inventory.Snapshot, pci ib.PCIAddress) []string {
	session, known := s.SSH.Devs.Get()
	known = known && len(s.HiddenRoutes()) == 0
	ways := slices.Concat(session, s.Routes.Devs())
	var devs []string
	for _, st := range s.Storage {
		known = known && st.Dev.Known()
		if !fact.No(carries(s, pci, s.CardsTo(st))) {
			devs = append(devs, st.Way())
		}
	}
	for _, dev := range ways {
		if !fact.No(carries(s, pci, s.CardsBelow(dev))) {
			devs = append(devs, dev)
		}
	}
	if !known {
		devs = append(devs, s.NetdevsOf(pci)...)
	}
	slices.Sort(devs)
	return slices.Compact(devs)
}

// storage gives one finding for each interface, so that a host with many mounts
// does not say the same many times.
func storage(s *inventory.Snapshot, pci ib.PCIAddress, ways paths) []finding.Finding {
	uses, over := map[string][]string{}, map[string]fact.Bool{}
	var found []finding.Finding
	var lost []string
	for _, st := range s.Storage {
		on := carries(s, pci, s.CardsTo(st))
		switch {
		case !st.Dev.Known():
			lost = append(lost, st.String()+" ("+st.Dev.Why()+")")
		case !fact.No(on):
			uses[st.Way()], over[st.Way()] = append(uses[st.Way()], st.String()), on
		}
	}
	for _, dev := range slices.Sorted(maps.Keys(uses)) {
		found = append(found, ways.over(finding.StorageOverCard,
			"Storage of "+s.Host+" ("+strings.Join(uses[dev], ", ")+")", dev, over[dev]))
	}
	if len(lost) > 0 && len(ways.all) > 0 {
		f := finding.StorageOverCard.Find("The interface to storage of %s is not known: %s. It may be %s of %s",
			s.Host, strings.Join(lost, "; "), strings.Join(ways.all, " or "), pci)
		f.Summary = "It is not known whether storage of the host is reached over this card"
		found = append(found, ways.judgeUnknown(f))
	}
	return found
}

// finding becomes a note if the consent names the interface. The line to add names all
// interfaces that are needed, so that following one finding does not undo another.
func (p paths) over(rule *finding.Rule, what, dev string, on fact.Bool) finding.Finding {
	if !on.Known() {
		return p.judge(rule.Find("%s uses %s, which may be an interface of %s: %s", what, dev, p.pci, on.Why()), dev)
	}
	return p.judge(rule.Find("%s uses %s, an interface of %s", what, dev, p.pci), dev)
}

// judgeUnknown gives a note if the consent names every interface of the card.
func (p paths) judgeUnknown(f finding.Finding) finding.Finding { return p.judge(f, p.all...) }

func (p paths) judge(f finding.Finding, devs ...string) finding.Finding {
	f = f.WithConsent(f.Rule.ConsentLine(finding.Names(p.need...)))
	if !slices.ContainsFunc(devs, func(dev string) bool { return !slices.Contains(p.consent, dev) }) {
		return f.AsGranted(fmt.Sprintf("%s, as allowed", f.Summary))
	}
	if len(p.consent) > 0 {
		f.Evidence += "; " + f.Rule.ConsentName() + " = " + finding.Names(p.consent...)
	}
	return f
}

// carries reports whether one of these PCI functions is of a card.
func carries(s *inventory.Snapshot, pci ib.PCIAddress, by []ib.PCIAddress) fact.Bool {
	var of []fact.Bool
	for _, function := range by {
		of = append(of, s.OfCard(function, pci))
	}
	return fact.Any(of...)
}
