package ipoib

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Neighbour is another interface of the configuration with an address that collides.
type Neighbour struct {
	Name    string // what messages call it
	Address netip.Prefix
}

// CheckAddresses compares addresses with those of other interfaces of the
// configuration: overlap has interfaces of the same host, same those of other hosts.
func CheckAddresses(d Request, overlap, same []Neighbour) []finding.Finding {
	var found []finding.Finding
	for _, n := range overlap {
		found = append(found, finding.SubnetTwice.Find("%s of port %s overlaps %s of %s.", joinPrefixes(d.Config.Addresses),
			d.PortGUID, n.Address, n.Name))
	}
	for _, n := range same {
		found = append(found, finding.AddressTaken.Find("%s of port %s on %s is an address of %s, too.", n.Address.Addr(),
			d.PortGUID, d.Host, n.Name))
	}
	return found
}

// overlap compares the subnets with those of the host's other interfaces. carrier is
// the interface that becomes ours with the GUID that this plan writes.
func (c *checker) overlap(carrier string, leaving []Place) {
	for _, p := range c.d.Config.Addresses {
		for _, n := range c.s.Netdevs {
			if n.Name == c.observed.Name || n.Name == carrier || c.mayBeOurs(n.Name) {
				continue
			}
			for _, a := range n.Addresses {
				if a.Overlaps(p) && !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() && !c.gave(n, a) {
					c.add(c.overlapping(p, n, a, leaving))
				}
			}
		}
	}
}

// overlapping is the finding on an address of another interface. If the provider gave it
// that, the configuration may be about to take it away; whether it does so before is known
// of a replacement alone, and only if that is not create_before_destroy, which core does not
// tell a provider.
func (c *checker) overlapping(p netip.Prefix, n inventory.Netdev, a netip.Prefix, leaving []Place) finding.Finding {
	f := finding.SubnetTwice.Find("%s overlaps %s of %s on %s.", p, a, n.Name, c.s.Host)
	port, ours := c.giver(n, a)
	if !ours {
		return f.WithWayOut("Give each interface a subnet of its own.")
	}
	f.Evidence += fmt.Sprintf(" This provider gave it to that interface, for port %s.", port)
	if goes(c.s, n, a, leaving) {
		f.Severity, f.Summary = finding.Warn, "The interface that is replaced must lose the subnet first"
		return f.WithWayOut("Nothing has to be done, unless the resource has lifecycle { create_before_destroy = true }. " +
			"Then remove that line: with it the new interface is made first, and the apply is refused.")
	}
	return f.WithWayOut(fmt.Sprintf("If this configuration takes the subnet from port %s, two applies are needed: "+
		"nothing says which interface is changed first. First take it from the resource of that port, or remove that "+
		"resource, give it to no other one, and apply. Then give it to this one, and apply again. If two exchange their "+
		"subnets, take them from both first. Where lifecycle { create_before_destroy = true } made this one before the "+
		"old one was gone, remove that line. If the state still has the old one as a deposed object, remove the block of "+
		"this resource, apply, put it back, and apply again. In all other cases give each interface a subnet of its own.",
		port))
}

// giver is the port for which a definition of ours gives an interface an address.
func (c *checker) giver(n inventory.Netdev, a netip.Prefix) (ib.GUID, bool) {
	var pkey uint64
	if n.Parent != "" {
		pkey, _ = strconv.ParseUint(n.PKey, 0, 16) // without one it is the interface of the port
	}
	o := Observe(c.s, n.PortGUID, uint16(pkey))
	return n.PortGUID, n.IB && o.Name == n.Name && slices.Contains(o.Persisted.Config.Addresses, a)
}

// goes reports whether an interface loses an address of ours, because this plan removes
// our definition of it. An address that somebody else gave it stays.
func goes(s *inventory.Snapshot, n inventory.Netdev, a netip.Prefix, leaving []Place) bool {
	return slices.ContainsFunc(leaving, func(l Place) bool {
		old := Observe(s, l.PortGUID, l.PKey)
		return old.Name == n.Name && slices.Contains(old.Persisted.Config.Addresses, a)
	})
}

// gave reports whether an interface has an address from our own definition for this
// port. Network stacks match by name, so an interface keeps the address when its port
// gets another GUID.
func (c *checker) gave(n inventory.Netdev, a netip.Prefix) bool {
	ours := c.observed.Persisted
	return n.IB && n.Name == ours.Interface && slices.Contains(ours.Config.Addresses, a)
}
