package opensm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// PlanFacts is what other resources of the same configuration say.
type PlanFacts struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// PortUnknown is true if it is not known yet which port it will be, PartitionsUnknown
	// if a part of the partitions is not.
	PortUnknown, PartitionsUnknown bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Ethernet is true if a resource of this plan will make the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// Rivals are other SMs of the configuration with the same priority that may be on the
	// same fabric: the first few, and the number of the rest.
	Rivals     []Request
	MoreRivals int
	// MayLeave is true while planning: an engine plans the configuration before it plans a destroy, which
	// starts nothing.
	MayLeave bool
	// Lab are the ports of all managed hosts; the zero value where the hosts are
	// not compared, because nothing is to change.
	Lab Lab
	// OtherPartitions is another SM of the configuration whose partitions differ.
	OtherPartitions *Request
}

// Check gives the findings against d on this host. It neither asks nor changes the
// host. While the port is not known, it judges the host and the settings.
func Check(s *inventory.Snapshot, d Request, p PlanFacts) []finding.Finding {
	found := CheckConfig(d, p)
	plat, err := platform.Of(s)
	if err != nil {
		f := finding.OpensmUnsupported.Find("%v.", err)
		f.Summary, f.WayOut = "Refusing to run a subnet manager on an unsupported system",
			"Run it on a supported host of the fabric."
		return append(found, f)
	}
	if plat.About().Kind == platform.KindTrueNAS {
		return append(found, finding.OpensmUnsupported.Find("%s runs %s.", s.Host, plat.Name()))
	}
	if len(plat.PackagesFor(platform.FeatureOpenSM, s.OS.Kernel)) == 0 && !s.Commands["opensm"] {
		return append(found, noPackage(s, plat))
	}
	o := Observe(s, d.PortGUID)
	found = append(found, platform.CheckPort(s, plat, d.PortGUID, "ib_umad")...)
	found = append(found, checkPort(s, d, o, p)...)
	if len(o.Differences(d)) > 0 {
		found = append(found, checkLink(s, d, o)...)
	}
	found = append(found, checkPrefix(s, d)...)
	found = append(found, checkService(s, o, d, p)...)
	found = append(found, checkOurs(s, o, d)...)
	found = append(found, platform.CheckPlaces(s, opensm.DropInPath(d.PortGUID), opensm.ConfPath(d.PortGUID))...)
	if len(d.Partitions) > 0 {
		found = append(found, platform.CheckPlaces(s, opensm.PartitionsPath(d.PortGUID))...)
	}
	found = append(found, platform.CheckBoot(s, o.NotAtBoot)...)
	// Our instances do not read the shared file; a change there may have been meant for
	// them.
	if ours := o.Managed || p.PortUnknown && managesAny(s); !ours {
		found = append(found, checkShared(s, d)...)
	}
	if len(d.Partitions) == 0 && !p.PartitionsUnknown {
		found = append(found, checkSharedPartitions(s)...)
	}
	return found
}

// managesAny reports whether an instance of ours is on the host, for whatever port.
func managesAny(s *inventory.Snapshot) bool {
	return slices.ContainsFunc(s.FilesUnder(opensm.ConfDir), func(path string) bool {
		return strings.HasPrefix(path, opensm.ConfDir+"terraform-") && platform.IsOurs(s.Files[path].Content)
	})
}

// InPlace reports whether some port of the host has a subnet manager as d wants it.
func InPlace(s *inventory.Snapshot, d Request) bool {
	for i := range s.Cards {
		for _, p := range s.Cards[i].Ports {
			if o := Observe(s, p.PortGUID); o.Managed && len(o.Differences(d)) == 0 {
				return true
			}
		}
	}
	return false
}

// noPackage is about distributions without a package of opensm: a program that the
// operator built is used, and none is built here.
func noPackage(s *inventory.Snapshot, plat platform.Platform) finding.Finding {
	f := finding.OpensmUnsupported.Find("%s runs %s, whose repositories have no package opensm.", s.Host, plat.Name())
	f.WayOut = "Run the subnet manager on another host of the fabric, or install opensm on this one by hand"
	if from := plat.About().ByHand; from != "" {
		f.WayOut += " (" + from + ")"
	}
	f.WayOut += " and plan again."
	return f
}

