package ipoib

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// MTUs in bytes.
const (
	minMTU          = 1280
	trueNASMaxMTU   = 9216
	safeDatagramMTU = 2044
	largestIBMTU    = 4096
)

// DefaultMTU is the MTU in bytes that a mode has if none is asked for: the
// largest that works on every fabric and, on TrueNAS, without private methods.
func DefaultMTU(kind platform.Kind, mode ib.IPoIBMode) int {
	switch {
	case mode != ib.ModeConnected:
		return safeDatagramMTU
	case kind == platform.KindTrueNAS:
		return trueNASMaxMTU
	}
	return ib.ConnectedMaxMTU
}

// PlanFacts is what other resources of the same plan do before this one is applied.
type PlanFacts struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// PortUnknown is true if it is not known yet which port it will be.
	PortUnknown bool
	// Carrier is the present name of the interface whose port will get the port GUID;
	// empty if there is none.
	Carrier string
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Ethernet is true if a resource of this plan will make the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// SM is true if a resource of this plan will run a subnet manager on the fabric.
	SM bool
	// Held is true if the state has what is asked for.
	Held bool
	// LookedAfter are interfaces of ports that the host had, whose files a resource of this
	// plan keeps right or removes: see Observation.Awaited.
	LookedAfter []Place
	// Leaving are interfaces of the host that this plan removes before it makes this one.
	Leaving []Place
}

// Place says which interface of a host is meant; PKey is zero for the default partition.
type Place struct {
	PortGUID ib.GUID
	PKey     uint16
}

// Check gives the findings against d on this host. It neither asks nor changes the
// host. What only the apply can see is left to Apply, which checks again. While the
// port is not known, it judges the host and the settings.
func Check(s *inventory.Snapshot, d Request, p PlanFacts) []finding.Finding {
	plat, err := platform.Of(s)
	if err != nil {
		return []finding.Finding{finding.IPoIBUnsupported.Find("%v.", err)}
	}
	c := &checker{s: s, d: d, portUnknown: p.PortUnknown, held: p.Held, observed: Observation{Stack: DetectStack(s)}}
	if !c.portUnknown {
		c.observed = Observe(s, d.PortGUID, d.PKey).without(p.Leaving, p.LookedAfter)
	}
	c.stack = c.observed.Stack
	c.config()
	c.found = append(c.found, platform.CheckPort(s, plat, d.PortGUID, "ib_ipoib")...)
	if c.portUnknown {
		c.anyMode()
	} else {
		c.port(p)
	}
	c.carrier(p)
	c.checkCarrier(p)
	if plat.About().Kind == platform.KindTrueNAS {
		c.trueNAS()
	} else {
		c.stackFindings()
	}
	c.overlap(p.Carrier, p.Leaving)
	c.checkAdded()
	c.checkHidden()
	c.found = append(c.found, platform.CheckBoot(s, c.observed.NotAtBoot)...)
	c.defaultRoute()
	c.checkUndone()
	return c.found
}

// CheckRemove gives the findings against a removal. Like a change, it can cut the
// session and storage.
func CheckRemove(s *inventory.Snapshot, d Request) []finding.Finding {
	c := &checker{s: s, d: Request{Host: d.Host, PortGUID: d.PortGUID, Consent: d.Consent},
		observed: Observe(s, d.PortGUID, d.PKey)}
	if !Removable(s, d) {
		return nil
	}
	c.session()
	c.checkAdded()
	c.checkStays()
	for i, f := range c.found {
		if f.Consent != "" {
			// A destroy sees only the configuration that an apply has stored.
			c.found[i].WayOut = "If that is acceptable, add the line below to the resource and apply, so that the state " +
				"holds it. Then destroy."
		}
	}
	return c.found
}

// Removable reports whether anything of ours is on the host.
func Removable(s *inventory.Snapshot, d Request) bool {
	return Observe(s, d.PortGUID, d.PKey).Persisted.Found || len(staleFiles(s, targetOf(s, d.PortGUID, d.PKey), nil)) > 0
}

// CheckConfig gives the findings against a configuration on any host. It needs no host,
// so validation can call it.
func CheckConfig(d Request) []finding.Finding {
	c := &checker{d: d}
	c.config()
	return c.found
}

// Member is another interface of the same subnet, of any host.
type Member struct {
	Name string // what messages call it
	Mode ib.IPoIBMode
	MTU  int
}

// CheckSubnet compares an interface with others of its subnets.
func CheckSubnet(d Request, others []Member) []finding.Finding {
	var found []finding.Finding
	for _, m := range others {
		found = append(found, finding.SubnetInterfacesDiffer.Find("%s has mode = %q and mtu = %d here; %s of the same "+
			"subnet has mode = %q and mtu = %d.",
			d.Host, d.Config.Mode, d.Config.MTU, m.Name, m.Mode, m.MTU))
	}
	return found
}

type checker struct {
	s           *inventory.Snapshot
	d           Request
	portUnknown bool // which port it will be is not known yet
	held        bool // the state has what is asked for
	stack       Stack
	observed    Observation
	found       []finding.Finding
}

