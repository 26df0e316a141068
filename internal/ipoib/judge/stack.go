package judge

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// stackFindings checks that the host's stack can take an interface, and that
// nothing else has it.
func (c *checker) stackFindings() {
	// A silent systemd first: "nothing is in use" would be wrong of it.
	if why := c.look.WhyNotRunning(); c.look.Stack == ipoib.StackUnknown && why != "" {
		c.silence(finding.NetworkStackUnknown.Find("%s: systemd did not say which network services run: %s.", c.look.Host,
			why))
		return
	}
	if c.look.Stack == ipoib.StackUnknown {
		c.add(finding.NetworkStackUnknown.Find("%s: neither netplan nor NetworkManager, systemd-networkd or ifupdown is in "+
			"use.", c.look.Host))
		return
	}
	if unit := c.look.Stack.Service(); unit != "" {
		switch u, known := c.look.Service().Get(); {
		case !known:
			c.silence(finding.NetworkServiceDown.Find("%s is configured through %s, and whether %s runs is not known: %s.",
				c.look.Host, c.look.Stack, unit, c.look.Service().Why()))
		case u.ActiveState != "active":
			f := finding.NetworkServiceDown.Find("%s is configured through %s, but %s is %s.", c.look.Host, c.look.Stack, unit,
				u.ActiveState)
			f.WayOut = fmt.Sprintf("Start it (systemctl enable --now %s), or configure this host in another way.",
				strings.TrimSuffix(unit, ".service"))
			c.add(f)
		}
	}
	if c.look.Stack.Service() == "" {
		c.stanzas()
	}
	c.ifupdown2()
	c.places()
	c.checkLostAtBoot()
	if c.look.Netdev != nil {
		c.managers()
		c.checkStack()
	}
	c.checkUnmanaged()
}

// silence adds what a systemd that did not answer leaves unknown. It refuses a change;
// where nothing is to be changed, it is said.
func (c *checker) silence(f finding.Finding) {
	if c.held && c.look.OnlySilence(c.d) {
		f.Severity, f.Summary = finding.Warn, "It is not known which network services run on "+c.look.Host
		c.add(f.WithWayOut("Nothing is to be changed, so the state is kept. Fix what systemctl reports on the host."))
		return
	}
	c.add(f.WithWayOut("Fix what systemctl reports on the host, then plan again. " + f.WayOut))
}

// places finds directories where the files of the interface would be.
func (c *checker) places() {
	if c.portUnknown {
		return
	}
	var paths []string
	for _, f := range c.look.Files(c.look.Target, c.d.Config) {
		paths = append(paths, f.Path)
	}
	c.found = append(c.found, platform.CheckPlaces(c.look.Snapshot(), paths...)...)
}

// stanzas checks that ifup reads our file. The file of this interface is written anew, that of
// another one by the resource that it belongs to.
func (c *checker) stanzas() {
	own := c.look.MainPath(c.d.Config)
	for _, f := range c.look.StanzaFiles(c.d.Config) {
		switch {
		case f.Path == own && f.Ours:
		case f.Err != nil && f.Ours:
			c.add(finding.OtherInterfaceFileInvalid.Find("%s of %s is not valid: %v.", f.Path, c.look.Host, f.Err))
		case f.Err != nil:
			bad := finding.NetworkFileNotRead.Find("%s of %s is not valid: %v.", f.Path, c.look.Host, f.Err)
			bad.WayOut = "Fix the line, and try it with ifup --no-act --all."
			c.add(bad)
		case f.Main && !f.Reads:
			c.add(finding.NetworkFileNotRead.Find("%s of %s has no line that reads %s.", f.Path, c.look.Host, own))
		}
	}
}

// managers finds a second service that configures the interface.
func (c *checker) managers() {
	all, n := c.look.Managers(), c.look.Netdev
	var others, words []string
	for _, m := range all {
		words = append(words, m.How)
		if !c.look.Stack.WorksThrough(m.Stack) {
			others = append(others, m.How)
		}
	}
	switch {
	case len(all) > 1:
		c.add(finding.InterfaceOfTwoServices.Find("%s of %s is configured by %s.", n.Name, c.look.Host,
			strings.Join(words, " and by ")))
	// Two services overwrite each other in any order, and after a boot in another one.
	case len(others) > 0:
		c.add(finding.InterfaceOfTwoServices.Find("%s of %s is configured by %s, while the host is configured through %s.",
			n.Name, c.look.Host, others[0], c.look.Stack))
	case c.look.Stack.Service() == ipoib.NMUnit && n.NMKnown && !n.NMManaged:
		f := finding.NetworkFileNotRead.Find("NetworkManager of %s does not manage %s.", c.look.Host, n.Name)
		f.WayOut = "Look for it in unmanaged-devices of /etc/NetworkManager/conf.d, in NM_UNMANAGED of udev rules and in " +
			"/etc/network/interfaces, and take it out there."
		c.add(f)
	// NetworkManager lets "connection up" through for a device that its configuration excludes, and connects nothing
	// at the next boot.
	case c.look.Stack.Service() == ipoib.NMUnit && !c.satisfied():
		c.unmanagedDevices()
	}
}

