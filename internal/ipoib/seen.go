package ipoib

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Seen is what an interface and its definitions had at one look: what an apply replaces.
type Seen struct {
	Live   Config
	Stored Config            // by our own definition
	Files  map[string]Config // by those that could be taken over, by their paths
	Added  []string          // settings that somebody has added to ours
}

// SeenOf is what a look has found.
func SeenOf(o Observation) Seen {
	seen := Seen{Live: o.Live, Stored: o.Persisted.Config, Files: map[string]Config{}}
	for _, f := range o.Unmanaged {
		if f.Adoptable() {
			seen.Files[f.Path] = f.Config
		}
	}
	for _, a := range o.Added {
		seen.Added = append(seen.Added, a.keys()...)
	}
	return seen
}

// CheckSeen refuses to replace what somebody has given to the interface, or written into a
// definition of it, since it was seen, unless d asks for it.
func CheckSeen(s *inventory.Snapshot, before Seen, d Request) []finding.Finding {
	o := Observe(s, d.PortGUID, d.PKey)
	known := []Config{before.Live, before.Stored, d.Config}
	for _, c := range before.Files {
		known = append(known, c)
	}
	var changed []string
	note := func(where string, now Config) {
		for _, what := range newIn(now, known) {
			changed = append(changed, where+" "+what)
		}
	}
	// Not its mode and MTU: a restart gives it those of the driver, a datagram interface
	// follows its broadcast group, and NetworkManager puts back what it found when the link
	// goes down. Nothing is lost with them.
	note("the interface has", Config{Addresses: o.Live.Addresses})
	if o.Persisted.Found {
		note("its definition in "+strings.Join(o.Persisted.Sources, " and ")+" has", o.Persisted.Config)
	}
	for _, f := range adoptedDefinitions(o, d) {
		note(f.Path+" has", f.Config)
	}
	changed = append(changed, newSettings(o, before)...)
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("The plan has not seen this of IPoIB interface %s of %s: %s.",
		cmp.Or(o.Name, "port "+d.PortGUID.String()), s.Host, strings.Join(changed, "; "))}
}

// newIn names what of a configuration none of the others has.
func newIn(now Config, others []Config) []string {
	none := func(has func(Config) bool) bool { return !slices.ContainsFunc(others, has) }
	var all []string
	if now.Mode != "" && none(func(c Config) bool { return c.Mode == now.Mode }) {
		all = append(all, "mode "+now.Mode.String())
	}
	if now.MTU != 0 && none(func(c Config) bool { return c.MTU == now.MTU }) {
		all = append(all, fmt.Sprintf("MTU %d", now.MTU))
	}
	for _, a := range now.Addresses {
		if none(func(c Config) bool { return slices.Contains(c.Addresses, a) }) {
			all = append(all, "address "+a.String())
		}
	}
	for _, r := range now.Routes {
		if none(func(c Config) bool { return len(routesWithout([]Route{r}, c.Routes)) == 0 }) {
			all = append(all, "route "+r.String())
		}
	}
	return all
}
