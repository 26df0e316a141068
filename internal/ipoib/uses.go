package ipoib

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Uses names the interfaces of a port that are configured, now or for the next boot, by
// whomever.
func Uses(s *inventory.Snapshot, port ib.GUID) []string {
	keys := []uint16{0}
	if parent, ok := s.NetdevByPortGUID(port); ok {
		for i := range s.Netdevs {
			n := &s.Netdevs[i]
			key, err := strconv.ParseUint(strings.TrimPrefix(n.PKey, "0x"), 16, 16)
			if n.IB && n.Parent == parent.Name && err == nil {
				keys = append(keys, uint16(key))
			}
		}
	}
	var all []string
	for _, key := range keys {
		o := Observe(s, port, key)
		if how := o.configuredBy(); len(how) > 0 {
			all = append(all, fmt.Sprintf("%s (%s)", o.called(), strings.Join(how, "; ")))
		}
	}
	return all
}

// called is the interface as messages name it.
func (o Observation) called() string {
	if !o.Present {
		return "the configuration of an IPoIB interface"
	}
	return "IPoIB interface " + o.Name
}

// configuredBy says what an interface has now, and what configures it.
func (o Observation) configuredBy() []string {
	var how []string
	if len(o.Live.Addresses) > 0 {
		how = append(how, joinPrefixes(o.Live.Addresses))
	}
	if o.Persisted.Found {
		how = append(how, "infiniband_ipoib_interface: "+strings.Join(o.Persisted.Sources, ", "))
	}
	return append(how, lines(o.Unmanaged)...)
}
