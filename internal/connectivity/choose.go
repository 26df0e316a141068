package connectivity

import (
	"fmt"
	"net/netip"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Choose picks the two ends: interfaces and addresses that are asked for, else
// those of one subnet and P_Key, InfiniBand before others, else the first that the
// hosts have, whose difference is then reported. to is nil if that host is not
// managed; the address must be given then.
func Choose(from, to *inventory.Snapshot, w Request) Pair {
	best, found := Pair{}, -1
	for _, a := range ends(from, w.FromInterface, w) {
		for _, b := range others(to, w) {
			p := Pair{From: a, To: b, ToKnown: to != nil, Addr: w.Address}
			if !p.Addr.IsValid() && b.Address.IsValid() {
				p.Addr = b.Address.Addr()
			}
			// Greater, not equal: the first in the order of the host stays, so that two looks choose the same.
			if score := p.score(); score > found {
				best, found = p, score
			}
		}
	}
	return best
}

// others are the possible ends on the other host.
func others(to *inventory.Snapshot, w Request) []End {
	if to == nil {
		return []End{{}}
	}
	all := ends(to, w.ToInterface, w)
	if !w.Address.IsValid() {
		return all
	}
	for _, e := range all {
		if e.Address.Addr() == w.Address {
			return []End{e}
		}
	}
	return []End{{Host: to.Host}} // nobody has it: reported
}

// ends are the interfaces of a host with their addresses; at least one, which is
// empty if there is no such interface.
func ends(s *inventory.Snapshot, name string, w Request) []End {
	var all []End
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		if name != "" && n.Name != name || name == "" && !n.IB && !w.Address.IsValid() {
			continue
		}
		e := End{Host: s.Host, Netdev: n}
		e.Card, e.Port, _ = s.CardByNetdev(n.Name)
		addresses := w.addresses(n)
		if len(addresses) == 0 {
			addresses = []netip.Prefix{{}}
		}
		for _, e.Address = range addresses {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		all = []End{{Host: s.Host, Asked: name, Has: infiniband(s)}}
	}
	return all
}

// infiniband names the IPoIB interfaces of a host with their ports, which keep
// their GUIDs where names change.
func infiniband(s *inventory.Snapshot) []string {
	var all []string
	for _, n := range s.Netdevs {
		if n.IB {
			all = append(all, fmt.Sprintf("%s (port %s)", n.Name, n.PortGUID))
		}
	}
	return all
}

// addresses are those of the wanted family.
func (w Request) addresses(n *inventory.Netdev) []netip.Prefix {
	var all []netip.Prefix
	for _, a := range n.Addresses {
		if a.Addr().Is6() == (w.IPv6 || w.Address.Is6()) && !a.Addr().IsLoopback() {
			all = append(all, a)
		}
	}
	return all
}

// score says how well two ends fit; the first of equals is taken.
// The subnet weighs most, then InfiniBand at this end and at the other; the rest decides between equals.
func (p Pair) score() int {
	n := 0
	add := func(ok bool, points int) {
		if ok {
			n += points
		}
	}
	add(p.Addr.IsValid() && p.From.Address.IsValid() && p.From.Address.Masked().Contains(p.Addr), 32)
	add(p.From.Netdev != nil && p.From.Netdev.IB, 16)
	add(p.To.Netdev != nil && p.To.Netdev.IB, 8)
	add(p.From.Address.IsValid(), 4)
	add(p.Addr.IsValid(), 4)
	add(p.From.Netdev != nil && p.To.Netdev != nil && p.From.Netdev.PKey == p.To.Netdev.PKey, 2)
	add(p.From.Netdev != nil && p.From.Netdev.Carrier, 1)
	return n
}
