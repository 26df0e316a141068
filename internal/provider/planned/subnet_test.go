package planned

import (
	"net/netip"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func TestPlanned_addresses(t *testing.T) {
	p := NewWalk()
	set := func(host string, guid ib.GUID, address string) (overlap, same []Neighbour) {
		return p.SetAddresses(attribute.PortRef{Host: host, GUID: guid}, []netip.Prefix{netip.MustParsePrefix(address)})
	}
	for _, c := range []struct {
		host          string
		guid          ib.GUID
		address       string
		overlap, same int
	}{
		{"a", 1, "172.16.0.1/24", 0, 0},
		{"a", 1, "172.16.0.1/24", 0, 0},  // planned twice
		{"b", 1, "172.16.0.2/24", 0, 0},  // the same subnet
		{"b", 2, "172.16.1.2/24", 0, 0},  // another subnet
		{"b", 3, "172.16.0.3/25", 1, 0},  // overlaps that of port 1
		{"c", 1, "172.16.0.1/24", 0, 1},  // host a has it
		{"a", 1, "172.16.0.77/24", 0, 0}, // gives it up
		{"d", 1, "172.16.0.1/24", 0, 0},
	} {
		overlap, same := set(c.host, c.guid, c.address)
		if len(overlap) != c.overlap || len(same) != c.same {
			t.Errorf("%s port %d with %s: overlap %v, same %v", c.host, c.guid, c.address, overlap, same)
		}
	}
}
