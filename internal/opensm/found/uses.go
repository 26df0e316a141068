package found

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// UsesOf are the ways to hosts, and those of hosts to their storage, that go over ports which the subnet manager at a
// LID has made Active, one phrase each. Fabrics have LIDs of their own: a port of another fabric may be among them.
func UsesOf(machines map[string]*inventory.Snapshot, lid uint16) (all []string) {
	for _, host := range slices.Sorted(maps.Keys(machines)) {
		s := machines[host]
		for _, dev := range s.SSH.Devs.Or(nil) {
			if isServed(s, dev, lid) {
				all = append(all, fmt.Sprintf("the SSH session to %s (%s)", host, dev))
			}
		}
		for _, dev := range s.Routes.Devs() {
			if isServed(s, dev, lid) {
				all = append(all, fmt.Sprintf("the default route of %s (%s)", host, dev))
			}
		}
		for _, st := range s.Storage {
			if st.RDMA != "" && hasServedPort(s, st.RDMA, lid) || isServed(s, st.Dev.Or(""), lid) {
				all = append(all, fmt.Sprintf("storage of %s (%s, %s)", host, st, st.Way()))
			}
		}
	}
	return all
}

// isServed reports whether an interface is one of such a port, or has one below it.
func isServed(s *inventory.Snapshot, dev string, lid uint16) bool {
	return slices.ContainsFunc(s.Below(dev), func(name string) bool {
		n, ok := s.Netdev(name)
		if !ok || !n.IB {
			return false
		}
		_, p, there := s.CardByPortGUID(n.PortGUID)
		return there && serves(p, lid)
	})
}

// hasServedPort reports whether an RDMA device has such a port.
func hasServedPort(s *inventory.Snapshot, device string, lid uint16) bool {
	for _, c := range s.Cards {
		if c.RDMADevice == device {
			return slices.ContainsFunc(c.Ports, func(p inventory.Port) bool { return serves(&p, lid) })
		}
	}
	return false
}

func serves(p *inventory.Port, lid uint16) bool {
	return p.LinkLayer == "InfiniBand" && p.State == "Active" && p.SMLID == lid
}
