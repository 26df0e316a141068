package tfkit

import "net/netip"

// PlannedIPoIB is what the interfaces of one subnet should have in common.
type PlannedIPoIB struct {
	Mode string
	MTU  int
}

// SetIPoIB remembers an IPoIB interface of the configuration, and returns those
// of the same subnets that were planned before it with another setting, one for
// each setting.
func (p *Planned) SetIPoIB(port PortRef, own PlannedIPoIB, addresses []netip.Prefix) map[PortRef]PlannedIPoIB {
	p.mu.Lock()
	defer p.mu.Unlock()
	others := map[PortRef]PlannedIPoIB{}
	for _, a := range addresses {
		subnet := a.Masked()
		if p.subnets[subnet] == nil {
			p.subnets[subnet] = map[PlannedIPoIB]PortRef{}
		}
		for setting, first := range p.subnets[subnet] {
			if setting != own && first != port {
				others[first] = setting
			}
		}
		if _, ok := p.subnets[subnet][own]; !ok {
			p.subnets[subnet][own] = port
		}
	}
	return others
}
