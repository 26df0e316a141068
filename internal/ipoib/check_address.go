package ipoib

import (
	"net/netip"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
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
				if a.Overlaps(p) && !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() && !c.gave(n, a) &&
					!goes(c.s, n, a, leaving) {
					c.add(finding.SubnetTwice.Find("%s overlaps %s of %s on %s.", p, a, n.Name, c.s.Host))
				}
			}
		}
	}
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
