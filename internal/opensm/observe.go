package opensm

import (
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Observe reads from a snapshot what is on the host for one port.
func Observe(s *inventory.Snapshot, port ib.GUID) Observed {
	o := Observed{
		Installed: s.Packages["opensm"],
		Unit:      opensm.Unit(port),
		Priority:  -1,
	}
	o.Active = s.Unit(o.Unit).ActiveState == "active"
	// A list that does not parse lists nothing; Check reports it.
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	if err == nil {
		o.Listed = ports.Has(port)
	}
	o.Enabled = o.Listed && s.Unit(opensm.Service).UnitFileState == "enabled"
	if f := s.Files[opensm.DropInPath(port)]; platform.Owned(f.Content) {
		o.Managed = true
		// A drop-in that was edited in other ways has no priority of ours.
		if p, ok := opensm.Priority(f.Content); ok && f.Content == dropIn(p) {
			o.Priority = p
		}
	}
	if _, p, ok := s.CardByPortGUID(port); ok {
		o.PortPresent = true
		o.LinkLayer, o.State, o.Physical = p.LinkLayer, p.State, p.Physical
		o.LID, o.SMLID, o.IsSM = p.LID, p.SMLID, p.IsSM
	} else if sleeping, ok := platform.FindSleepingPort(s, port); ok {
		o.Sleeping, o.LinkLayer = true, sleeping.LinkLayer
	}
	o.Others = others(s, ports, port)
	return o
}

// others are the ports of other instances: those listed and those that run.
func others(s *inventory.Snapshot, ports opensm.Ports, port ib.GUID) []ib.GUID {
	all := slices.Clone(ports.GUIDs)
	for name, u := range s.Units {
		if g, ok := opensm.PortOfUnit(name); ok && u.ActiveState == "active" {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(g ib.GUID) bool { return g == port })
}

// Master reports whether the SM of this port rules its fabric now: the port's SM
// is on the port's own LID.
func (o Observed) Master() bool {
	return o.IsSM && o.State == "Active" && o.LID != 0 && o.LID == o.SMLID
}

// Differences says in what the host differs from d, one line each; empty if
// nothing has to be done.
func (o Observed) Differences(d Desired) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if o.Installed == "" {
		add("opensm is not installed")
	}
	if !o.Active {
		add("%s does not run", o.Unit)
	}
	if !o.Enabled {
		add("it does not start at boot")
	}
	switch {
	case o.Priority != d.Priority && o.Priority < 0:
		add("its priority is not set")
	case o.Priority != d.Priority:
		add("its priority is %d, not %d", o.Priority, d.Priority)
	}
	if o.PortPresent && o.Active && !o.IsSM {
		add("%s runs, but no SM is bound to the port", o.Unit)
	}
	return diff
}