func (c *checker) target() target {
	if c.portUnknown {
		return target{pkey: c.d.PKey}
	}
	return targetOf(c.s, c.d.PortGUID, c.d.PKey)
}

func (c *checker) add(f finding.Finding) { c.found = append(c.found, f) }

// config checks what follows from the configuration alone.
func (c *checker) config() {
	if key := c.d.PKey; key != 0 && key&0x8000 == 0 || key == 0x8000 {
		f := finding.PKeyInvalid.Find("pkey = \"0x%04x\": bit 0x8000 is clear, or no partition is named.", key)
		if key != 0x8000 {
			f.WayOut = fmt.Sprintf("Write pkey = \"0x%04x\". Whether this port is a full or a limited member is said in the "+
				"subnet manager's partition.", key|0x8000)
		}
		c.add(f)
	}
	c.mtu()
	seen := map[netip.Addr]bool{}
	for _, p := range c.d.Config.Addresses {
		if problem := addressProblem(p); problem != "" {
			c.add(finding.AddressInvalid.Find("%s %s.", p, problem))
		} else if seen[p.Addr()] {
			c.add(finding.AddressInvalid.Find("%s is there twice.", p.Addr()))
		}
		seen[p.Addr()] = true
	}
	c.routes()
}

// routes checks that each route's gateway is in a subnet of the interface.
func (c *checker) routes() {
	seen := map[netip.Prefix]bool{}
	for _, r := range c.d.Config.Routes {
		near := slices.ContainsFunc(c.d.Config.Addresses, func(p netip.Prefix) bool {
			return p.Masked().Contains(r.Via) && p.Addr() != r.Via
		})
		switch {
		case r.To.Addr().Is4() != r.Via.Is4():
			c.add(finding.RouteInvalid.Find("%s: one is of IPv4, the other of IPv6.", r))
		case seen[r.To]:
			c.add(finding.RouteInvalid.Find("%s: there is another route to %s.", r, r.To))
		case !near:
			c.add(finding.RouteInvalid.Find("%s: the gateway is in none of the subnets of the interface, which are %s.", r,
				joinPrefixes(maskPrefixes(c.d.Config.Addresses))))
		}
		seen[r.To] = true
	}
}

func maskPrefixes(prefixes []netip.Prefix) []netip.Prefix {
	all := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.Masked()
	}
	return all
}

// defaultRoute finds a second default route.
func (c *checker) defaultRoute() {
	for _, r := range c.d.Config.Routes {
		for _, now := range c.s.Routes.Default {
			if r.Default() && now.Table == "" && now.Dev != c.observed.Name && !c.mayBeOurs(now.Dev) &&
				strings.Contains(now.Gateway, ":") == r.Via.Is6() {
				c.add(finding.DefaultRouteTwice.Find("%s: %s leads everywhere already, by %s.", r, now.Dev, now.Gateway))
			}
		}
	}
}

func (c *checker) mtu() {
	mtu, mode := c.d.Config.MTU, c.d.Config.Mode
	limit := ib.MaxMTU(ib.ModeDatagram, largestIBMTU)
	switch {
	case mtu == 0:
	case mtu < minMTU:
		c.add(finding.MTUBelowIPv6.Find("mtu = %d.", mtu))
	case mtu > ib.ConnectedMaxMTU:
		c.add(finding.MTUAboveIPoIB.Find("mtu = %d, which is %d more than %d.", mtu, mtu-ib.ConnectedMaxMTU,
			ib.ConnectedMaxMTU))
	case mode == ib.ModeDatagram && mtu > limit:
		f := finding.MTUAboveDatagram.Find("mtu = %d with mode = \"datagram\": "+
			"datagram carries at most IB MTU − %d = %d − %d = %d bytes; %d is %d too many.",
			mtu, ib.DatagramOverhead, largestIBMTU, ib.DatagramOverhead, limit, mtu, mtu-limit)
		f.Summary = fmt.Sprintf("Refusing MTU %d in datagram mode", mtu)
		f.WayOut = fmt.Sprintf("%d needs mode = \"connected\". In datagram mode use mtu = %d, which works on every fabric, "+
			"or %d where the partition in infiniband_opensm has mtu = 4096.",
			mtu, safeDatagramMTU, limit)
		c.add(f)
	case mode == ib.ModeDatagram && mtu > safeDatagramMTU:
		c.add(finding.MTUDependsOnFabric.Find("mtu = %d with mode = \"datagram\" needs a broadcast group of %d − %d = %d "+
			"bytes.",
			mtu, largestIBMTU, ib.DatagramOverhead, limit))
	}
}

