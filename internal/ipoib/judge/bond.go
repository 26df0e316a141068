package judge

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// bond checks what a bond needs of its host and its ports. planned is true if a resource of this plan makes
// the backup; port() has looked at the other one.
func (c *checker) bond(planned bool) {
	l, name := c.look, c.d.Bond.Name
	if name == "" || c.portUnknown {
		return
	}
	if l.Stack.Service() == "" && l.Stack != ipoib.StackUnknown {
		c.add(finding.BondUnfit.Find("%s is configured through %s.", l.Host, l.Stack))
		return
	}
	if l.Netdev != nil && l.Netdev.Kind != "bond" {
		c.add(finding.BondUnfit.Find("%s has an interface %s, which is no bond.", l.Host, name).WithWayOut(
			"Give the bond another name."))
	}
	for n, port := range l.Ports {
		if port.Netdev != nil {
			c.bondPort(port)
		} else if n > 0 && !planned {
			c.noBackup(port)
		}
	}
}

// noBackup is about a backup that has no interface. Where a module is missing, the apply loads it.
func (c *checker) noBackup(port found.BondPort) {
	switch {
	case port.Port == nil && !c.look.HasPort(port.GUID):
		c.add(finding.PortUnknown.Find("No port of %s has the GUID %s now. %s", c.look.Host, port.GUID,
			c.portsOfHost()).At("bond"))
	case port.Port != nil && port.Port.LinkLayer == "Ethernet":
		c.add(finding.PortEthernet.Find("Port %s of %s has link layer Ethernet.", port.GUID, c.look.Host).At("bond"))
	}
}

// bondPort checks a port whose interface is there.
func (c *checker) bondPort(port found.BondPort) {
	l, n := c.look, port.Netdev
	if !c.free(port) || c.alone(port) || c.below(port) {
		return
	}
	state := port.State()
	// NetworkManager activates no port that is not served, see waits.
	if l.Stack.Service() == ipoib.NMUnit && !strings.HasPrefix(state, "state Active") && !c.satisfied() {
		c.add(finding.InterfaceNotActivated.Find("Port %s of %s: %s.", port.GUID, l.Host, state))
	} else if l.Live.Carrier && n.Master == l.Name && !n.Carrier {
		c.add(finding.BondWithoutBackup.Find("%s of %s has no carrier (port %s: %s).", n.Name, l.Host, port.GUID, state))
	}
}

// free reports whether a port is part of no bond or bridge that stays. If both are part of one, it is said once.
func (c *checker) free(port found.BondPort) bool {
	n, first := port.Netdev, c.look.Ports[0].Netdev
	if n.Master == "" || n.Master == c.look.Name {
		return true
	}
	if first == nil || first == n || first.Master != n.Master {
		c.add(c.inBond(n.Name, n.Master).At("bond"))
	}
	return n.Master == c.former
}

// CheckForeignBond refuses a bond that is there and that no state has: one of another resource with other ports, or one
// of somebody else. Former is the bond that the plan removes before.
func CheckForeignBond(l *found.Look, d ipoib.Request, former string) []finding.Finding {
	if l.Netdev == nil || l.Netdev.Kind != "bond" || l.Persisted.Found {
		return nil
	}
	owner := l.BondOwner(l.Name)
	if owner.IsZero() {
		f := finding.InterfaceInBond.Find("%s of %s is a bond (mode %s) that this provider has not made.", l.Name, l.Host,
			l.Netdev.Mode)
		f.Summary = "Refusing to take over a bond of somebody else"
		return []finding.Finding{f.At("bond").WithWayOut("Give the bond another name. Or remove it from the host, with " +
			"what makes it, and plan again.")}
	}
	f := finding.BondUnfit.Find("%s of %s is the bond of an infiniband_ipoib_interface of port %s, which has other ports "+
		"or other roles for them.", l.Name, l.Host, owner)
	if l.Name == former {
		return []finding.Finding{goesFirst(f)}
	}
	return []finding.Finding{f.WithWayOut(fmt.Sprintf("If another root module has it, leave it there. Otherwise write "+
		"its ports as port_guid and backup_port_guid, and import it with the id %s/%s. %s", d.Host, owner, madeTooEarly))}
}

