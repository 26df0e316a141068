package network

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// SetLink sets an interface up or down with what the kernel does by itself:
// IPv6 addresses go when it goes down, a datagram interface takes the broadcast
// group's MTU when it joins.
func (s *State) SetLink(name string, up bool) bool {
	ok := s.m.UpdateNetdev(name, func(d *labsim.Netdev) {
		d.Up = up
		if !up {
			d.Addrs = slices.DeleteFunc(d.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })
			pruneRoutes(d)
		}
	})
	if d, found := s.m.Netdev(name); found && up && d.Kind == "" && d.Type == labsim.TypeInfiniBand && d.Mode == labsim.ModeDatagram {
		_ = s.m.SetMTU(name, d.AdminMTU)
	}
	if d, found := s.m.Netdev(name); found {
		s.m.SettleBond(d.Master)
		if d.Kind == labsim.KindBond {
			s.m.SettleBond(name)
		}
	}
	s.refreshLinkLocal()
	return ok
}

// refreshLinkLocal gives interfaces with carrier their link-local address.
func (s *State) refreshLinkLocal() {
	for _, d := range s.m.Netdevs() {
		ll, ok := linkLocal(&d)
		if !ok || !d.Up || !s.m.Carrier(&d) || s.noLinkLocal(d.Name) || slices.Contains(d.Addrs, ll) {
			continue
		}
		s.m.UpdateNetdev(d.Name, func(n *labsim.Netdev) { n.Addrs = append(n.Addrs, ll) })
	}
}

// noLinkLocal says whether networkd was told not to have link-local addresses.
func (s *State) noLinkLocal(name string) bool {
	if n := s.networkFor(name); n != nil {
		return n.Last("Network.LinkLocalAddressing") == "no"
	}
	return false
}

// linkLocal is the EUI-64 address: the port GUID, or the MAC with fffe inside,
// with the universal bit turned over.
func linkLocal(d *labsim.Netdev) (netip.Prefix, bool) {
	var id []byte
	switch {
	case d.Type == labsim.TypeInfiniBand && len(d.Address) == 20:
		id = append(id, d.Address[12:]...)
	case d.Type == labsim.TypeEthernet && len(d.Address) == 6 && d.Port != nil:
		id = append(append(append(id, d.Address[:3]...), 0xff, 0xfe), d.Address[3:]...)
	default:
		return netip.Prefix{}, false
	}
	id[0] ^= 2
	a := [16]byte{0xfe, 0x80}
	copy(a[8:], id)
	return netip.PrefixFrom(netip.AddrFrom16(a), 64), true
}

func isLinkLocal(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() }

var (
	ErrAddrExists = errors.New("address already assigned")
	errAddrGone   = errors.New("address not found")
	ErrNoDevice   = errors.New("no such device")
)

func (s *State) AddAddr(name string, p netip.Prefix) error {
	err := ErrNoDevice
	s.m.UpdateNetdev(name, func(d *labsim.Netdev) {
		if slices.ContainsFunc(d.Addrs, func(q netip.Prefix) bool { return p.Addr() == q.Addr() }) {
			err = ErrAddrExists
			return
		}
		err = nil
		// IPv4 addresses come before IPv6 ones in every listing.
		at := len(d.Addrs)
		if p.Addr().Is4() {
			at = slices.IndexFunc(d.Addrs, func(q netip.Prefix) bool { return q.Addr().Is6() })
			if at < 0 {
				at = len(d.Addrs)
			}
		}
		d.Addrs = slices.Insert(d.Addrs, at, p)
	})
	return err
}

// addLeased is AddAddr of an address that DHCP has given.
func (s *State) addLeased(name string, p netip.Prefix) {
	if s.AddAddr(name, p) == nil {
		s.m.UpdateNetdev(name, func(d *labsim.Netdev) { d.Leased = append(d.Leased, p) })
	}
}

