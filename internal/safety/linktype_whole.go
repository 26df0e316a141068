package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// wholeCard is what the ports of a card will have, named or not: now, and after the next
// boot. What senses the cable is not in it, unless the port has sensed it.
func wholeCard(in LinkTypeInput) (now, atBoot map[int]ib.LinkType) {
	now, atBoot = maps.Clone(in.Request.Ports), maps.Clone(in.Request.Ports)
	if firmwareFirst(in) {
		return now, atBoot // what the ports show is of the old firmware
	}
	done := linkDone(in)
	for n, port := range in.Unnamed {
		now[n] = onWire(in.Current[n])
		atBoot[n] = port.AtBoot
		if done { // then nothing is stored
			atBoot[n] = in.Persisted[n]
		}
	}
	return now, atBoot
}

// onWire is the type that a port has in effect: "auto (ib)" is InfiniBand.
func onWire(shown string) ib.LinkType {
	if sensed, auto := strings.CutPrefix(shown, "auto ("); auto {
		shown = strings.TrimSuffix(sensed, ")")
	}
	return ib.LinkType(shown)
}

// hasPair reports whether the card will have these types on its ports 1 and 2, and says why.
func hasPair(in LinkTypeInput, one, two ib.LinkType) (says string, has bool) {
	now, atBoot := wholeCard(in)
	is := func(types map[int]ib.LinkType) bool { return types[1] == one && types[2] == two }
	if len(in.Unnamed) == 0 && is(now) {
		return fmt.Sprintf("ports = { \"1\" = %q, \"2\" = %q }", one, two), true
	}
	switch {
	case is(now):
		return saysPair(in, one, two, func(UnnamedPort) string { return "now" }), true
	case is(atBoot):
		return saysPair(in, one, two, func(p UnnamedPort) string {
			if p.Decides != "" {
				return "after the next restart, by " + p.Decides
			}
			return "after the next restart"
		}), true
	}
	return "", false
}

// saysPair names the ports of a pair, one of which the request does not name.
func saysPair(in LinkTypeInput, one, two ib.LinkType, when func(UnnamedPort) string) string {
	said := make([]string, 0, 2)
	for n, t := range map[int]ib.LinkType{1: one, 2: two} {
		if other, unnamed := in.Unnamed[n]; unnamed {
			said = append(said, fmt.Sprintf("port %d, which ports does not name, is %s %s", n, t, when(other)))
		} else {
			said = append(said, fmt.Sprintf("port %d is to be %s", n, t))
		}
	}
	slices.Sort(said)
	return fmt.Sprintf("Card %s: %s", in.Card.PCI, strings.Join(said, "; "))
}

// unnamedUnshown refuses a card with a port that the request does not name and whose
// type nothing shows: what would be stored for it is not known.
func unnamedUnshown(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	for _, n := range slices.Sorted(maps.Keys(in.Unnamed)) {
		if in.Current[n] == "" {
			found = append(found, finding.PortTypesNotShown.Find("Card %s has a port %d, and no mlx4_port%d shows its type. "+
				"The types of all ports are stored together", in.Card.PCI, n, n))
		}
	}
	return found
}

// storedType is the type that a setting for the whole card has for a port.
func storedType(in LinkTypeInput, n int) (t ib.LinkType, has bool) {
	if want, asked := in.Request.Ports[n]; asked {
		return want, true
	}
	if _, unnamed := in.Unnamed[n]; !unnamed || in.Current[n] == "" {
		return "", false
	}
	if strings.HasPrefix(in.Current[n], "auto") {
		return ib.LinkTypeAuto, true
	}
	return ib.LinkType(in.Current[n]), true
}
