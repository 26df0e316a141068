package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// path gives the findings on what reaches the host through this card, and what
// the host reaches. Both ports count: they are one PCI function and go down
// together. A card without interfaces carries nothing, whatever is not known.
func path(card CardFacts, host HostFacts, consent string) []Finding {
	ways := paths{need: used(card, host), all: host.Netdevs, consent: consent, pci: card.PCI}
	session, known := host.SSH.Get()
	if !known && len(host.Netdevs) > 0 {
		f := find("HO001", "The interfaces of the session to %s are not known: %s. They may be %s of %s",
			host.Name, host.SSH.Why(), strings.Join(host.Netdevs, " and "), card.PCI)
		f.Summary = "It is not known whether the SSH session runs over this card"
		return append(append([]Finding{ways.unknown(f)}, routes(card, host, nil, ways)...), storage(card, host, ways)...)
	}
	var found []Finding
	var devs []string
	for _, way := range session {
		if onCard(card, way) {
			devs = append(devs, way.Dev)
			found = append(found, ways.finding("HO001", "The session to "+host.Name, way.Dev))
		}
	}
	return append(append(found, routes(card, host, devs, ways)...), storage(card, host, ways)...)
}

// routes gives the findings on default routes, but for the interfaces of which
// a finding says already that the session uses them.
func routes(card CardFacts, host HostFacts, said []string, ways paths) []Finding {
	var found []Finding
	for _, r := range host.DefaultRoutes {
		if onCard(card, r) && !slices.Contains(said, r.Dev) {
			found = append(found, ways.finding("HO002", "The default route of "+host.Name, r.Dev))
		}
	}
	return found
}

// paths is what a consent to losing the interfaces of a card is judged by.
type paths struct {
	need    []string // interfaces of the card that something uses or may use
	all     []string // of the card
	consent string   // names, with commas between them
	pci     ib.PCIAddress
}

// used gives the interfaces of a card that something of the host uses; all, if
// something is there of which it is not known what it uses.
func used(card CardFacts, host HostFacts) []string {
	session, known := host.SSH.Get()
	ways := append(slices.Clone(session), host.DefaultRoutes...)
	for _, st := range host.Storage {
		via, ok := st.Via.Get()
		known = known && ok
		ways = append(ways, via)
	}
	var devs []string
	if !known {
		devs = slices.Clone(host.Netdevs)
	}
	for _, p := range ways {
		if onCard(card, p) {
			devs = append(devs, p.Dev)
		}
	}
	slices.Sort(devs)
	return slices.Compact(devs)
}

// storage gives one finding for each interface, so that a host with many mounts
// does not say the same many times.
func storage(card CardFacts, host HostFacts, ways paths) []Finding {
	uses := map[string][]string{}
	var found []Finding
	var lost []string
	for _, st := range host.Storage {
		via, known := st.Via.Get()
		switch {
		case !known:
			lost = append(lost, st.What+" ("+st.Via.Why()+")")
		case onCard(card, via):
			uses[via.Dev] = append(uses[via.Dev], st.What)
		}
	}
	for _, dev := range slices.Sorted(maps.Keys(uses)) {
		found = append(found, ways.finding("HO012", "Storage of "+host.Name+" ("+strings.Join(uses[dev], ", ")+")", dev))
	}
	if len(lost) > 0 && len(host.Netdevs) > 0 {
		f := find("HO012", "The interface to storage of %s is not known: %s. It may be %s of %s",
			host.Name, strings.Join(lost, "; "), strings.Join(host.Netdevs, " or "), card.PCI)
		f.Summary = "It is not known whether storage of the host is reached over this card"
		found = append(found, ways.unknown(f))
	}
	return found
}

// finding is granted if the consent names the interface; the line to add names
// all that are needed, so that two do not ask for each other's removal.
func (p paths) finding(code, what, dev string) Finding {
	return p.judge(find(code, "%s uses %s, an interface of %s", what, dev, p.pci), dev)
}

// unknown is granted if the consent names every interface of the card.
func (p paths) unknown(f Finding) Finding { return p.judge(f, p.all...) }

func (p paths) judge(f Finding, devs ...string) Finding {
	granted := map[string]bool{}
	for name := range strings.SplitSeq(p.consent, ",") {
		granted[strings.TrimSpace(name)] = true
	}
	if !slices.ContainsFunc(devs, func(dev string) bool { return !granted[dev] }) {
		return f.granted(fmt.Sprintf("%s, as allowed", f.Summary))
	}
	if p.consent != "" {
		f.Evidence += fmt.Sprintf("; allow_management_path is %q", p.consent)
	}
	return f.consent(fmt.Sprintf("allow_management_path = %q", strings.Join(p.need, ",")))
}

func onCard(card CardFacts, p NetPath) bool {
	return p.Dev != "" && slices.ContainsFunc(p.Cards, func(pci ib.PCIAddress) bool { return pci.Slot() == card.PCI.Slot() })
}
