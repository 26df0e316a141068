package ipoib

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// Stack names what configures the network of a host. It is read from the host: each
// distribution comes with several.
type Stack string

// The network stacks that are understood.
const (
	StackUnknown    Stack = ""
	StackNetplan    Stack = "netplan with systemd-networkd"
	StackNetplanNM  Stack = "netplan with NetworkManager"
	StackNM         Stack = "NetworkManager"
	StackNetworkd   Stack = "systemd-networkd"
	StackIfupdown   Stack = "ifupdown"
	StackIfupdown2  Stack = "ifupdown2"
	StackMiddleware Stack = "TrueNAS middleware"
)

const (
	networkdUnit   = "systemd-networkd.service"
	nmUnit         = "NetworkManager.service"
	networkingUnit = "networking.service"
)

// DetectStack finds what configures the network of a host. netplan is a front
// end, so it goes before the services that it writes for. Where several services
// run, the one that configures the interface which leads to the host decides.
func DetectStack(s *inventory.Snapshot) Stack {
	switch {
	case s.TrueNAS != nil || s.OS.ID == "truenas":
		return StackMiddleware
	case s.Commands["netplan"] && len(s.FilesUnder(netplanDir)) > 0:
		return planStack(s)
	}
	candidates, known := runningStacks(s).Get()
	if !known || len(candidates) == 0 {
		return StackUnknown
	}
	if n, ok := s.Netdev(managementInterface(s)); ok && len(candidates) > 1 {
		for _, m := range managersOf(s, n) {
			if slices.Contains(candidates, m.stack) {
				return m.stack
			}
		}
	}
	return candidates[0]
}

// planStack is netplan with the renderer that the last file names for all.
func planStack(s *inventory.Snapshot) Stack {
	stack := StackNetplan
	for _, path := range s.FilesUnder(netplanDir) {
		switch netplan.Renderer(s.Files[path].Content) {
		case netplan.RendererNM:
			stack = StackNetplanNM
		case netplan.RendererNetworkd:
			stack = StackNetplan
		}
	}
	return stack
}

// runningStacks are the services that could configure an interface, in the order of
// preference. If systemd did not answer they are unknown: the one that was not seen may
// have the network.
func runningStacks(s *inventory.Snapshot) fact.Of[[]Stack] {
	networking, known := s.Unit(networkingUnit).Get()
	if !known {
		return fact.Unknown[[]Stack](s.Unit(networkingUnit).Why())
	}
	var all []Stack
	if fact.Yes(s.Runs(nmUnit)) {
		all = append(all, StackNM)
	}
	if fact.Yes(s.Runs(networkdUnit)) {
		all = append(all, StackNetworkd)
	}
	if _, ok := s.Files[ifupdown.MainFile]; ok && s.Commands["ifup"] && networking.UnitFileState != "masked" {
		all = append(all, ifupdownStack(s))
	}
	return fact.Known(all)
}

func ifupdownStack(s *inventory.Snapshot) Stack {
	if s.Commands["ifreload"] {
		return StackIfupdown2
	}
	return StackIfupdown
}

// manager is a service that configures an interface now.
type manager struct {
	stack Stack
	how   string
}

// managersOf says which services configure an interface now. NetworkManager does so
// only with a profile.
func managersOf(s *inventory.Snapshot, n *inventory.Netdev) []manager {
	var all []manager
	if n.NetworkdFile != "" {
		all = append(all, manager{StackNetworkd, "systemd-networkd by " + n.NetworkdFile})
	}
	if n.NMManaged && n.NMProfile != "" {
		all = append(all, manager{StackNM, "NetworkManager by its profile " + n.NMProfile})
	}
	if s.Ifstate[n.Name] {
		all = append(all, manager{ifupdownStack(s), "ifupdown, which has taken it up"})
	}
	return all
}

// service is the daemon behind a stack: systemd-networkd, NetworkManager, or
// none for ifupdown.
func (k Stack) service() string {
	switch k {
	case StackNetplan, StackNetworkd:
		return networkdUnit
	case StackNetplanNM, StackNM:
		return nmUnit
	case StackIfupdown, StackIfupdown2, StackMiddleware, StackUnknown:
	}
	return ""
}

// runs reports whether a stack works through the service of another.
func (k Stack) runs(other Stack) bool {
	if k.service() == "" {
		return other == StackIfupdown || other == StackIfupdown2
	}
	return k.service() == other.service()
}

