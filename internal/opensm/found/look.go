package found

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// umad is the module through which opensm sends.
const umad = "ib_umad"

// Look is what one snapshot says of the subnet manager of one port. Nobody changes it.
type Look struct {
	Snapshot *inventory.Snapshot // what it was made of, for the checks that platform has of a host
	Host     string
	Port     ib.GUID
	BootID   string
	Service
	Options
	OwnFiles
	PortState
	Shared Shared
	// Others are the other instances of the host, by the names of their units.
	Others []Instance
	// NotAtBoot says which modules of an instance of ours are not loaded at boot; empty if none
	// is known to be missing.
	NotAtBoot string
}

// lookKey is under what a look is kept beside its snapshot.
type lookKey ib.GUID

// Of is the look at the subnet manager of a port, made once of each snapshot. The port is zero while it is not
// known which one it will be; the look is then at the host alone.
func Of(s *inventory.Snapshot, port ib.GUID) *Look {
	return inventory.Derive(s, lookKey(port), func() *Look { return interpret(s, port) })
}

func interpret(s *inventory.Snapshot, port ib.GUID) *Look {
	l := &Look{Snapshot: s, Host: s.Host, Port: port, BootID: s.BootID, Options: Options{Priority: -1}}
	places := l.Service.read(s, port)
	l.Shared = readShared(s, places)
	l.OwnFiles = readOwnFiles(s, port, l.OwnTemplate)
	l.Others = readInstances(s, port, l.List)
	card := l.PortState.read(s, port)
	if l.Managed {
		l.Options = l.options
		l.Older = readOlder(s, l)
		l.NotAtBoot = platform.NotAtBoot(s, card, umad)
		return l
	}
	l.LostDropIn = l.ownConf
	l.Keys = l.Shared.Keys
	l.readMadeByHand(s)
	return l
}

// OfPorts makes the looks at all ports of a host.
func OfPorts(s *inventory.Snapshot) []*Look {
	var all []*Look
	for i := range s.Cards {
		for _, p := range s.Cards[i].Ports {
			all = append(all, Of(s, p.PortGUID))
		}
	}
	return all
}

// Roles of a subnet manager as the port shows them.
const (
	RoleMaster  = "master"
	RoleStandby = "standby"
)

// Role is RoleMaster or RoleStandby; empty while the port is not served.
func (l *Look) Role() string {
	switch {
	case l.Master():
		return RoleMaster
	case !fact.Yes(l.IsSM) || l.SMLID == 0 || l.State != "Active":
		return ""
	}
	return RoleStandby
}

// Stopped reports whether the instance is known not to run.
func (l *Look) Stopped() bool { return fact.No(l.Active) }

// Silence says why it is not known whether the instance runs, now and at boot, and with what:
// systemd did not say, or a file could not be read. It is empty if all of it is known.
func (l *Look) Silence() string {
	if !l.Active.Known() {
		return l.Active.Why()
	}
	if len(l.Unread) > 0 {
		return strings.Join(l.Unread, " and ") + " could not be read"
	}
	return l.Enabled.Why()
}

// Users names the subnet manager of the port, whoever has set it up. Where systemd is silent,
// what the port shows decides.
func (l *Look) Users() []string {
	switch {
	case l.Managed || l.Listed || fact.Yes(l.Active):
		return []string{"subnet manager " + l.Unit}
	case fact.Yes(l.IsSM):
		return []string{"a subnet manager"}
	}
	return nil
}

// Describe puts what runs and starts on the port into one line, for the history of a host. It holds no keys
// of the fabric.
func (l *Look) Describe() string {
	if !l.Managed && !fact.Yes(l.Active) && !fact.Yes(l.Enabled) {
		return "none"
	}
	text := "with files of others"
	if l.Managed {
		text = l.describeFiles()
	}
	if !fact.Yes(l.Active) {
		text += ", not running"
	}
	if !fact.Yes(l.Enabled) {
		text += ", not at boot"
	}
	return text
}

// describeFiles says what our files have, what somebody has written into them too.
func (l *Look) describeFiles() string {
	text := opensm.Request{Priority: l.Priority, Tuning: l.Tuning, Partitions: l.Partitions,
		Keys: l.FabricKeys}.Describe()
	switch {
	case !l.HasConf:
		text = "file of options not there"
	case l.Priority < 0:
		text = strings.Replace(text, "priority -1", "no priority", 1)
	}
	all := []string{text}
	for _, e := range l.Edits {
		if len(e.Added) > 0 {
			all = append(all, e.String())
		}
	}
	return strings.Join(all, "; ")
}

