package network

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// addRoute sets a route with a gateway, with the kernel's answers.
func (s *State) addRoute(dev string, r labsim.Route, replace bool) (refused string) {
	if dev == "" {
		for _, d := range s.m.Netdevs() {
			if holds(&d, r.Via) {
				dev = d.Name
			}
		}
	}
	refused = "Cannot find device \"" + dev + "\""
	s.m.UpdateNetdev(dev, func(d *labsim.Netdev) {
		at := slices.IndexFunc(d.Routes, func(o labsim.Route) bool { return o.To == r.To })
		switch {
		case !d.Up:
			refused = "RTNETLINK answers: Network is down"
		case !holds(d, r.Via):
			refused = "Error: Nexthop has invalid gateway."
		case at >= 0 && !replace:
			refused = "RTNETLINK answers: File exists"
		case at >= 0:
			d.Routes[at], refused = r, ""
		default:
			d.Routes, refused = append(d.Routes, r), ""
		}
	})
	return refused
}

func (s *State) delRoute(dev string, r labsim.Route) (refused string) {
	refused = "RTNETLINK answers: No such process"
	for _, d := range s.m.Netdevs() {
		if dev != "" && d.Name != dev {
			continue
		}
		s.m.UpdateNetdev(d.Name, func(d *labsim.Netdev) {
			n := len(d.Routes)
			d.Routes = slices.DeleteFunc(d.Routes, func(o labsim.Route) bool { return o.To == r.To && o.Via == r.Via })
			if len(d.Routes) < n {
				refused = ""
			}
		})
	}
	return refused
}

// pruneRoutes drops routes whose gateway the interface does not reach any more,
// as the kernel does when an address or the link goes.
func pruneRoutes(d *labsim.Netdev) {
	d.Routes = slices.DeleteFunc(d.Routes, func(r labsim.Route) bool {
		return !d.Up || !holds(d, r.Via)
	})
}

// installTables makes the kernel's tables of routes.
func (s *State) installTables() {
	s.m.FS.PutDynamic("/proc/net/route", 0o444, func() (string, error) { return s.table4(), nil }, nil)
	s.m.FS.PutDynamic("/proc/net/ipv6_route", 0o444, func() (string, error) { return s.table6(), nil }, nil)
}

func little(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("%02X%02X%02X%02X", b[3], b[2], b[1], b[0])
}

func netmask(bits int) netip.Addr {
	var b [4]byte
	for i := range bits {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// table4 is /proc/net/route: lines of 127 characters, padded.
func (s *State) table4() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "%-127s\n", fmt.Sprintf(format, args...)) }
	line("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT")
	entry := func(dev string, to netip.Prefix, via netip.Addr, flags int) {
		line("%s\t%s\t%s\t%04X\t0\t0\t0\t%s\t0\t0\t0", dev, little(to.Addr()), little(via), flags, little(netmask(to.Bits())))
	}
	none := netip.IPv4Unspecified()
	if gw, dev := s.DefaultRoute(); gw.IsValid() && gw.Is4() {
		entry(dev, netip.PrefixFrom(none, 0), gw, 3)
	}
	for _, d := range s.m.Netdevs() {
		if !d.Up || d.Type == labsim.TypeLoopback {
			continue
		}
		for _, r := range d.Routes {
			if r.To.Addr().Is4() {
				entry(d.Name, r.To, r.Via, 3)
			}
		}
		for _, a := range d.Addrs {
			if a.Addr().Is4() {
				entry(d.Name, a.Masked(), none, 1)
			}
		}
	}
	return b.String()
}

// table6 is /proc/net/ipv6_route.
func (s *State) table6() string {
	var b strings.Builder
	digits := func(a netip.Addr) string { x := a.As16(); return hex.EncodeToString(x[:]) }
	entry := func(dev string, to netip.Prefix, via netip.Addr, metric, users, flags int) {
		fmt.Fprintf(&b, "%s %02x %s 00 %s %08x %08x 00000000 %08x %8s\n",
			digits(to.Addr()), to.Bits(), digits(netip.IPv6Unspecified()), digits(via), metric, users, flags, dev)
	}
	local := func() {
		for _, d := range s.m.Netdevs() {
			for _, a := range d.Addrs {
				if a.Addr().Is6() && d.Up && d.Type != labsim.TypeLoopback {
					entry(d.Name, netip.PrefixFrom(a.Addr(), 128), netip.IPv6Unspecified(), 0, 2, 0x80200001)
				}
			}
		}
	}
	none := netip.IPv6Unspecified()
	for _, d := range s.m.Netdevs() {
		if !d.Up || d.Type == labsim.TypeLoopback {
			continue
		}
		for _, a := range d.Addrs {
			if a.Addr().Is6() {
				entry(d.Name, a.Masked(), none, 0x100, 1, 1)
			}
		}
		for _, r := range d.Routes {
			if r.To.Addr().Is6() {
				entry(d.Name, r.To, r.Via, 0x400, 1, 3)
			}
		}
	}
	entry("lo", netip.PrefixFrom(none, 0), none, 0x400, 1, 0x200200)
	local()
	return b.String()
}