// stackFindings checks that the host's stack can take an interface, and that
// nothing else has it.
func (c *checker) stackFindings() {
	if why := runningStacks(c.s).Why(); c.stack == StackUnknown && why != "" {
		c.silence(finding.NetworkStackUnknown.Find("%s: systemd did not say which network services run: %s.", c.s.Host, why))
		return
	}
	if c.stack == StackUnknown {
		c.add(finding.NetworkStackUnknown.Find("%s: neither netplan nor NetworkManager, systemd-networkd or ifupdown is in "+
			"use.", c.s.Host))
		return
	}
	if unit := c.stack.service(); unit != "" {
		switch u, known := c.s.Unit(unit).Get(); {
		case !known:
			c.silence(finding.NetworkServiceDown.Find("%s is configured through %s, and whether %s runs is not known: %s.",
				c.s.Host, c.stack, unit, c.s.Unit(unit).Why()))
		case u.ActiveState != "active":
			f := finding.NetworkServiceDown.Find("%s is configured through %s, but %s is %s.", c.s.Host, c.stack, unit,
				u.ActiveState)
			f.WayOut = fmt.Sprintf("Start it (systemctl enable --now %s), or configure this host in another way.",
				strings.TrimSuffix(unit, ".service"))
			c.add(f)
		}
	}
	if c.stack.service() == "" {
		c.stanzas()
	}
	c.ifupdown2()
	c.places()
	c.checkLostAtBoot()
	if n, ok := c.s.Netdev(c.observed.Name); ok {
		c.managers(n)
		c.checkStack(n)
	}
	c.checkUnmanaged()
	// Who has read it once need not read it at every plan.
	if c.s.CloudInit == "on" && !c.observed.Persisted.Found {
		c.add(finding.CloudInitOwnsNetwork.Find("%s: /run/cloud-init/enabled is there, and no file below /etc/cloud says "+
			"\"network: {config: disabled}\".", c.s.Host))
	}
}

// silence adds what a systemd that did not answer leaves unknown. It refuses a change;
// where nothing is to be changed, it is said.
func (c *checker) silence(f finding.Finding) {
	if c.held && onlySilence(c.s, c.observed, c.d) {
		f.Severity, f.Summary = finding.Warn, "It is not known which network services run on "+c.s.Host
		c.add(f.WithWayOut("Nothing is to be changed, so the state is kept. Fix what systemctl reports on the host."))
		return
	}
	c.add(f.WithWayOut("Fix what systemctl reports on the host, then plan again. " + f.WayOut))
}

// OnlySilence reports whether a systemd that did not answer is all that stands between the
// host and d, which the state already has.
func OnlySilence(s *inventory.Snapshot, d Request) bool {
	return onlySilence(s, Observe(s, d.PortGUID, d.PKey), d)
}

// onlySilence: without its stack nothing shows what configures the interface at boot, but
// what it has now must be as asked, and nobody else may define it.
func onlySilence(s *inventory.Snapshot, o Observation, d Request) bool {
	if o.Silence != "" {
		return o.Present && len(o.liveDifferences(d.Config)) == 0 && len(o.Unmanaged) == 0
	}
	unit := o.Stack.service()
	return unit != "" && !s.Unit(unit).Known() && o.Satisfies(d.Config) && len(adoptedDefinitions(o, d)) == 0
}

// places finds directories where the files of the interface would be.
func (c *checker) places() {
	if c.portUnknown {
		return
	}
	for _, f := range backendOf(c.stack, c.target()).files(c.target(), c.d.Config) {
		c.found = append(c.found, platform.CheckPlaces(c.s, f.path)...)
	}
}

// stanzas checks that ifup reads our file. It stops at the first line of any file
// that it does not understand, and then takes no interface up. The file of this interface is
// written anew, that of another one by the resource that it belongs to.
func (c *checker) stanzas() {
	own := backendOf(c.stack, c.target()).files(c.target(), c.d.Config)[0].path
	for _, at := range stanzaFiles(c.s) {
		f, err := ifupdown.Parse(c.s.Files[at].Content)
		switch {
		case at == own && isOurs(c.s, at):
		case err != nil && isOurs(c.s, at):
			c.add(finding.OtherInterfaceFileInvalid.Find("%s of %s is not valid: %v.", at, c.s.Host, err))
		case err != nil:
			bad := finding.NetworkFileNotRead.Find("%s of %s is not valid: %v.", at, c.s.Host, err)
			bad.WayOut = "Fix the line, and try it with ifup --no-act --all."
			c.add(bad)
		case at == ifupdown.MainFile && !f.Reads(own):
			c.add(finding.NetworkFileNotRead.Find("%s of %s has no line that reads %s.", at, c.s.Host, own))
		}
	}
}