// fabricLease asks the DHCP server of the fabric. It knows an interface by its port GUID, which the
// client identifier has to be: the hardware address does not fit into the message (RFC 4390).
func (s *State) fabricLease(name, clientID string) (lease []netip.Prefix, gateway netip.Addr) {
	d, ok := s.m.Netdev(name)
	if !ok || d.Type != labsim.TypeInfiniBand || clientID != "mac" || !s.m.Carrier(&d) {
		return nil, netip.Addr{}
	}
	p := s.m.Lab.DHCPLease(d.Port.View().GUID)
	if !p.IsValid() {
		return nil, netip.Addr{}
	}
	return []netip.Prefix{p}, p.Masked().Addr().Next()
}

func (s *State) DelAddr(name string, p netip.Prefix) error {
	err := ErrNoDevice
	s.m.UpdateNetdev(name, func(d *labsim.Netdev) {
		err = errAddrGone
		if i := slices.Index(d.Addrs, p); i >= 0 {
			d.Addrs = slices.Delete(d.Addrs, i, i+1)
			pruneRoutes(d)
			err = nil
		}
	})
	return err
}

// Broadcast is the last address of an IPv4 network.
func Broadcast(p netip.Prefix) string {
	if !p.Addr().Is4() || p.Bits() > 30 || p.Addr().IsLoopback() {
		return ""
	}
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b).String()
}

// DefaultRoute returns the gateway and its interface.
func (s *State) DefaultRoute() (gw netip.Addr, dev string) {
	for _, d := range s.m.Netdevs() {
		if d.Gateway.IsValid() && d.Up {
			return d.Gateway, d.Name
		}
	}
	return netip.Addr{}, ""
}

// SetDefault makes gw the default route through the interface whose network
// holds it; an invalid address removes the route.
func (s *State) SetDefault(gw netip.Addr) {
	for _, d := range s.m.Netdevs() {
		s.m.UpdateNetdev(d.Name, func(n *labsim.Netdev) {
			n.Gateway = netip.Addr{}
			if gw.IsValid() && holds(&d, gw) {
				n.Gateway = gw
			}
		})
	}
}

// Route finds the interface and source address for a destination.
func (s *State) Route(dst netip.Addr) (dev labsim.Netdev, src, via netip.Addr, ok bool) {
	for _, d := range s.m.Netdevs() {
		for _, p := range d.Addrs {
			if d.Up && p.Masked().Contains(dst) {
				return d, p.Addr(), netip.Addr{}, true
			}
		}
	}
	for _, d := range s.m.Netdevs() {
		for _, r := range d.Routes {
			if d.Up && r.To.Contains(dst) {
				_, src, _, _ = s.Route(r.Via)
				return d, src, r.Via, true
			}
		}
	}
	gw, name := s.DefaultRoute()
	d, found := s.m.Netdev(name)
	if !found || dst.Is6() {
		return labsim.Netdev{}, netip.Addr{}, netip.Addr{}, false
	}
	for _, p := range d.Addrs {
		if p.Masked().Contains(gw) {
			return d, p.Addr(), gw, true
		}
	}
	return d, netip.Addr{}, gw, true
}

func (s *State) LocalAddr(a netip.Addr) bool {
	return slices.ContainsFunc(s.m.Netdevs(), func(d labsim.Netdev) bool { return HasAddr(&d, a) })
}

// rides returns the interface that an SSH session comes in by. The lab's
// sessions really use the loopback, which no route may show.
func (s *State) rides(p *labsim.Proc, dst netip.Addr) (labsim.Netdev, bool) {
	client, _, _ := strings.Cut(p.Getenv("SSH_CONNECTION"), " ")
	if p.Session != nil {
		client = p.Session.ClientAddr
	}
	if client != dst.String() {
		return labsim.Netdev{}, false
	}
	for _, d := range s.m.Netdevs() {
		if d.SSH {
			return d, true
		}
	}
	return labsim.Netdev{}, false
}
