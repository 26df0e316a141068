// Package ipconf holds what the configuration file of every network stack says
// of one IPoIB interface, in one form.
//
// It must not know the syntax of any of them, nor run anything.
package ipconf

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Route is one static route.
type Route = inventory.Route

// Interface is one interface as a file describes it.
type Interface struct {
	Name    string // empty if the file matches by hardware address only
	Address string // hardware address that the file matches; empty if by name
	Parent  string // of a P_Key child, the interface it is made from
	PKey    uint16 // zero for the parent interface of a port

	Settings
	DHCP bool // of either family
}

// PortGUID is the port of the hardware address that a file matches: its last 8
// bytes; zero if it matches none.
func (i Interface) PortGUID() ib.GUID {
	const tail = 8*3 - 1
	if len(i.Address) < tail {
		return 0
	}
	guid, err := ib.ParseGUID(i.Address[len(i.Address)-tail:])
	if err != nil {
		return 0
	}
	return guid
}

// ParseRoute reads a destination and its gateway; the words "default" and, of
// one family only, "0/0" stand for the default route.
func ParseRoute(to, via string) (Route, error) {
	gateway, err := netip.ParseAddr(via)
	if err != nil {
		return Route{}, fmt.Errorf("gateway %q: %w", via, err)
	}
	if to == "" || to == "default" {
		return Route{To: netip.PrefixFrom(zero(gateway), 0), Via: gateway}, nil
	}
	if !strings.Contains(to, "/") {
		a, addrErr := netip.ParseAddr(to)
		if addrErr != nil {
			return Route{}, fmt.Errorf("destination %q: %w", to, addrErr)
		}
		return Route{To: netip.PrefixFrom(a, a.BitLen()), Via: gateway}, nil
	}
	p, err := netip.ParsePrefix(to)
	if err != nil {
		return Route{}, fmt.Errorf("destination %q: %w", to, err)
	}
	return Route{To: p.Masked(), Via: gateway}, nil
}

func zero(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// Split separates addresses by family.
func Split(addresses []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, a := range addresses {
		if a.Addr().Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	return v4, v6
}

// MaskBits gives the prefix length of an IPv4 netmask, of a number, or of
// nothing, which is that of the address's class.
func MaskBits(mask string, a netip.Addr) (int, error) {
	if mask == "" {
		switch first := a.As4()[0]; {
		case first < 128:
			return 8, nil
		case first < 192:
			return 16, nil
		}
		return 24, nil
	}
	m, err := netip.ParseAddr(mask)
	if err != nil {
		bits, numErr := strconv.Atoi(mask)
		if numErr != nil {
			return 0, fmt.Errorf("netmask %q: %w", mask, err)
		}
		return bits, nil
	}
	if !m.Is4() {
		return 0, fmt.Errorf("netmask %q is not one of IPv4", mask)
	}
	ones, bits := net.IPMask(m.AsSlice()).Size()
	if bits == 0 {
		return 0, fmt.Errorf("netmask %q is not contiguous", mask)
	}
	return ones, nil
}