// nameNow is what messages call the interface.
func (c *checker) nameNow() string { return cmp.Or(c.observed.Name, "The interface") }

// managers finds a second service that configures the interface.
func (c *checker) managers(n *inventory.Netdev) {
	all := managersOf(c.s, n)
	var others, words []string
	for _, m := range all {
		words = append(words, m.how)
		if !c.stack.runs(m.stack) {
			others = append(others, m.how)
		}
	}
	switch {
	case len(all) > 1:
		c.add(finding.InterfaceOfTwoServices.Find("%s of %s is configured by %s.", n.Name, c.s.Host,
			strings.Join(words, " and by ")))
	case len(others) > 0:
		c.add(finding.InterfaceOfTwoServices.Find("%s of %s is configured by %s, while the host is configured through %s.",
			n.Name, c.s.Host, others[0], c.stack))
	case c.stack.service() == nmUnit && n.NMKnown && !n.NMManaged:
		f := finding.NetworkFileNotRead.Find("NetworkManager of %s does not manage %s.", c.s.Host, n.Name)
		f.WayOut = "Look for it in unmanaged-devices of /etc/NetworkManager/conf.d, in NM_UNMANAGED of udev rules and in " +
			"/etc/network/interfaces, and take it out there."
		c.add(f)
	case c.stack.service() == nmUnit && !c.satisfied():
		c.unmanagedDevices(n)
	}
}

// unmanagedDevices looks into NetworkManager's own configuration: of an interface that is listed
// there the daemon leaves no note, and it refuses the profile only when the apply activates it.
// A note that it does manage the interface may be of a run before the list was written, and ends
// with the next restart of the host.
func (c *checker) unmanagedDevices(n *inventory.Netdev) {
	var list, by []string
	device, managed, at, section := nmcli.Device{Name: n.Name, Hardware: n.Address}, fact.Known(true), "", ""
	paths := slices.Concat(slices.Collect(maps.Keys(c.s.Files)), slices.Collect(maps.Keys(c.s.Denied)))
	for _, path := range nmcli.Confs(paths) {
		if c.s.Denied[path] {
			c.add(finding.NetworkFileNotRead.Find("%s of %s could not be read, so that it is not known whether "+
				"NetworkManager manages %s.", path, c.s.Host, n.Name).WithWayOut(
				"Fix what keeps " + path + " from being read, then plan again."))
			return
		}
		var says bool
		if list, says = nmcli.AddUnmanaged(list, c.s.Files[path].Content); says {
			by = append(by, path)
		}
		if m, name := nmcli.ManagedBy(c.s.Files[path].Content, device); name != "" {
			managed, at, section = m, path, name // the last file counts
		}
	}
	if listed := nmcli.Lists(list, device); !fact.No(listed) {
		c.leftAlone(n, fmt.Sprintf("unmanaged-devices of %s is %s", strings.Join(by, " and "), strings.Join(list, ";")),
			listed.Why(), fmt.Sprintf("Take it out of the list in %s, or add ;except:interface-name:%s to the list.",
				by[len(by)-1], n.Name))
	}
	if !fact.Yes(managed) {
		c.leftAlone(n, fmt.Sprintf("[%s] of %s says managed=0", section, at), managed.Why(),
			fmt.Sprintf("Write a section [device-%[1]s] with match-device=interface-name:%[1]s and managed=1 above it, or in a "+
				"later file of /etc/NetworkManager/conf.d.", n.Name))
	}
}

// leftAlone is about an interface that NetworkManager's configuration takes from it. What is in
// doubt says nothing against a daemon that manages the interface.
func (c *checker) leftAlone(n *inventory.Netdev, why, doubt, instead string) {
	manages := "does not manage " + n.Name
	switch {
	case doubt != "" && n.NMManaged:
		return
	case doubt != "":
		manages, why = "may not manage "+n.Name, why+". It is not known "+doubt
	case n.NMManaged:
		manages = "manages " + n.Name + " until a restart at most"
	}
	c.add(finding.NetworkFileNotRead.Find("NetworkManager of %s %s: %s.", c.s.Host, manages, why).WithWayOut(
		instead + " Then run systemctl reload NetworkManager, and plan again."))
}
