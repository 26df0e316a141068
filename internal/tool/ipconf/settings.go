package ipconf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Settings are what an IPoIB interface is configured with. A file, the kernel and a
// configuration say them in the same form.
type Settings struct {
	Mode ib.IPoIBMode
	MTU  int // bytes; zero if nothing says it
	// DHCP4 is true if a DHCP server gives the IPv4 address. Addresses then hold those of IPv6.
	DHCP4     bool
	Addresses []netip.Prefix
	Routes    []Route
}

// Sorted is the same with addresses and routes in order.
func (s Settings) Sorted() Settings {
	s.Addresses, s.Routes = SortedAddresses(s.Addresses), SortedRoutes(s.Routes)
	return s
}

// Same reports whether two say the same, in whatever order.
func (s Settings) Same(other Settings) bool {
	return s.Mode == other.Mode && s.MTU == other.MTU && s.DHCP4 == other.DHCP4 &&
		SameAddresses(s.Addresses, other.Addresses) && SameRoutes(s.Routes, other.Routes)
}

// Words are all settings in one line; what is not said is named, too.
func (s Settings) Words() string {
	parts := []string{"no mode", "no MTU"}
	if s.Mode != "" {
		parts[0] = s.Mode.String()
	}
	if s.MTU != 0 {
		parts[1] = fmt.Sprintf("MTU %d", s.MTU)
	}
	if s.DHCP4 {
		parts = append(parts, "DHCP")
	}
	if len(s.Addresses) > 0 {
		parts = append(parts, Join(SortedAddresses(s.Addresses)))
	}
	if len(s.Routes) > 0 {
		parts = append(parts, "routes "+Join(s.Routes))
	}
	return strings.Join(parts, ", ")
}

// InBrackets is what a file says of an interface, " (mode connected, MTU 65520)"; empty if it
// says nothing.
func (i Interface) InBrackets() string {
	var parts []string
	if i.Mode != "" {
		parts = append(parts, "mode "+i.Mode.String())
	}
	if i.MTU != 0 {
		parts = append(parts, fmt.Sprintf("MTU %d", i.MTU))
	}
	if len(i.Addresses) > 0 {
		parts = append(parts, "addresses "+Join(i.Addresses))
	}
	if len(i.Routes) > 0 {
		parts = append(parts, "routes "+Join(i.Routes))
	}
	if i.DHCP {
		parts = append(parts, "DHCP")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// SortedAddresses returns the addresses in their order.
func SortedAddresses(addresses []netip.Prefix) []netip.Prefix {
	all := slices.Clone(addresses)
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return all
}

// SortedRoutes returns the routes in order of their text.
func SortedRoutes(routes []Route) []Route {
	all := slices.Clone(routes)
	slices.SortFunc(all, func(a, b Route) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// SameAddresses reports whether two lists have the same addresses, in whatever order.
func SameAddresses(a, b []netip.Prefix) bool {
	return slices.Equal(SortedAddresses(a), SortedAddresses(b))
}

// SameRoutes reports whether two lists have the same routes, in whatever order.
func SameRoutes(a, b []Route) bool { return slices.Equal(SortedRoutes(a), SortedRoutes(b)) }

// Global drops link-local addresses, which the kernel adds and removes itself, and sorts the rest.
func Global(addresses []netip.Prefix) []netip.Prefix {
	return SortedAddresses(slices.DeleteFunc(slices.Clone(addresses),
		func(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() }))
}

// Without are the addresses or routes of a list that another one does not have.
func Without[T comparable](all, drop []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return slices.Contains(drop, one) })
}

// Join lists addresses or routes; "none" without any.
func Join[T fmt.Stringer](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = one.String()
	}
	return strings.Join(words, ", ")
}