// Stored is what a state keeps of the instance; false if one of its files could not be read.
func (l *Look) Stored() (stored opensm.Stored, known bool) {
	if len(l.Unread) > 0 {
		return opensm.Stored{}, false
	}
	stored = opensm.Stored{Runs: fact.Yes(l.Active), Stopped: l.Inactive, Enabled: fact.Yes(l.Enabled), Boot: l.BootID}
	if l.HasConf {
		stored.Settings = opensm.Settings(l.Priority, l.Tuning, l.Partitions, l.FabricKeys)
	}
	stored.Lines = platform.AddedLines(l.Edits)
	stored.Managed, stored.Edited, stored.Sound, stored.Shared = l.Managed, l.Edited, l.Sound(), l.SharedFiles(false)
	if l.NotAtBoot != "" {
		stored.Modules = platform.UnstoredIn(l.Snapshot, umad)
	}
	return stored, true
}

// SharedFiles are what starts the instance at boot and the list of modules: those that a change writes, or all. Of a
// new instance all are named, so that its plan stands if others write them meanwhile.
func (l *Look) SharedFiles(all bool) (paths []string) {
	if path, text := l.bootFile(); all || text != l.Snapshot.Files[path].Content {
		paths = append(paths, path)
	}
	path := platform.UnstoredIn(l.Snapshot, umad)
	if plat, err := platform.Of(l.Snapshot); err == nil && all {
		path = plat.ModulesStoredIn()
	}
	return append(paths, strings.Fields(path)...)
}

// bootFile is the file that has the instance started at boot, and its text with it.
func (l *Look) bootFile() (path, text string) {
	if l.OwnTemplate {
		return tool.TemplatePath, TemplateText()
	}
	ports := append(slices.Clone(l.List.GUIDs), l.Port)
	slices.Sort(ports)
	return tool.DefaultPath, tool.EditDefault(l.List.Text, slices.Compact(ports))
}

// Sound reports whether the instance is known to run with its files, so that it may read them again on a signal.
func (l *Look) Sound() bool {
	if !fact.Yes(l.Active) || !fact.Yes(l.IsSM) || l.Priority < 0 || l.PartitionError != "" {
		return false
	}
	if !l.Managed || l.Older != "" { // it runs with other files, and would read those again
		return false
	}
	// It is not known what the running opensm has taken from a file that was edited.
	return !slices.ContainsFunc(l.Edited, func(at string) bool { return at != tool.PartitionsPath(l.Port) })
}

// readOlder says that a running instance was started before one of its files was changed last. An apply writes
// the files first. So somebody has written them since, and they say what we write all the same: the instance
// may run with something else. It is empty where that is not so, or not known.
func readOlder(s *inventory.Snapshot, l *Look) string {
	u, known := s.Unit(l.Unit).Get()
	if !known || !fact.Yes(l.Active) || u.Started.At.IsZero() {
		return ""
	}
	dropIn, conf, partitions := pathsOf(l.Port)
	paths := []string{conf, dropIn}
	if len(l.Partitions) > 0 || l.PartitionError != "" {
		paths = append(paths, partitions)
	}
	path := slices.MaxFunc(paths, func(a, b string) int { return s.Changed[a].Compare(s.Changed[b]) })
	changed := s.Changed[path]
	if !changed.After(s.Changed[RereadPath(l.Port)]) || !isLater(s, changed, u.Started) {
		return ""
	}
	return fmt.Sprintf("%s runs since %s, and %s was changed at %s", l.Unit, clock(u.Started.At), path, clock(changed))
}

// readMadeByHand reads what an instance that somebody else set up was started with: the files
// that all instances of the host share. A unit that somebody has changed may name others.
func (l *Look) readMadeByHand(s *inventory.Snapshot) {
	if !fact.Yes(l.Active) || isUnitChanged(s, l.Port) || len(l.Shared.Unread) > 0 {
		return
	}
	l.Options = Options{Priority: l.Shared.Conf.Priority, Tuning: l.Shared.Conf.Tuning, Partitions: l.Shared.Partitions}
	for _, path := range []string{l.Shared.ConfPath, l.Shared.PartitionsPath} {
		if path != "" {
			l.From = append(l.From, path)
		}
	}
}