// CheckConfig gives the findings against a configuration on any host.
func CheckConfig(d Request, p PlanFacts) []finding.Finding {
	var found []finding.Finding
	found = append(found, checkRivals(d, p)...)
	found = append(found, Lint(d.Partitions, p.Lab.Ports, d.PortGUID)...)
	if other := p.OtherPartitions; other != nil {
		f := finding.PartitionsDiffer.Find("The partitions of %s on %s differ from those of %s on %s.", d.PortGUID, d.Host,
			other.PortGUID, other.Host)
		f.Summary += fmt.Sprintf(" (%s and %s)", d.Host, other.Host)
		found = append(found, f)
	}
	if ndr := p.Lab.NDR; len(ndr) > 0 {
		found = append(found, finding.OpensmUnfitForNDR.Find("At NDR: %s.", strings.Join(ndr, ", ")))
	}
	return append(found, checkGUIDs(d, p.Lab)...)
}

// checkPrefix is about cards whose ports do not take a subnet prefix.
func checkPrefix(s *inventory.Snapshot, d Request) []finding.Finding {
	card, _, ok := s.CardByPortGUID(d.PortGUID)
	if prefix := d.Tuning.SubnetPrefix; !ok || prefix == 0 || prefix == opensm.DefaultSubnetPrefix ||
		card.Driver != "mlx5_core" || !kernelFrom(s.OS.Kernel, 4, 20) {
		return nil
	}
	return []finding.Finding{finding.SubnetPrefixIneffective.Find("Card %s of %s has driver %s under Linux %s, and "+
		"subnet_prefix = %q.", card.PCI, s.Host, card.Driver, s.OS.Kernel, d.Tuning.SubnetPrefix)}
}

// checkTaken says that the port's GIDs do not begin with the prefix that its
// master has.
func checkTaken(s *inventory.Snapshot, d Request, o Observation) []finding.Finding {
	_, p, ok := s.CardByPortGUID(d.PortGUID)
	if want := d.Tuning.SubnetPrefix; !ok || want == 0 || !o.Master() || p.Prefix == want {
		return nil
	}
	f := finding.SubnetPrefixIneffective.Find("The GIDs of port %s of %s begin with %s, not with %s.", d.PortGUID, s.Host,
		p.Prefix, d.Tuning.SubnetPrefix)
	f.Summary = "The subnet prefix is not in force"
	return []finding.Finding{f}
}

// checkGUIDs looks for duplicate GUIDs among the managed hosts, which stop opensm. Two
// cards with one GUID may be on two fabrics, so only the GUID of this port is a reason
// to refuse.
func checkGUIDs(d Request, lab Lab) []finding.Finding {
	var found []finding.Finding
	if where, twice := lab.Duplicate[d.PortGUID]; twice {
		found = append(found, finding.FabricGUIDTwice.Find("%s is on %s.", d.PortGUID, strings.Join(where, " and on ")))
	} else if g, where, ok := lab.firstDuplicate(); ok {
		f := finding.FabricGUIDTwice.Find("%s is on %s.", g, strings.Join(where, " and on "))
		f.Severity, f.Summary = finding.Warn, "Two cards have one GUID, which stops a fabric that has both"
		found = append(found, f)
	}
	if len(lab.Zero) > 0 {
		found = append(found, finding.FabricCardWithoutGUIDs.Find("Without GUID: %s.", strings.Join(lab.Zero, ", ")))
	}
	return found
}

// checkRivals gives one finding for all rivals: a plan shows each at length, and pairs
// grow with the square of the hosts.
func checkRivals(d Request, p PlanFacts) []finding.Finding {
	if len(p.Rivals) == 0 {
		return nil
	}
	names, others := []string{fmt.Sprintf("%s on %s", d.PortGUID, d.Host)}, p.Rivals[0].Host
	for _, r := range p.Rivals {
		names = append(names, fmt.Sprintf("%s on %s", r.PortGUID, r.Host))
	}
	if p.MoreRivals > 0 {
		names = append(names, fmt.Sprintf("%d more", p.MoreRivals))
	}
	if n := len(p.Rivals) + p.MoreRivals; n > 1 {
		others = fmt.Sprintf("%d others", n)
	}
	last := len(names) - 1
	f := finding.OpensmPriorityEqual.Find("%s and %s have priority %d.", strings.Join(names[:last], ", "), names[last],
		d.Priority)
	pair := fmt.Sprintf("%s and %s", d.Host, others)
	if others == d.Host {
		pair = fmt.Sprintf("ports %s and %s of %s", d.PortGUID, p.Rivals[0].PortGUID, d.Host)
	}
	f.Summary += " (" + pair + ")"
	return []finding.Finding{f}
}

