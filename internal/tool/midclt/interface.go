package midclt

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// MaxMTU is the largest MTU that the API takes (TrueNAS 25.10, interface.update).
const MaxMTU = 9216

// Alias is one configured or live address. Entries of type LINK, which 25.10.0
// and 25.10.1 list among the live ones, are hardware addresses.
type Alias struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	Netmask int    `json:"netmask"`
}

// Prefix gives the address with its length; not ok if it is none.
func (a Alias) Prefix() (p netip.Prefix, ok bool) {
	addr, err := netip.ParseAddr(a.Address)
	if err != nil || a.Type == "LINK" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, a.Netmask), true
}

// Interface is one entry of interface.query. The upper fields are what is
// stored, State is what the kernel has.
type Interface struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Fake        bool    `json:"fake"` // stored, but there is no such device
	Type        string  `json:"type"`
	Aliases     []Alias `json:"aliases"`
	DHCP        bool    `json:"ipv4_dhcp"`
	IPv6Auto    bool    `json:"ipv6_auto"`
	Description string  `json:"description"`
	MTU         *int    `json:"mtu"`
	State       State   `json:"state"`
}

// State is the live half of an Interface.
type State struct {
	MTU     int      `json:"mtu"`
	Flags   []string `json:"flags"`
	Aliases []Alias  `json:"aliases"`
}

// Addresses returns the live addresses without link-local ones.
func (s State) Addresses() []netip.Prefix { return prefixes(s.Aliases) }

// Addresses returns the stored addresses.
func (i Interface) Addresses() []netip.Prefix { return prefixes(i.Aliases) }

func prefixes(aliases []Alias) []netip.Prefix {
	var all []netip.Prefix
	for _, a := range aliases {
		if p, ok := a.Prefix(); ok && !p.Addr().IsLinkLocalUnicast() {
			all = append(all, p)
		}
	}
	return all
}

// QueryInterfaces asks for the interfaces, as they are stored and as they are.
func QueryInterfaces() shellcmd.Command { return call("interface.query") }

// ParseInterfaces reads the answer of QueryInterfaces.
func ParseInterfaces(out []byte) ([]Interface, error) {
	var all []Interface
	if err := decode(out, &all); err != nil {
		return nil, err
	}
	for i, e := range all {
		if e.Name == "" {
			return nil, tool.Errorf(0, "", "entry %d of interface.query has no name", i)
		}
	}
	return all, nil
}

// NothingStored reports whether the middleware has no stored interface at all.
// It does not say so directly: without any row it answers that every interface
// uses DHCP and IPv6 autoconfiguration, which it allows only for one at most.
func NothingStored(all []Interface) bool {
	existing := slices.DeleteFunc(slices.Clone(all), func(i Interface) bool { return i.Fake })
	if len(existing) < len(all) || len(all) == 0 {
		return false // a fake entry exists only because it is stored
	}
	return !slices.ContainsFunc(all, func(i Interface) bool { return !i.DHCP || !i.IPv6Auto })
}

// Update is what interface.update stores.
type Update struct {
	Description *string  `json:"description,omitempty"`
	DHCP        bool     `json:"ipv4_dhcp"`
	IPv6Auto    bool     `json:"ipv6_auto"`
	Aliases     *[]Alias `json:"aliases,omitempty"`
	MTU         *int     `json:"mtu,omitempty"`
}

// Aliases spells addresses as the API wants them.
func Aliases(addresses []netip.Prefix) []Alias {
	all := make([]Alias, 0, len(addresses))
	for _, p := range addresses {
		kind := "INET"
		if p.Addr().Is6() {
			kind = "INET6"
		}
		all = append(all, Alias{Type: kind, Address: p.Addr().String(), Netmask: p.Bits()})
	}
	return all
}

// HasPendingChanges prints True if someone stored something and did not commit it.
func HasPendingChanges() shellcmd.Command { return call("interface.has_pending_changes") }

// CheckinWaiting prints the seconds left for a check-in, or null.
func CheckinWaiting() shellcmd.Command { return call("interface.checkin_waiting") }

// ParseWaiting reads the answer of CheckinWaiting; 0 means that nothing waits.
func ParseWaiting(out []byte) (int, error) {
	s := strings.TrimSpace(string(out))
	if s == "null" || s == "" || s == "None" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, tool.Errorf(1, s, "expected seconds or null")
	}
	return max(int(f), 1), nil
}

// QueryRows asks the datastore for the stored rows of all interfaces. It is a
// private method of the middleware; the public one does not say which interfaces
// are stored.
func QueryRows() shellcmd.Command { return call("datastore.query", "network.interfaces") }

// Row is one row of network.interfaces.
type Row struct {
	ID        int    `json:"id"`
	Interface string `json:"int_interface"`
	MTU       *int   `json:"int_mtu"`
}

// ParseRows reads the answer of QueryRows.
func ParseRows(out []byte) ([]Row, error) {
	var rows []Row
	err := decode(out, &rows)
	return rows, err
}
