package judge

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// port checks the port and the interface as they are now.
func (c *checker) port(p PlanFacts) {
	o := c.look
	ethernet, unknown := o.LinkLayer == "Ethernet", o.LinkLayer == "" && o.Name == "" && !o.Sleeping
	switch {
	case unknown && (p.Port || p.LinkType), ethernet && p.LinkType: // another resource of this plan makes the port
	case unknown:
		c.add(finding.PortUnknown.Find("No port of %s has the GUID %s now. %s", c.look.Host, c.d.PortGUID,
			c.portsOfHost()))
	case ethernet, p.Ethernet:
		c.ethernet(ethernet, p.Waits)
	case o.Sleeping: // the apply loads the module of its card
	default:
		c.mode()
		c.portMTU()
		c.child()
		c.session()
	}
}

// ethernet refuses a port that is Ethernet now, or that becomes it.
func (c *checker) ethernet(now, waits bool) {
	text := "This plan makes port %s of %s Ethernet."
	if now {
		text = "Port %s of %s has link layer Ethernet."
	}
	f := finding.PortEthernet.Find(text, c.d.PortGUID, c.look.Host)
	if waits {
		f = f.BeforeRestart()
	}
	c.add(f)
}

// child checks that a P_Key's interface is on no port of a bond, and that its name fits. The kernel cuts a long one,
// and every network stack looks for the whole.
func (c *checker) child() {
	const most = 15 // IFNAMSIZ less the terminating zero
	for _, n := range c.look.Netdevs() {
		if n.Name == c.look.Parent && n.Master != "" {
			c.add(c.inBond(n.Name, n.Master))
		}
	}
	if c.look.Parent != "" && len(c.look.Name) > most {
		c.add(finding.PKeyNameTooLong.Find("%s of %s has %d characters, %d more than %d.", c.look.Name, c.look.Host,
			len(c.look.Name), len(c.look.Name)-most, most))
	}
}

// mode checks that the card can do the mode. The hardware address of the interface has
// a flag for it; before there is an interface, the driver decides.
func (c *checker) mode() {
	o := c.look
	switch {
	case c.d.Config.Mode != ib.ModeConnected:
	case o.Present && !o.Capable:
		c.add(finding.ConnectedModeMissing.Find("Interface %s of %s, driver %s: bit 0x80 of its hardware address is clear.",
			o.Name, c.look.Host, o.Driver))
	// mlx5 makes the interface itself (enhanced IPoIB), without the part of ib_ipoib that has connected mode.
	case !o.Present && !o.Capable && o.Driver == "mlx5_core":
		c.add(finding.ConnectedModeMissing.Find("Port %s of %s belongs to a card of driver mlx5_core.", c.d.PortGUID,
			c.look.Host))
	}
}

// anyMode refuses connected mode where no port of the host can do it.
func (c *checker) anyMode() {
	var unfit []string
	for _, p := range c.look.HostPorts() {
		if p.Connected {
			return
		}
		unfit = append(unfit, fmt.Sprintf("%s port %d (%s)", p.PCI, p.Number, p.Driver))
	}
	if len(unfit) > 0 && c.d.Config.Mode == ib.ModeConnected {
		c.add(finding.ConnectedModeMissing.Find("No port of %s can do it: %s.", c.look.Host, strings.Join(unfit, ", ")))
	}
}

// portsOfHost names the ports that a host has.
func (c *checker) portsOfHost() string {
	var ports []string
	for _, p := range c.look.HostPorts() {
		if !p.PortGUID.IsZero() {
			ports = append(ports, fmt.Sprintf("%s port %d: %s (%s)", p.PCI, p.Number, p.PortGUID, p.LinkLayer))
		}
	}
	if len(ports) == 0 {
		return "It shows no InfiniBand port."
	}
	return "It has " + strings.Join(ports, ", ") + "."
}

// mayBeOurs reports whether an interface may belong to the port that is not known yet.
func (c *checker) mayBeOurs(name string) bool { return c.portUnknown && c.look.MayBecomeIB(name) }

// ports are the ports that the interface may be of.
func (c *checker) ports() []ib.GUID {
	if !c.portUnknown {
		return []ib.GUID{c.d.PortGUID}
	}
	var all []ib.GUID
	for _, p := range c.look.HostPorts() {
		all = append(all, p.PortGUID)
	}
	return all
}

// portMTU refuses an MTU that the kernel would refuse, where the driver shows what the port
// carries.
func (c *checker) portMTU() {
	want := c.d.Config
	if c.look.IBMTU == 0 || want.Mode != ib.ModeDatagram || want.MTU <= ipoib.SafeDatagramMTU || want.MTU > largestIBMTU {
		return
	}
	// Where the driver does not show it (mlx5), the kernel's refusal is explained after the fact.
	if limit := ib.MaxMTU(ib.ModeDatagram, c.look.IBMTU); limit != 0 && want.MTU > limit {
		c.add(finding.MTUAbovePort.Find("mtu = %d with mode = \"datagram\": port %s of %s carries packets of at most %d "+
			"bytes, which leaves %d.", want.MTU, c.d.PortGUID, c.look.Host, c.look.IBMTU, limit).WithWayOut(
			fmt.Sprintf("Use mtu = %d. Or use mode = \"connected\" if the card supports it.",
				min(limit, ipoib.SafeDatagramMTU))))
	}
}