// unmanagedDevices finds an interface that NetworkManager's own configuration takes from it.
func (c *checker) unmanagedDevices() {
	name, r := c.look.Netdev.Name, c.look.NMRules()
	if r.Denied != "" {
		c.add(finding.NetworkFileNotRead.Find("%s of %s could not be read, so that it is not known whether "+
			"NetworkManager manages %s.", r.Denied, c.look.Host, name).WithWayOut(
			"Fix what keeps " + r.Denied + " from being read, then plan again."))
		return
	}
	if !fact.No(r.Listed) {
		c.leftAlone(fmt.Sprintf("unmanaged-devices of %s is %s", strings.Join(r.By, " and "), strings.Join(r.List, ";")),
			r.Listed.Why(), fmt.Sprintf("Take it out of the list in %s, or add ;except:interface-name:%s to the list.",
				r.By[len(r.By)-1], name))
	}
	if !fact.Yes(r.Managed) {
		c.leftAlone(fmt.Sprintf("[%s] of %s says managed=0", r.Section, r.At), r.Managed.Why(),
			fmt.Sprintf("Write a section [device-%[1]s] with match-device=interface-name:%[1]s and managed=1 above it, or in a "+
				"later file of /etc/NetworkManager/conf.d.", name))
	}
}

// leftAlone is about an interface that NetworkManager's configuration takes from it. What is in
// doubt says nothing against a daemon that manages the interface.
func (c *checker) leftAlone(why, doubt, instead string) {
	n := c.look.Netdev
	manages := "does not manage " + n.Name
	switch {
	case doubt != "" && n.NMManaged:
		return
	case doubt != "":
		manages, why = "may not manage "+n.Name, why+". It is not known "+doubt
	case n.NMManaged:
		manages = "manages " + n.Name + " until a restart at most"
	}
	c.add(finding.NetworkFileNotRead.Find("NetworkManager of %s %s: %s.", c.look.Host, manages, why).WithWayOut(
		instead + " Then run systemctl reload NetworkManager, and plan again."))
}

// checkStack finds the bond or bridge that has the interface as a part, now or at boot.
func (c *checker) checkStack() {
	n := c.look.Netdev
	if n.Master != "" {
		c.add(c.inBond(n.Name, n.Master))
		return
	}
	for _, line := range c.look.StackedBy() {
		c.add(finding.InterfaceInBond.Find("%s of %s: %s.", n.Name, c.look.Host, line))
	}
}

// checkLostAtBoot finds an interface that is as asked now and that nothing configures
// at boot. A bond like that is somebody else's, or the plan says what it lacks.
func (c *checker) checkLostAtBoot() {
	o, want := c.look, c.d.Config
	if o.Bond.Name != "" || o.Persisted.Found || len(o.Unmanaged) > 0 || !o.Present || !o.Live.Up ||
		o.Live.Mode != want.Mode || o.Live.MTU != want.MTU || !ipconf.SameAddresses(o.Live.Addresses, want.Addresses) {
		return
	}
	c.add(finding.InterfaceWouldBeLost.Find("%s of %s has mode %s, MTU %d and %s, and no file brings them back.", o.Name,
		c.look.Host, o.Live.Mode, o.Live.MTU, ipconf.Join(o.Live.Addresses)))
}

// dhcp refuses DHCP where the stack cannot send what a server needs, or takes more than the address.
func (c *checker) dhcp() {
	stack := c.look.Stack
	switch {
	case !c.d.Config.DHCP4:
	case stack.IsIfupdown():
		c.add(finding.DHCPUnfit.Find("%s is configured through %s: it passes no client identifier to dhclient, and ifup "+
			"waits longer for a lease than the change may take.", c.look.Host, stack))
	case stack == ipoib.StackMiddleware:
		c.add(finding.DHCPUnfit.Find("%s is a TrueNAS: its middleware allows DHCP on one interface, and takes its gateway "+
			"and name servers for the host.", c.look.Host))
	}
}

// ifupdown2 refuses the releases that cannot read an InfiniBand address.
func (c *checker) ifupdown2() {
	version := c.look.Package("ifupdown2")
	switch {
	case c.look.Stack != ipoib.StackIfupdown2:
		return
	case version == "":
		f := finding.Ifupdown2TooOld.Find("The version of ifupdown2 on %s is not known: it is not among the packages.",
			c.look.Host)
		f.WayOut = "Install ifupdown2 3.0.0 or later as a package of the distribution."
		c.add(f)
		return
	}
	// Behind the epoch of a Debian version.
	if major, _, _ := strings.Cut(version[strings.Index(version, ":")+1:], "."); major == "1" || major == "2" {
		c.add(finding.Ifupdown2TooOld.Find("%s has ifupdown2 %s.", c.look.Host, version))
	}
}
