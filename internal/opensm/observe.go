package opensm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Observe reads from a snapshot what is on the host for one port.
func Observe(s *inventory.Snapshot, port ib.GUID) Observation {
	o := Observation{
		Installed: installedVersion(s),
		Unit:      opensm.Unit(port),
		ConfPath:  opensm.ConfPath(port),
		Priority:  -1,
	}
	o.Active = s.Runs(o.Unit)
	lists := layoutOf(s)
	o.Listed, o.Enabled = lists.atBoot(s, port)
	for _, unit := range lists.units(port) {
		if fact.Yes(s.Masked(unit)) {
			o.Masked, o.Enabled = append(o.Masked, unit), fact.Known(false)
		}
	}
	o.files(s, port)
	o.Older = o.older(s, port)
	card, p, ok := s.CardByPortGUID(port)
	if ok {
		o.PortPresent = true
		o.LinkLayer, o.State, o.Physical = p.LinkLayer, p.State, p.Physical
		o.LID, o.SMLID, o.IsSM = p.LID, p.SMLID, p.IsSM
	} else if sleeping, ok := platform.FindSleepingPort(s, port); ok {
		o.Sleeping, o.LinkLayer, card = true, sleeping.LinkLayer, sleeping.Card
	}
	if o.Managed {
		o.NotAtBoot = platform.NotAtBoot(s, card, "ib_umad")
	}
	o.Others = others(s, port)
	return o
}

// installedVersion is the version of the package. Where packages are not listed, the
// program itself counts.
func installedVersion(s *inventory.Snapshot) string {
	if v := s.Packages["opensm"]; v != "" || len(s.Packages) > 0 || !s.Commands["opensm"] {
		return v
	}
	return "unknown"
}

// files reads what is ours.
func (o *Observation) files(s *inventory.Snapshot, port ib.GUID) {
	paths := []string{opensm.DropInPath(port), opensm.ConfPath(port), opensm.PartitionsPath(port)}
	for _, path := range paths {
		if f, there := s.Files[path]; there && !platform.IsOurs(f.Content) {
			o.Unmanaged = append(o.Unmanaged, path)
		}
		if s.Denied[path] {
			o.Unread = append(o.Unread, path)
		}
	}
	dropIn, conf := s.Files[paths[0]].Content, s.Files[paths[1]].Content
	o.Managed, o.Edits = platform.IsOurs(dropIn), edits(s, port)
	o.Keys = keysOf(s, paths[1])
	if !o.Managed {
		o.Keys = keysOf(s, layoutOf(s).files.Conf)
		o.handmade(s, port)
		return
	}
	if dropIn != dropInText(port) {
		o.Edited = append(o.Edited, paths[0])
	}
	if o.HasConf = platform.IsOurs(conf); !o.HasConf {
		return
	}
	o.conf(s, conf, paths)
}

// conf reads our file of options and what it names.
func (o *Observation) conf(s *inventory.Snapshot, conf string, paths []string) {
	c := opensm.ParseConf(conf)
	o.Priority, o.Tuning = c.Priority, c.Tuning
	if c.PartitionFile != "" {
		o.partitions(s.Files[paths[2]].Content)
	}
	if c.Text(header()) != conf || c.PartitionFile != "" && c.PartitionFile != paths[2] {
		o.Edited = append(o.Edited, paths[1])
	}
	if text := opensm.PartitionsText(header(), o.Partitions); c.PartitionFile != "" && text != s.Files[paths[2]].Content {
		o.Edited = append(o.Edited, paths[2])
	}
}

func (o *Observation) partitions(text string) {
	all, err := opensm.ParsePartitions(text)
	if err != nil {
		// opensm ignores the whole file then: every port is a full member of one partition.
		o.PartitionError = err.Error()
		return
	}
	o.Partitions = all
}

// keysOf are the secrets that a file of options sets.
func keysOf(s *inventory.Snapshot, path string) []opensm.Key {
	keys := opensm.Keys(s.Files[path].Content)
	if s.Denied[path] {
		for i := range keys {
			keys[i].Set = fact.Unknown[bool](path + " could not be read")
		}
	}
	return keys
}

