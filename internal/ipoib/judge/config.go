package judge

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// MTUs in bytes.
const (
	minMTU = 1280 // what IPv6 needs
	// The largest of InfiniBand for datagrams. A port or its group may carry less.
	largestIBMTU = 4096
)

// CheckConfig gives the findings against a configuration on any host. It needs no host,
// so validation can call it.
func CheckConfig(d ipoib.Request) []finding.Finding {
	c := &checker{d: d}
	c.config()
	return c.found
}

// config checks what follows from the configuration alone.
func (c *checker) config() {
	// The kernel sets the bit in any case, and the name of the child has the key as it was written: ib0.0001
	// would carry 0x8001.
	if key := c.d.PKey; key != 0 && key&0x8000 == 0 || key == 0x8000 {
		f := finding.PKeyInvalid.Find("pkey = \"0x%04x\": bit 0x8000 is clear, or no partition is named.", key)
		if key != 0x8000 {
			f.WayOut = fmt.Sprintf("Write pkey = \"0x%04x\". Whether this port is a full or a limited member is said in the "+
				"subnet manager's partition.", key|0x8000)
		}
		c.add(f)
	}
	c.bondConfig()
	c.mtu()
	seen := map[netip.Addr]bool{}
	for _, p := range c.d.Config.Addresses {
		if problem := ipoib.AddressProblem(p); problem != "" {
			c.add(finding.AddressInvalid.Find("%s %s.", p, problem))
		} else if seen[p.Addr()] {
			c.add(finding.AddressInvalid.Find("%s is there twice.", p.Addr()))
		}
		seen[p.Addr()] = true
		if c.d.Config.DHCP4 && p.Addr().Is4() {
			c.add(finding.AddressInvalid.Find("%s is an address of IPv4, and dhcp4 = true asks a server for one.", p).
				WithWayOut("Leave one of the two out. Addresses of IPv6 may stay."))
		}
	}
	c.routes()
}

// routes checks that each route's gateway is in a subnet of the interface.
func (c *checker) routes() {
	seen := map[netip.Prefix]bool{}
	for _, r := range c.d.Config.Routes {
		// The kernel refuses a gateway that no subnet of an interface has ("Nexthop has invalid gateway").
		near := slices.ContainsFunc(c.d.Config.Addresses, func(p netip.Prefix) bool {
			return p.Masked().Contains(r.Via) && p.Addr() != r.Via
		})
		switch {
		case r.To.Addr().Is4() != r.Via.Is4():
			c.add(finding.RouteInvalid.Find("%s: one is of IPv4, the other of IPv6.", r))
		case seen[r.To]:
			c.add(finding.RouteInvalid.Find("%s: there is another route to %s.", r, r.To))
		case !near:
			f := finding.RouteInvalid.Find("%s: the gateway is in none of the subnets of the interface, which are %s.", r,
				ipconf.Join(maskPrefixes(c.d.Config.Addresses)))
			if c.d.Config.DHCP4 && r.Via.Is4() {
				f = finding.RouteInvalid.Find("%s: with dhcp4 the subnet of the gateway is not known. Use a fixed address.", r)
			}
			c.add(f)
		}
		seen[r.To] = true
	}
}

// maskPrefixes are the subnets of addresses.
func maskPrefixes(prefixes []netip.Prefix) []netip.Prefix {
	all := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.Masked()
	}
	return all
}

// mtu checks what the mode allows. What the fabric and the port allow is checked where they are known.
func (c *checker) mtu() {
	mtu, mode := c.d.Config.MTU, c.d.Config.Mode
	limit := ib.MaxMTU(ib.ModeDatagram, largestIBMTU)
	switch {
	case mtu == 0:
	case mtu < minMTU:
		c.add(finding.MTUUnfit.Find("mtu = %d.", mtu).WithWayOut("Use mtu = 1280 or more."))
	case mtu > ib.ConnectedMaxMTU:
		c.add(finding.MTUUnfit.Find("mtu = %d, which is %d more than %d.", mtu, mtu-ib.ConnectedMaxMTU,
			ib.ConnectedMaxMTU).WithWayOut("Use at most mtu = 65520 with mode = \"connected\"."))
	// Linux answers EINVAL without a word. netplan, NetworkManager and ifupdown accept such a file.
	case mode == ib.ModeDatagram && mtu > limit:
		f := finding.MTUUnfit.Find("mtu = %d with mode = \"datagram\": "+
			"datagram carries at most IB MTU − %d = %d − %d = %d bytes; %d is %d too many.",
			mtu, ib.DatagramOverhead, largestIBMTU, ib.DatagramOverhead, limit, mtu, mtu-limit)
		f.Summary = fmt.Sprintf("Refusing MTU %d in datagram mode", mtu)
		f.WayOut = fmt.Sprintf("%d needs mode = \"connected\". In datagram mode use mtu = %d, which works on every fabric, "+
			"or %d where the partition in infiniband_opensm has mtu = 4096.",
			mtu, ipoib.SafeDatagramMTU, limit)
		c.add(f)
	}
}

// bondConfig refuses what no bond can have.
func (c *checker) bondConfig() {
	switch bond := c.d.Bond; {
	case bond.Name == "":
	case c.d.PKey != 0:
		c.add(finding.BondUnfit.Find("bond = { name = %q } with pkey = \"0x%04x\".", bond.Name, c.d.PKey).
			WithWayOut("Leave one of the two out. The ports of a bond are those of the default partition."))
	case c.d.Config.DHCP4:
		c.add(finding.BondUnfit.Find("bond = { name = %q } with dhcp4 = true.", bond.Name).WithWayOut(
			"Use fixed addresses: the client identifier of a lease is the GUID of one port, and a bond has two."))
	case bond.Backup == c.d.PortGUID && !bond.Backup.IsZero():
		c.add(finding.BondUnfit.Find("backup_port_guid and port_guid are both %s.", bond.Backup).WithWayOut(
			"Name the other port of the host as backup_port_guid."))
	}
}