// port checks the port and the interface as they are now.
func (c *checker) port(p PlanFacts) {
	o := c.observed
	ethernet, unknown := o.LinkLayer == "Ethernet", o.LinkLayer == "" && o.Name == "" && !o.Sleeping
	switch {
	case unknown && (p.Port || p.LinkType):
		c.add(finding.IPoIBPostponed.Find("No port of %s has the GUID %s yet.", c.s.Host, c.d.PortGUID))
	case unknown:
		c.add(finding.IPoIBPortUnknown.Find("No port of %s has the GUID %s now. %s", c.s.Host, c.d.PortGUID, portsOf(c.s)))
	case ethernet && p.LinkType:
		c.add(finding.IPoIBPostponed.Find("Port %s of %s is in Ethernet mode now.", c.d.PortGUID, c.s.Host))
	case ethernet, p.Ethernet:
		c.ethernet(ethernet, p.Waits)
	case o.Sleeping:
		c.add(finding.IPoIBPostponed.Find("The module of the card that has port %s is not loaded on %s. The apply loads it.",
			c.d.PortGUID, c.s.Host))
	default:
		c.mode()
		c.portMTU()
		c.childName()
		c.session()
	}
}

// ethernet refuses a port that is Ethernet now, or that becomes it.
func (c *checker) ethernet(now, waits bool) {
	text := "This plan makes port %s of %s Ethernet."
	if now {
		text = "Port %s of %s has link layer Ethernet."
	}
	f := finding.IPoIBPortEthernet.Find(text, c.d.PortGUID, c.s.Host)
	if waits {
		f = f.BeforeRestart()
	}
	c.add(f)
}

// childName checks that the name of a P_Key child fits. The kernel cuts a long
// one, and every network stack looks for the whole.
func (c *checker) childName() {
	const most = 15 // IFNAMSIZ less the terminating zero
	if c.observed.Parent != "" && len(c.observed.Name) > most {
		c.add(finding.PKeyNameTooLong.Find("%s of %s has %d characters, %d more than %d.", c.observed.Name, c.s.Host,
			len(c.observed.Name), len(c.observed.Name)-most, most))
	}
}

// mode checks that the card can do the mode. The hardware address of the interface has
// a flag for it; before there is an interface, the driver decides.
func (c *checker) mode() {
	o := c.observed
	switch {
	case c.d.Config.Mode != ib.ModeConnected:
	case o.Present && !o.Capable:
		c.add(finding.ConnectedModeMissing.Find("Interface %s of %s, driver %s: bit 0x80 of its hardware address is clear.",
			o.Name, c.s.Host, o.Driver))
	case !o.Present && !o.Capable && o.Driver == "mlx5_core":
		c.add(finding.ConnectedModeMissing.Find("Port %s of %s belongs to a card of driver mlx5_core.", c.d.PortGUID,
			c.s.Host))
	}
}

// satisfied reports whether there is nothing to change.
func (c *checker) satisfied() bool {
	if c.portUnknown {
		return InPlace(c.s, c.d)
	}
	return c.observed.Satisfies(c.d.Config)
}

func (c *checker) carrier(p PlanFacts) {
	o := c.observed
	switch {
	case c.portUnknown:
	case c.waits() && (!p.SM || o.Physical != "LinkUp"): // without a link no subnet manager reaches the port
		c.add(finding.InterfaceNotActivated.Find("Port %s of %s: state %s, physical state %s.", c.d.PortGUID, c.s.Host,
			cmp.Or(o.PortState, "unknown"), cmp.Or(o.Physical, "unknown")))
	case p.SM:
	case o.LinkLayer == "InfiniBand" && o.Physical == "" && !o.Sleeping:
		f := finding.PortWithoutSubnetManager.Find("Port %s of %s: its phys_state and sm_lid cannot be read.", c.d.PortGUID,
			c.s.Host)
		f.Summary = "It is not known whether a subnet manager serves this port"
		c.add(f)
	case o.Unserved():
		c.add(finding.PortWithoutSubnetManager.Find("Port %s of %s: physical state LinkUp, state %s, no SM LID.",
			c.d.PortGUID, c.s.Host, o.PortState))
	}
}

// waits reports whether NetworkManager would have to activate the interface, and does not
// as long as its port is not served.
func (c *checker) waits() bool {
	o := c.observed
	if c.stack != StackNM && c.stack != StackNetplanNM || o.LinkLayer != "InfiniBand" || o.Sleeping ||
		o.PortState == "Active" || c.satisfied() {
		return false
	}
	taken := adoptedDefinitions(o, c.d)
	touched := slices.ContainsFunc(taken, func(f Unmanaged) bool { return anew(c.s, o, f, c.d.Config) != "" })
	return len(taken) == 0 || touched || o.liveDiffers(c.d.Config)
}

// Unserved reports whether the port has a link and no subnet manager.
func (o Observation) Unserved() bool {
	return o.Physical == "LinkUp" && o.LinkLayer == "InfiniBand" && o.SMLID == 0
}

// CheckFabric gives a finding if no configured subnet manager is on the fabric of an
// unserved port. elsewhere names those managers.
func CheckFabric(d Request, elsewhere []string) []finding.Finding {
	if len(elsewhere) == 0 {
		return nil
	}
	return []finding.Finding{finding.SubnetManagerElsewhere.Find("Port %s of %s does not reach %s.", d.PortGUID, d.Host,
		strings.Join(elsewhere, ", "))}
}