func checkPort(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) []finding.Finding {
	switch {
	case p.PortUnknown:
		return nil // the plan says what waits
	case !o.PortPresent && !o.Sleeping && (p.Port || p.LinkType):
		return []finding.Finding{finding.OpensmPostponed.Find("No port of %s has the GUID %s yet.", s.Host, d.PortGUID)}
	case !o.PortPresent && !o.Sleeping:
		return []finding.Finding{finding.OpensmPortUnknown.Find("No port of %s has the GUID %s now.%s", s.Host, d.PortGUID,
			portsOf(s, d.PortGUID))}
	case o.LinkLayer == "Ethernet" || p.Ethernet:
		return []finding.Finding{onEthernet(s, d, o, p)}
	case o.Sleeping:
		return []finding.Finding{finding.OpensmPostponed.Find("The module of the card that has port %s is not loaded on %s. "+
			"The apply loads it.", d.PortGUID, s.Host)}
	}
	return checkBound(s, d, o)
}

// checkLink is about a change that cannot be proven, because nothing is at the other end.
func checkLink(s *inventory.Snapshot, d Request, o Observation) []finding.Finding {
	if !o.PortPresent || o.LinkLayer == "Ethernet" || fact.Yes(o.Link()) {
		return nil
	}
	f := finding.OpensmPortWithoutLink.Find("Port %s of %s is %s, its physical state is %s.", d.PortGUID, s.Host,
		cmp.Or(o.State, "not known"), cmp.Or(o.Physical, "not known"))
	if !o.Link().Known() {
		f = finding.OpensmPortWithoutLink.Find("Port %s of %s: %s.", d.PortGUID, s.Host, o.Link().Why())
		f.Summary = "Whether the port of this subnet manager has a link is not known"
	}
	return []finding.Finding{f}
}

// checkBound looks at who serves the port now.
func checkBound(s *inventory.Snapshot, d Request, o Observation) []finding.Finding {
	switch {
	case !fact.No(o.IsSM) && !o.Active.Known():
		f := finding.OpensmPortHeld.Find("Whether %s of %s runs is not known: %s. So whose subnet manager serves port %s is "+
			"not known either.", o.Unit, s.Host, o.Active.Why(), d.PortGUID)
		f.WayOut = "Fix what systemctl reports on the host, then plan again."
		return []finding.Finding{f}
	case !o.IsSM.Known() && o.Stopped():
		f := finding.OpensmPortHeld.Find("Whether a subnet manager is bound to port %s of %s is not known: %s.", d.PortGUID,
			s.Host, o.IsSM.Why())
		f.WayOut = "Read the file on the host as root, and look into the kernel's log for what the card or its driver " +
			"complains about. Plan again when it can be read."
		return []finding.Finding{f}
	case fact.Yes(o.IsSM) && o.Stopped():
		return []finding.Finding{heldBy(s, d.PortGUID, o)}
	case o.Served() && fact.No(o.IsSM):
		return []finding.Finding{finding.FabricHasSubnetManager.Find("Port %s of %s has SM LID %d.", d.PortGUID, s.Host,
			o.SMLID)}
	}
	return nil
}

// portsOf names the ports of the host, and the other object of a card that has this
// GUID: the label of a card often shows the node GUID.
func portsOf(s *inventory.Snapshot, guid ib.GUID) string {
	var ports []string
	node := ""
	for _, c := range s.Cards {
		if c.NodeGUID == guid {
			node = fmt.Sprintf(" It is the node GUID of card %s, which is not that of a port.", c.PCI)
		}
		for _, p := range c.Ports {
			if !p.PortGUID.IsZero() {
				ports = append(ports, fmt.Sprintf("%s port %d: %s (%s)", c.PCI, p.Number, p.PortGUID, p.LinkLayer))
			}
		}
	}
	if len(ports) == 0 {
		return node + " The host shows no port with a GUID."
	}
	return node + " The host has " + strings.Join(ports, ", ") + "."
}