// CheckApart is about a bond whose ports are on two fabrics: by the names that the configuration has for these, or by
// what the ports show. A fabric may fall apart under a bond that is there, which blocks no plan.
func CheckApart(d ipoib.Request, one, two string, there bool) finding.Finding {
	text := fmt.Sprintf("Ports %s and %s of %s are on two fabrics", d.PortGUID, d.Bond.Backup, d.Host)
	if one != "" && two != "" {
		return finding.BondUnfit.Find("%s, by fabrics of the provider block: %s and %s.", text, one, two)
	}
	f := finding.BondUnfit.Find("%s: their subnet managers or prefixes differ, or a look through the first one does not "+
		"find the second.", text)
	if there {
		f.Severity, f.Summary = finding.Warn, "The ports of the bond are on two fabrics"
		f.WayOut = "Connect the two fabrics, or remove this resource."
	}
	return f
}

// inBond is about a port that is part of a bond or bridge. A bond of ours may be the one that this plan removes.
func (c *checker) inBond(name, master string) finding.Finding {
	l, owner := c.look, c.look.BondOwner(master)
	f := finding.InterfaceInBond.Find("%s of %s is part of %s%s.", name, l.Host, master, l.MasterKind(master))
	switch {
	case owner.IsZero():
		return f
	case master == c.former:
		return goesFirst(f)
	}
	f.Evidence += fmt.Sprintf(" This provider has made %s, for port %s.", master, owner)
	return f.WithWayOut(fmt.Sprintf("If another root module has it, leave its ports to it. Otherwise first remove its "+
		"resource, and apply; if no state has it, import it for that, with the id %s/%s. %s", c.d.Host, owner, madeTooEarly))
}

// goesFirst is a finding on a bond that this plan removes before.
func goesFirst(f finding.Finding) finding.Finding {
	f.Severity, f.Summary = finding.Warn, "The bond that is replaced must go first"
	return f.WithWayOut(unlessMadeFirst)
}

// below finds an interface of a P_Key on a port that is to be the backup: it would lose its port's configuration. That
// of port_guid may be what this resource had before.
func (c *checker) below(port found.BondPort) bool {
	on := port.Netdev
	for _, n := range c.look.Netdevs() {
		if n.IB && n.Parent == on.Name && port.GUID == c.d.Bond.Backup && on.Master != c.look.Name {
			c.add(finding.BondUnfit.Find("%s of %s has the interface %s of a P_Key.", on.Name, c.look.Host, n.Name).
				WithWayOut("Remove it first, with its resource if it has one. A port of a bond can have no P_Key."))
			return true
		}
	}
	return false
}

// alone finds a port that is configured by itself. That of port_guid may be what this resource had before.
func (c *checker) alone(port found.BondPort) bool {
	l, n := c.look, port.Netdev
	single := l.Of(ipoib.Ref{PortGUID: port.GUID})
	ours := single.Persisted.Found && single.Persisted.Interface == n.Name
	if ours && port.GUID == c.d.Bond.Backup {
		c.add(finding.BondUnfit.Find("%s of %s is configured by %s, which an infiniband_ipoib_interface of port %s has "+
			"written.", n.Name, l.Host, strings.Join(single.Persisted.Sources, " and "), port.GUID).WithWayOut(
			"Remove that resource and apply. Then add the bond."))
		return true
	}
	addresses := ipconf.Global(n.Addresses)
	if ours {
		addresses = ipconf.Without(addresses, single.Persisted.Config.Addresses)
	}
	if len(addresses) > 0 {
		c.add(finding.BondUnfit.Find("%s of %s has %s, and a port of a bond has no address.", n.Name, l.Host,
			ipconf.Join(addresses)).WithWayOut("Take it away from " + n.Name + " first. The bond may have it."))
	}
	return len(addresses) > 0
}
