package opensm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Staying says what a removal leaves of what the instances of a host share, because others
// need it: one sentence each. Nothing else of the shared is left.
func Staying(s *inventory.Snapshot, port ib.GUID) []string {
	if !Observe(s, port).Managed {
		return nil // nothing is removed
	}
	return layoutOf(s).staying(s, port)
}

func (l layout) staying(s *inventory.Snapshot, port ib.GUID) []string {
	if !l.own {
		return serviceStaying(s, port)
	}
	needs := needTemplate(s, port)
	switch {
	case !platform.IsOurs(s.Files[opensm.TemplatePath].Content):
		return nil
	case s.UnitsWhy != "" || s.Units == nil:
		return []string{fmt.Sprintf("%s stays, because it is not known which other subnet managers need it: %s.",
			opensm.TemplatePath, s.UnitsWhy)}
	case len(needs) == 0:
		return nil
	}
	return []string{fmt.Sprintf("%s stays, because %s %s it.", opensm.TemplatePath, strings.Join(needs, " and "),
		verb(needs, "need"))}
}

// needTemplate are the other instances that start with the template unit, now or later. One of ours
// needs it as long as its drop-in is there, and one of somebody else if it runs or is not disabled.
func needTemplate(s *inventory.Snapshot, port ib.GUID) []string {
	needs := instances(s, port, func(u inventory.Unit) bool {
		return u.Active() || u.UnitFileState != "" && u.UnitFileState != "disabled"
	})
	for path := range maps.Keys(s.Files) {
		if unit, is := opensm.UnitOfDropIn(path); is && unit != opensm.Unit(port) && platform.IsOurs(s.Files[path].Content) {
			needs = append(needs, unit)
		}
	}
	for path := range s.Denied {
		if unit, is := opensm.UnitOfDropIn(path); is && unit != opensm.Unit(port) {
			needs = append(needs, unit)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// serviceStaying says why the service that has the list of ports is neither stopped nor disabled.
// All instances are parts of it: to stop it stops those that it did not start as well.
func serviceStaying(s *inventory.Snapshot, port ib.GUID) []string {
	var stays []string
	add := func(format string, args ...any) { stays = append(stays, fmt.Sprintf(format, args...)) }
	ports, there, err := portList(s)
	rest := listedBeside(s, port)
	switch {
	case err != nil || !there: // the removal itself says it, or nothing is listed
	case ports.All:
		add("PORTS=ALL in %s stays, and %s with it: it starts a subnet manager on every port at boot, on this one too.",
			opensm.DefaultPath, opensm.Service)
	case len(rest) > 0:
		add("%s stays, because %s lists %s as well.", opensm.Service, opensm.DefaultPath, portNames(rest))
	}
	switch running := instances(s, port, inventory.Unit.Active); {
	case s.UnitsWhy != "" || s.Units == nil:
		add("%s stays, because it is not known which other subnet managers run: %s.", opensm.Service, s.UnitsWhy)
	case len(running) > 0:
		add("%s stays, because %s %s and would stop with it.", opensm.Service, strings.Join(running, " and "),
			verb(running, "run"))
	}
	return stays
}

// listedBeside are the other ports that the shared service starts by name. A list that cannot be read
// is refused elsewhere.
func listedBeside(s *inventory.Snapshot, port ib.GUID) []ib.GUID {
	ports, _, err := portList(s)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ports.GUIDs), func(g ib.GUID) bool { return g == port })
}

// allRun reports whether the subnet managers of all these ports are known to run.
func allRun(s *inventory.Snapshot, ports []ib.GUID) bool {
	return !slices.ContainsFunc(ports, func(g ib.GUID) bool {
		u, known := s.Unit(opensm.Unit(g)).Get()
		return !known || !u.Active()
	})
}

// checkOthersStart is about listed ports that start at boot because this one does. Those with files of
// ours have a resource that plans their start, and those that are masked do not start.
func checkOthersStart(s *inventory.Snapshot, o Observation, d Request) []finding.Finding {
	if layoutOf(s).own || len(o.Differences(d)) == 0 || o.rereads(d) || fact.Yes(s.StartsAtBoot(opensm.Service)) {
		return nil
	}
	var units []string
	for _, g := range listedBeside(s, d.PortGUID) {
		if unit := opensm.Unit(g); !platform.IsOurs(s.Files[opensm.DropInPath(g)].Content) && !fact.Yes(s.Masked(unit)) {
			units = append(units, unit)
		}
	}
	if len(units) == 0 {
		return nil
	}
	f := finding.OpensmOthersStart.Find("On %s %s %s at the next boot, too.", s.Host, strings.Join(units, " and "),
		verb(units, "start"))
	if o.Installed == "" {
		f = finding.OpensmOthersStart.Find("On %s %s %s when the package is installed, and at boot.", s.Host,
			strings.Join(units, " and "), verb(units, "start"))
		f.Summary = "Other subnet managers of the host will start, too"
	}
	return []finding.Finding{f}
}

// instances are the units of other subnet managers that systemd has loaded, also those whose
// names hold no GUID.
func instances(s *inventory.Snapshot, port ib.GUID, is func(inventory.Unit) bool) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(s.Units)) {
		if opensm.IsInstance(name) && name != opensm.Unit(port) && is(s.Units[name]) {
			found = append(found, name)
		}
	}
	return found
}

// verb agrees with its subjects.
func verb(subjects []string, plural string) string {
	if len(subjects) == 1 {
		return plural + "s"
	}
	return plural
}

func portNames(all []ib.GUID) string {
	words := make([]string, len(all))
	for i, g := range all {
		words[i] = g.String()
	}
	return strings.Join(words, " and ")
}