// sharedConf is the file that an instance without one of its own reads.
func sharedConf(s *inventory.Snapshot) (path, text string) {
	path = layoutOf(s).files.Conf
	f, there := s.Files[path]
	if !there {
		return "", ""
	}
	return path, f.Content
}

// others are the ports of other instances: those listed and those that run.
func others(s *inventory.Snapshot, port ib.GUID) []ib.GUID {
	// A list that does not parse lists nothing; Check reports it.
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	if err != nil {
		ports.GUIDs = nil
	}
	all := slices.Clone(ports.GUIDs)
	for name, u := range s.Units {
		if g, ok := opensm.PortOfUnit(name); ok && u.Active() {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(g ib.GUID) bool { return g == port })
}

// Master reports whether the SM of this port is the master now: the SM LID of the port
// is its own LID.
func (o Observation) Master() bool {
	return fact.Yes(o.IsSM) && o.State == "Active" && o.LID != 0 && o.LID == o.SMLID
}

// Link says whether something is at the other end of the cable.
func (o Observation) Link() fact.Bool {
	switch {
	case o.State == "Initializing" || o.State == "Armed" || o.State == "Active" || o.Physical == "LinkUp":
		return fact.Known(true)
	case o.State == "" && o.Physical == "":
		return fact.Unknown[bool]("its state could not be read")
	}
	return fact.Known(false)
}

// Stopped reports whether the instance is known not to run.
func (o Observation) Stopped() bool { return fact.No(o.Active) }

// Silence says why it is not known whether the instance runs, now and at boot, and with what:
// systemd did not say, or a file could not be read. It is empty if all of it is known.
func (o Observation) Silence() string {
	if !o.Active.Known() {
		return o.Active.Why()
	}
	if len(o.Unread) > 0 {
		return strings.Join(o.Unread, " and ") + " could not be read"
	}
	return o.Enabled.Why()
}

// Settled reports whether it is known that nothing has to be done.
func (o Observation) Settled(d Request) bool { return o.Silence() == "" && len(o.Differences(d)) == 0 }

// Differences says in what the host is known to differ from d, one line each.
func (o Observation) Differences(d Request) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if o.Installed == "" {
		add("opensm is not installed")
	}
	if o.Stopped() {
		add("%s does not run", o.Unit)
	}
	if fact.No(o.Enabled) {
		add("it does not start at boot")
	}
	if !o.Managed {
		add("it has no file of options of its own")
	}
	switch {
	case o.Priority < 0:
		add("its priority is not set")
	case o.Priority != d.Priority:
		add("its priority is %d, not %d", o.Priority, d.Priority)
	}
	if o.Older != "" {
		add("%s", o.Older)
	}
	if o.Tuning != d.Tuning {
		add("its options are %s, not %s", tuning(o.Tuning), tuning(d.Tuning))
	}
	return append(diff, o.effective(d)...)
}

// effective says what differs in files that have no attribute for it, and
// whether the instance works.
func (o Observation) effective(d Request) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if opensm.PartitionsText("", o.Partitions) != opensm.PartitionsText("", d.Partitions) || o.PartitionError != "" {
		add("its partitions differ from the configured ones")
	}
	for _, path := range o.Edited {
		add("%s was changed by hand", path)
	}
	if o.NotAtBoot != "" {
		diff = append(diff, o.NotAtBoot)
	}
	switch {
	case !o.PortPresent || o.Stopped() || fact.Yes(o.IsSM):
	case fact.No(o.IsSM) && !o.Active.Known():
		add("no SM is bound to the port")
	case fact.No(o.IsSM):
		add("%s runs, but no SM is bound to the port", o.Unit)
	default:
		add("%s runs, and whether an SM is bound to the port is not known: %s", o.Unit, o.IsSM.Why())
	}
	return diff
}

// tuning are the options in the words of the file.
func tuning(t opensm.Tuning) string {
	lines := strings.Split(strings.TrimSpace(opensm.Conf{Tuning: t}.Text("")), "\n")[1:]
	if len(lines) == 0 {
		return "the standard ones"
	}
	return strings.Join(lines, ", ")
}
