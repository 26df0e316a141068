package planned

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// defaultGroup is the key of the default partition among groups: a P_Key without the bit of full members.
const defaultGroup = 0x7fff

// SetGroups remembers the MTUs in bytes of the broadcast groups that a subnet manager makes, by P_Key without the bit
// of full members; nil if they are not known. It returns the interfaces that were planned before it and need more.
func (p *Walk) SetGroups(sm attribute.PortRef, mtus map[uint16]int) (short []attribute.PortRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups[sm] = mtus
	for port, need := range p.needs {
		if mtu := mtus[groupOf(port)]; mtu != 0 && mtu < need {
			short = append(short, port)
		}
	}
	slices.SortFunc(short, func(a, b attribute.PortRef) int { return strings.Compare(a.String(), b.String()) })
	return short
}

// GroupMTU is what each subnet manager that was planned so far gives the broadcast group of an interface, and one of
// these managers, but for those on fabrics with another name. It is zero if they differ, or if that is not known of
// one. need is what the interface needs of the group, for managers that are planned later; zero if it shows that it
// has it.
func (p *Walk) GroupMTU(port attribute.PortRef, fabric string, need int) (mtu int, by attribute.PortRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.needs[port] = need
	for sm, on := range p.sms {
		if on.Fabric != "" && fabric != "" && on.Fabric != fabric {
			continue
		}
		own := p.groups[sm][groupOf(port)]
		if own == 0 || mtu != 0 && own != mtu {
			return 0, attribute.PortRef{}
		}
		if mtu == 0 || sm.String() < by.String() {
			mtu, by = own, sm
		}
	}
	return mtu, by
}

// groupOf is the key of the group of an interface.
func groupOf(port attribute.PortRef) uint16 {
	key, err := strconv.ParseUint(port.PKey, 0, 16)
	if err != nil {
		return defaultGroup // it has no P_Key of its own
	}
	return uint16(key) & defaultGroup
}
