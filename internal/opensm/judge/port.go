package judge

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// checkPort is about the port that is to be served.
func checkPort(l *found.Look, p PlanFacts) []finding.Finding {
	// The order matters: a port that is not there has no link layer, and one in Ethernet mode no subnet manager.
	switch {
	case p.PortUnknown, !l.PortPresent && !l.Sleeping && (p.Port || p.LinkType), l.LinkLayer == "Ethernet" && p.LinkType:
		return nil // another resource of this plan makes the port
	case !l.PortPresent && !l.Sleeping:
		return []finding.Finding{finding.PortUnknown.Find("No port of %s has the GUID %s now.%s", l.Host, l.Port,
			describePorts(l))}
	case l.LinkLayer == "Ethernet" || p.Ethernet:
		return []finding.Finding{checkEthernet(l, p)}
	case l.Sleeping:
		return nil // the apply loads the module of its card
	}
	return checkBound(l)
}

// CheckLink is about a change that cannot be proven, because nothing is at the other end.
func CheckLink(l *found.Look) []finding.Finding {
	if !l.PortPresent || l.LinkLayer == "Ethernet" || fact.Yes(l.Link()) {
		return nil
	}
	f := finding.OpensmPortWithoutLink.Find("Port %s of %s is %s, its physical state is %s.", l.Port, l.Host,
		cmp.Or(l.State, "not known"), cmp.Or(l.Physical, "not known"))
	if !l.Link().Known() {
		f = finding.OpensmPortWithoutLink.Find("Port %s of %s: %s.", l.Port, l.Host, l.Link().Why())
		f.Summary = "Whether the port of this subnet manager has a link is not known"
	}
	return []finding.Finding{f}
}

// checkBound looks at who serves the port now.
func checkBound(l *found.Look) []finding.Finding {
	switch {
	case !fact.No(l.IsSM) && !l.Active.Known():
		f := finding.OpensmPortHeld.Find("Whether %s of %s runs is not known: %s. So whose subnet manager serves port %s is "+
			"not known either.", l.Unit, l.Host, l.Active.Why(), l.Port)
		f.WayOut = "Fix what systemctl reports on the host, then plan again."
		return []finding.Finding{f}
	// The bit IsSM of the port is the one sign of a manager that was started by hand, outside of systemd.
	case !l.IsSM.Known() && l.Stopped():
		f := finding.OpensmPortHeld.Find("Whether a subnet manager is bound to port %s of %s is not known: %s.", l.Port,
			l.Host, l.IsSM.Why())
		f.WayOut = "Read the file on the host as root, and look into the kernel's log for what the card or its driver " +
			"complains about. Plan again when it can be read."
		return []finding.Finding{f}
	// The kernel gives the management classes of a port to one program only: ours could not bind.
	case fact.Yes(l.IsSM) && l.Stopped():
		return []finding.Finding{findHolder(l)}
	}
	return nil
}

// describePorts names the ports of the host, and the other object of a card that has this
// GUID: the label of a card often shows the node GUID.
func describePorts(l *found.Look) string {
	node := ""
	if l.NodeGUIDOf != "" {
		node = fmt.Sprintf(" It is the node GUID of card %s, which is not that of a port.", l.NodeGUIDOf)
	}
	if len(l.HostPorts) == 0 {
		return node + " The host shows no port with a GUID."
	}
	var ports []string
	for _, p := range l.HostPorts {
		ports = append(ports, fmt.Sprintf("%s port %d: %s (%s)", p.PCI, p.Number, p.GUID, p.LinkLayer))
	}
	return node + " The host has " + strings.Join(ports, ", ") + "."
}

// CheckPrefixTaken says that the port's GIDs do not begin with the prefix that its
// master has.
func CheckPrefixTaken(l *found.Look, want ib.GUID) []finding.Finding {
	if !l.PortPresent || want == 0 || !l.Master() || l.Prefix == want {
		return nil
	}
	return []finding.Finding{finding.SubnetPrefixIneffective.Find("The GIDs of port %s of %s begin with %s, not with %s.",
		l.Port, l.Host, l.Prefix, want)}
}

// checkEthernet is about a port that is Ethernet, or that this plan makes so.
func checkEthernet(l *found.Look, p PlanFacts) finding.Finding {
	switch {
	case l.LinkLayer == "Ethernet" && p.Waits:
		return finding.PortEthernet.Find("Port %s of %s has link layer Ethernet.", l.Port, l.Host).BeforeRestart()
	case l.LinkLayer == "Ethernet":
		return finding.PortEthernet.Find("Port %s of %s has link layer Ethernet.", l.Port, l.Host)
	}
	return finding.PortEthernet.Find("This plan makes port %s of %s Ethernet.", l.Port, l.Host)
}

// findHolder is about a subnet manager that is not an instance of its port's unit.
func findHolder(l *found.Look) finding.Finding {
	f := finding.OpensmPortHeld.Find("A subnet manager is bound to port %s of %s, and %s does not run.", l.Port, l.Host,
		l.Unit)
	if l.OwnTemplate && fact.Yes(l.SharedActive) {
		f.Evidence += " " + tool.Service + " runs. It starts one opensm without a unit for each port."
		f.WayOut = "Write into this resource what that one was given: on Fedora and RHEL GUIDS and PRIORITY of " +
			"/etc/sysconfig/opensm, and the settings of /etc/rdma/opensm.conf. Then run systemctl disable --now opensm on the " +
			"host, and apply at once. Until then traffic goes on, and ports that come up wait."
	}
	return f
}

// CheckImport says why the subnet manager of a port is not one that can be imported, if it
// has one.
func CheckImport(l *found.Look) []finding.Finding {
	if l.Managed || l.Listed || !l.Stopped() || !fact.Yes(l.IsSM) {
		return nil
	}
	f := findHolder(l)
	f.Attribute, f.Summary = "", "Refusing to import a subnet manager that something else starts"
	return []finding.Finding{f}
}