func checkService(s *inventory.Snapshot, o Observation, d Request, p PlanFacts) []finding.Finding {
	var found []finding.Finding
	if o.Installed == "" {
		found = append(found, finding.OpensmInstalled.Find("opensm is not installed on %s.", s.Host))
	}
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	switch _, there := s.Files[opensm.DefaultPath]; {
	case s.Denied[opensm.DefaultPath]:
		found = append(found, unreadFile(s, opensm.DefaultPath))
	case err != nil:
		found = append(found, finding.OpensmFileNotUnderstood.Find("%s: %v.", s.Host, err))
	case there && ports.All && o.Installed != "" && !o.Settled(d):
		found = append(found, finding.OpensmPortsReplaced.Find("%s of %s says PORTS=ALL.%s", opensm.DefaultPath, s.Host,
			losing(s, o)))
	}
	if fact.Yes(o.Active) && !o.Managed && !s.Directories[opensm.DropInPath(d.PortGUID)] { // that is refused
		found = append(found, takesOver(s, o))
	}
	found = append(found, checkMasked(s, o, p)...)
	found = append(found, checkOthersStart(s, o, d)...)
	return append(found, checkKernel(s, o)...)
}

func checkKernel(s *inventory.Snapshot, o Observation) []finding.Finding {
	for _, known := range incompatible {
		// A running subnet manager shows that this host is an exception.
		if kernelFrom(s.OS.Kernel, known.major, known.minor) &&
			(o.Installed == "" || strings.HasPrefix(o.Installed, known.opensm)) && !fact.Yes(o.IsSM) {
			return []finding.Finding{finding.OpensmUnfitForKernel.Find("%s runs Linux %s; opensm %s.", s.Host, s.OS.Kernel,
				firstNonEmpty(o.Installed, "of the distribution"))}
		}
	}
	return nil
}

// incompatible lists releases of opensm with the first kernel on which they are
// reported to fail (linux-rdma/opensm issue 37).
var incompatible = []struct {
	opensm       string // beginning of the package's version; of the distribution if none is installed
	major, minor int
}{{"3.3.23", 6, 11}, {"3.3.24", 6, 11}}

// checkOurs looks at unmanaged files in our places, and at what somebody has written into
// those of ours.
func checkOurs(s *inventory.Snapshot, o Observation, d Request) []finding.Finding {
	var found []finding.Finding
	for _, path := range o.Unmanaged {
		found = append(found, finding.OpensmFileUnmanaged.Find("%s of %s.", path, s.Host))
	}
	for _, path := range o.Unread {
		found = append(found, unreadFile(s, path))
	}
	found = append(found, checkEdits(s, o, d)...)
	found = append(found, checkGone(s, o)...)
	found = append(found, checkOlder(s, o, d)...)
	found = append(found, commandReplaced(s, d)...)
	if !o.Managed {
		return found
	}
	return append(found, addedKeys(s, o, "This resource would write the file without it.")...)
}

// addedKeys finds keys in a file of ours, which is written anew or removed.
func addedKeys(s *inventory.Snapshot, o Observation, what string) []finding.Finding {
	var found []finding.Finding
	for _, key := range o.Keys {
		if !fact.No(key.Set) {
			f := finding.FabricKeysDropped.Find("%s of %s sets %s, which somebody has added to it%s. %s", o.ConfPath, s.Host,
				key.Name, unclear(key), what)
			f.WayOut = "This resource does not manage keys. If the fabric does not need " + key.Name +
				", take it out of the file and plan again. " +
				"If it does, take the subnet manager out of the state with a removed block and lifecycle { destroy = false }, " +
				"and maintain the file by hand."
			found = append(found, f)
		}
	}
	return found
}

// unclear says why it is not known whether a key is set.
func unclear(key opensm.Key) string {
	if key.Set.Known() {
		return ""
	}
	return ", and " + key.Set.Why()
}

// CheckRemove finds what speaks against taking away what is ours of a subnet manager.
func CheckRemove(s *inventory.Snapshot, port ib.GUID) []finding.Finding {
	o := Observe(s, port)
	if !o.Managed {
		return nil // nothing is removed
	}
	return append(addedKeys(s, o, "A destroy would stop this subnet manager and remove the file, and the key with it."),
		checkEditsRemoved(s, o)...)
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// kernelFrom reports whether a release such as "6.8.0-90-generic" is at least
// major.minor.
func kernelFrom(release string, major, minor int) bool {
	f := strings.SplitN(release, ".", 3)
	if len(f) < 2 {
		return false
	}
	a, errA := strconv.Atoi(f[0])
	b, errB := strconv.Atoi(f[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
