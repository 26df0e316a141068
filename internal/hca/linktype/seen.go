package linktype

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Seen is what the ports of a card were at one look: what an apply switches or stores.
type Seen struct {
	Boot  string // the boot of the host in which it was seen
	Ports map[int]SeenPort
	Lines []string // what somebody has added to our file
}

// SeenPort is one port of it. A type that was not read is empty. Stored is what our setting has
// where the initial RAM disk has an older copy.
type SeenPort struct{ Now, Stored ib.LinkType }

// SeenOf is what a look has found.
func SeenOf(s State) Seen {
	seen := Seen{Boot: s.Boot, Ports: map[int]SeenPort{}, Lines: s.Lines}
	for number, p := range s.Ports {
		one := SeenPort{Now: p.Configured}
		if s.Unanswered == "" {
			one.Stored = cmp.Or(p.Persistent, p.Written)
		}
		seen.Ports[number] = one
	}
	return seen
}

// checkSeen refuses to switch or to store what somebody has set since it was seen, unless it
// is what is asked for. A restart of the host, and firmware that it begins to run, give the
// ports other types: after one nothing is compared.
func checkSeen(card string, s State, before *Seen, want map[int]ib.LinkType) []finding.Finding {
	if before == nil || before.Boot == "" || before.Boot != s.Boot {
		return nil
	}
	now := SeenOf(s).Ports
	var changed []string
	for _, number := range slices.Sorted(maps.Keys(now)) {
		for _, what := range now[number].changed(before.Ports[number], want[number]) {
			changed = append(changed, fmt.Sprintf("port %d %s", number, what))
		}
	}
	changed = append(changed, platform.NewLines(s.Lines, before.Lines)...)
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("Card %s: %s.", card, strings.Join(changed, "; "))}
}

// changed says what of a port differs from what it was and from what is wanted; empty is
// nothing that is wanted.
func (p SeenPort) changed(was SeenPort, wanted ib.LinkType) []string {
	// Somebody who has set what is asked for has lost nothing.
	differs := func(is, was ib.LinkType) bool { return is != "" && was != "" && is != was && is != wanted }
	var all []string
	// A port that is not asked for is not switched.
	if wanted != "" && differs(p.Now, was.Now) {
		all = append(all, fmt.Sprintf("was %s and is %s", was.Now, p.Now))
	}
	// With the other ports of the host, one that is not asked for is stored as it is.
	if differs(p.Stored, was.Stored) && (wanted != "" || p.Stored != was.Now) {
		all = append(all, fmt.Sprintf("had %s stored for the next boot and has %s", was.Stored, p.Stored))
	}
	return all
}
