package ipoib

import "net/netip"

// AddressProblem says why an interface cannot have an address; empty if it can.
func AddressProblem(p netip.Prefix) string {
	a := p.Addr()
	switch {
	case !p.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback():
		return "is not the address of a host"
	case a.Is4In6():
		return "is an IPv4 address in the writing of IPv6; write " + netip.PrefixFrom(a.Unmap(), max(p.Bits()-96, 0)).String()
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "is the broadcast address of all networks"
	case a.IsLinkLocalUnicast():
		return "is a link-local address; the kernel gives those itself"
	case a.Is4() && p.Bits() < 31 && (p.Masked().Addr() == a || broadcast(p) == a):
		return "is the network or broadcast address of " + p.Masked().String()
	}
	return ""
}

// broadcast gives the last address of an IPv4 network.
func broadcast(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(b)
}
