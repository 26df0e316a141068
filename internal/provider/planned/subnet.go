package planned

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// Gone is an IPoIB interface that is removed before another one takes its place.
type Gone struct {
	attribute.PortRef
	Bond string // its name; empty of another interface
}

// ReplaceIPoIB remembers that an interface is removed before another one takes its place
// in the configuration. Core plans a replacement twice, and the second time without the
// state of what is removed.
func (p *Walk) ReplaceIPoIB(old Gone, by attribute.PortRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced[by] = old
}

// ReplacedIPoIB gives the interface that is removed before the one of a port is made.
func (p *Walk) ReplacedIPoIB(by attribute.PortRef) (old Gone, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok = p.replaced[by]
	return old, ok
}

// IPoIBIsReplaced reports whether an interface is removed before another one is made, of the
// interfaces that were planned so far.
func (p *Walk) IPoIBIsReplaced(old attribute.PortRef) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for by, was := range p.replaced {
		if was.PortRef == old && by != old {
			return true
		}
	}
	return false
}

// Neighbour is another interface of the configuration, and what of it is in the way.
type Neighbour struct {
	Port    attribute.PortRef
	Address netip.Prefix // of the other interface
}

// SetAddresses remembers the addresses of an IPoIB interface of the configuration.
// It returns interfaces of the same host with a subnet that overlaps, and of other
// hosts with one of the addresses, of those that were planned before it.
func (p *Walk) SetAddresses(port attribute.PortRef, addresses []netip.Prefix) (overlap, same []Neighbour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, old := range p.addresses[port.Host][port] {
		if p.holders[old.Addr()] == port {
			delete(p.holders, old.Addr())
		}
	}
	for other, theirs := range p.addresses[port.Host] {
		for _, a := range theirs {
			if other != port && slices.ContainsFunc(addresses, a.Overlaps) {
				overlap = append(overlap, Neighbour{other, a})
			}
		}
	}
	if p.addresses[port.Host] == nil {
		p.addresses[port.Host] = map[attribute.PortRef][]netip.Prefix{}
	}
	p.addresses[port.Host][port] = addresses
	for _, a := range addresses {
		holder, held := p.holders[a.Addr()]
		switch {
		case !held:
			p.holders[a.Addr()] = port
		case holder.Host != port.Host:
			same = append(same, Neighbour{holder, a})
		}
	}
	slices.SortFunc(overlap, func(a, b Neighbour) int { return strings.Compare(a.Port.String(), b.Port.String()) })
	return overlap, same
}

// IPoIBOn gives the interfaces of the configuration that were planned so far on a port of a host,
// those of its partitions too.
func (p *Walk) IPoIBOn(host string, port ib.GUID) []attribute.PortRef {
	p.mu.Lock()
	defer p.mu.Unlock()
	var on []attribute.PortRef
	for ref := range p.addresses[host] {
		if ref.GUID == port {
			on = append(on, ref)
		}
	}
	slices.SortFunc(on, func(a, b attribute.PortRef) int { return strings.Compare(a.String(), b.String()) })
	return on
}
