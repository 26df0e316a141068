package found

import (
	"cmp"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Instance is another instance of opensm@.service on the host: one that systemd has loaded, is listed, or
// has a drop-in at our path.
type Instance struct {
	Unit   string
	Port   ib.GUID // 0 if the name of the unit holds none
	Listed bool    // in PORTS of /etc/default/opensm
	Active bool
	AtBoot bool // systemd has it otherwise than disabled
	Masked bool
	Ours   bool // our drop-in is there
	Unread bool // a drop-in at our path is there and could not be read
}

// readInstances are all but that of the port, also those whose names hold no GUID.
func readInstances(s *inventory.Snapshot, port ib.GUID, list List) []Instance {
	all := map[string]Instance{}
	note := func(unit string, change func(*Instance)) {
		if !tool.IsInstance(unit) || unit == tool.Unit(port) {
			return
		}
		i := all[unit]
		i.Unit = unit
		i.Port, _ = tool.PortOfUnit(unit)
		change(&i)
		all[unit] = i
	}
	// systemd has loaded what ran since the boot, was failed, or is wanted by something. An instance that was
	// stopped is forgotten, so that the list and our drop-ins count as well.
	for name, u := range s.Units {
		note(name, func(i *Instance) {
			i.Active, i.Masked = u.Active(), fact.Yes(s.Masked(name))
			i.AtBoot = u.UnitFileState != "" && u.UnitFileState != "disabled"
		})
	}
	for _, g := range list.GUIDs {
		note(tool.Unit(g), func(i *Instance) { i.Listed = true })
	}
	for path, f := range s.Files {
		if unit, is := tool.UnitOfDropIn(path); is {
			note(unit, func(i *Instance) { i.Ours = platform.IsOurs(f.Content) })
		}
	}
	for path := range s.Denied {
		if unit, is := tool.UnitOfDropIn(path); is {
			note(unit, func(i *Instance) { i.Unread = true })
		}
	}
	var sorted []Instance
	for _, i := range all {
		sorted = append(sorted, i)
	}
	slices.SortFunc(sorted, func(a, b Instance) int { return cmp.Compare(a.Unit, b.Unit) })
	return sorted
}

// OthersListed are the others that the shared service starts by name, in the order of the list.
func (l *Look) OthersListed() []Instance {
	var listed []Instance
	for _, g := range l.List.GUIDs {
		for _, i := range l.Others {
			if i.Listed && i.Port == g {
				listed = append(listed, i)
			}
		}
	}
	return listed
}

// OthersRun reports whether all others that are listed are known to run.
func (l *Look) OthersRun() bool {
	idle := func(i Instance) bool { return i.Listed && !i.Active }
	return !slices.ContainsFunc(l.Others, func(i Instance) bool { return idle(i) || i.Listed && !l.UnitsKnown })
}

// UnitsOf are the names of the other instances that are so.
func (l *Look) UnitsOf(is func(Instance) bool) []string {
	var units []string
	for _, i := range l.Others {
		if is(i) {
			units = append(units, i.Unit)
		}
	}
	return units
}

// IsOurs reports whether it is, or may be, an instance that this provider has set up.
func (i Instance) IsOurs() bool { return i.Ours || i.Unread }

// NeedsTemplate reports whether an instance starts with the template unit, now or later. One of ours
// needs it as long as its drop-in is there, and one of somebody else if it runs or is not disabled.
func (i Instance) NeedsTemplate() bool { return i.Active || i.AtBoot || i.Ours || i.Unread }
