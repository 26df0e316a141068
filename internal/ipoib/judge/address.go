package judge

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Neighbour is another interface of the configuration with an address that collides.
type Neighbour struct {
	Name    string // what messages call it
	Address netip.Prefix
}

// CheckAddresses compares addresses with those of other interfaces of the
// configuration: overlap has interfaces of the same host, same those of other hosts.
func CheckAddresses(d ipoib.Request, overlap, same []Neighbour) []finding.Finding {
	var found []finding.Finding
	for _, n := range overlap {
		found = append(found, finding.SubnetTwice.Find("%s of port %s overlaps %s of %s.", ipconf.Join(d.Config.Addresses),
			d.PortGUID, n.Address, n.Name))
	}
	for _, n := range same {
		found = append(found, finding.AddressTaken.Find("%s of port %s on %s is an address of %s, too.", n.Address.Addr(),
			d.PortGUID, d.Host, n.Name))
	}
	return found
}

// overlap compares the subnets of addresses with those of the host's other interfaces. carrier is
// the interface that becomes ours with the GUID that this plan writes.
func (c *checker) overlap(addresses []netip.Prefix, carrier string, leaving []ipoib.Ref) (all []finding.Finding) {
	isPort := func(name string) bool { // or the bond that a port is in, which has a finding of its own
		return slices.ContainsFunc(c.look.Ports, func(p found.BondPort) bool {
			return p.Name() == name || p.Netdev != nil && p.Netdev.Master == name
		}) || c.look.Netdev != nil && c.look.Netdev.Master == name
	}
	others := slices.DeleteFunc(c.look.OtherAddresses(), func(o found.OtherAddress) bool {
		// What becomes ours, goes with this change or is ours already has no other subnet to be held against.
		return o.Interface == carrier || isPort(o.Interface) ||
			c.mayBeOurs(o.Interface) || c.gave(o)
	})
	for _, p := range addresses {
		for _, o := range others {
			if o.Address.Overlaps(p) {
				all = append(all, c.overlapping(p, o, leaving))
			}
		}
	}
	return all
}

// CheckLease gives the findings against addresses that DHCP has given to the interface: those against fixed ones.
func CheckLease(l *found.Look, d ipoib.Request, leased []netip.Prefix) []finding.Finding {
	all := (&checker{look: l, d: d}).overlap(leased, "", nil)
	for i, f := range all {
		f.Evidence = "The DHCP lease " + f.Evidence
		all[i] = f.At("dhcp4").WithWayOut("Have the DHCP server of the fabric give addresses of a subnet that no other " +
			"interface has, or use a fixed address.")
	}
	return all
}

const leaseOverlaps = "A DHCP lease is in the subnet of another interface"

// lease warns of a lease that the interface has. An error would block the plan that mends it.
func (c *checker) lease() {
	if !c.d.Config.DHCP4 {
		return
	}
	for _, f := range CheckLease(c.look, c.d, c.look.Live.Leased) {
		f.Severity, f.Summary = finding.Warn, leaseOverlaps
		c.add(f.WithWayOut(f.WayOut + " Until then an apply that changes this interface is undone."))
	}
}

// overlapping is the finding on an address of another interface. If the provider gave it
// that, the configuration may be about to take it away; whether it does so before is known
// of a replacement alone, and only if that is not create_before_destroy, which core does not
// tell a provider.
func (c *checker) overlapping(p netip.Prefix, o found.OtherAddress, leaving []ipoib.Ref) finding.Finding {
	f := finding.SubnetTwice.Find("%s overlaps %s of %s on %s.", p, o.Address, o.Interface, c.look.Host)
	// The fixed address was there first. An error would block every plan of it until a server changes its mind.
	if o.Leased && c.look.Gives(c.look.Name, p) { // the lease came later
		f.Severity, f.Summary = finding.Warn, leaseOverlaps
		f.Evidence += " That is a lease."
		return f.WithWayOut("Have the DHCP server give addresses of a subnet that no other interface has.")
	}
	port, ours := c.look.Giver(o)
	if !ours {
		return f.WithWayOut("Give each interface a subnet of its own.")
	}
	f.Evidence += fmt.Sprintf(" This provider gave it to that interface, for port %s.", port)
	if c.goes(o, leaving) {
		f.Severity, f.Summary = finding.Warn, "The interface that is replaced must lose the subnet first"
		return f.WithWayOut(unlessMadeFirst)
	}
	return f.WithWayOut(fmt.Sprintf("If this configuration takes the subnet from port %s, two applies are needed: "+
		"nothing says which interface is changed first. First take it from the resource of that port, or remove that "+
		"resource, give it to no other one, and apply. Then give it to this one, and apply again. If two exchange their "+
		"subnets, take them from both first. %s In all other cases give each interface a subnet of its own.",
		port, madeTooEarly))
}

// What core does not tell a provider: whether the old one of a replacement goes first.
const (
	unlessMadeFirst = "Nothing has to be done, unless the resource has lifecycle { create_before_destroy = true }. Then " +
		"remove that line: with it the new interface is made first, and the apply is refused."
	madeTooEarly = "Where lifecycle { create_before_destroy = true } made this one before the old one was gone, remove " +
		"that line. If the state still has the old one as a deposed object, remove the block of this resource, apply, put " +
		"it back, and apply again."
)

// goes reports whether an interface loses an address of ours, because this plan removes
// our definition of it. An address that somebody else gave it stays.
func (c *checker) goes(o found.OtherAddress, leaving []ipoib.Ref) bool {
	return o.Interface == c.former || slices.ContainsFunc(leaving, func(old ipoib.Ref) bool {
		return c.look.Of(old).Gives(o.Interface, o.Address)
	})
}

// gave reports whether an interface has an address from our own definition for this
// port. Network stacks match by name, so an interface keeps the address when its port
// gets another GUID.
func (c *checker) gave(o found.OtherAddress) bool {
	ours := c.look.Persisted
	return o.IB && o.Interface == ours.Interface && slices.Contains(ours.Config.Addresses, o.Address)
}

// defaultRoute finds a second default route.
func (c *checker) defaultRoute() {
	for _, r := range c.d.Config.Routes {
		for _, now := range c.look.OtherDefaultRoutes() {
			// The two families have a default route each.
			if r.Default() && !c.mayBeOurs(now.Dev) && now.IPv6 == r.Via.Is6() {
				c.add(finding.DefaultRouteTwice.Find("%s: %s leads everywhere already, by %s.", r, now.Dev, now.Gateway))
			}
		}
	}
}
