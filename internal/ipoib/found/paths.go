package found

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// managementInterface is the interface that leads to the host: that of the SSH
// session, or else of the default route.
func managementInterface(s *inventory.Snapshot) string {
	if devs := s.SSH.Devs.Or(nil); len(devs) > 0 {
		return devs[0]
	}
	for _, r := range s.Routes.Default {
		if r.Dev != "" {
			return r.Dev
		}
	}
	return ""
}

// Management is the interface that leads to the host; empty if none is known.
func (l *Look) Management() string { return managementInterface(l.host.snap) }

// over says how a path by dev uses the interface; ok is false if it does not.
func over(s *inventory.Snapshot, dev, name string) (by string, ok bool) {
	switch {
	case dev == name:
		return "", true
	case slices.Contains(s.Below(dev), name):
		return ", by " + dev + " above it", true
	}
	return "", false
}

// SessionOver says what of the way to the host leads over an interface.
func (l *Look) SessionOver(name string) []string {
	s := l.host.snap
	var uses []string
	for _, dev := range s.SSH.Devs.Or(nil) {
		if by, ok := over(s, dev, name); ok {
			uses = append(uses, "the SSH session from "+s.SSH.Client+by)
		}
	}
	for _, dev := range s.Routes.Devs() {
		if by, ok := over(s, dev, name); ok {
			uses = append(uses, "the default route"+by)
		}
	}
	return uses
}

// StorageOver says which storage the host reaches over an interface.
func (l *Look) StorageOver(name string) []string {
	s := l.host.snap
	var uses []string
	for _, st := range s.Storage {
		if by, ok := over(s, st.Dev.Or(""), name); ok {
			what := st.Kind + " " + st.What
			if st.Where != "" {
				what += " on " + st.Where
			}
			uses = append(uses, what+by)
		}
	}
	return uses
}

// WhySessionUnknown says why the interfaces of the SSH session are not known; empty if they are.
func (l *Look) WhySessionUnknown() string { return l.host.snap.SSH.Devs.Why() }

// HiddenRoutes says what may carry the default route and is not known.
func (l *Look) HiddenRoutes() []string { return l.host.snap.HiddenRoutes() }

// StorageOfUnknownWay is the storage of which the interface is not known.
func (l *Look) StorageOfUnknownWay() (all []string) {
	for _, st := range l.host.snap.Storage {
		if !st.Dev.Known() {
			all = append(all, fmt.Sprintf("%s %s (%s)", st.Kind, st.What, st.Dev.Why()))
		}
	}
	return all
}

// DefaultRoute is a default route of the main table over another interface.
type DefaultRoute struct {
	Dev, Gateway string
	IPv6         bool
}

// OtherDefaultRoutes are those of the host over other interfaces.
func (l *Look) OtherDefaultRoutes() (all []DefaultRoute) {
	for _, r := range l.host.snap.Routes.Default {
		if r.Table == "" && r.Dev != l.Name {
			all = append(all, DefaultRoute{r.Dev, r.Gateway, strings.Contains(r.Gateway, ":")})
		}
	}
	return all
}

// OtherAddress is an address of another interface of the host.
type OtherAddress struct {
	Interface string
	Address   netip.Prefix
	IB        bool
	Leased    bool // by DHCP
	ref       ipoib.Ref
}

// OtherAddresses are the addresses of the other interfaces of the host, without those that stay on
// the host or its link.
func (l *Look) OtherAddresses() (all []OtherAddress) {
	for i := range l.host.snap.Netdevs {
		n := &l.host.snap.Netdevs[i]
		if n.Name == l.Name {
			continue
		}
		ref := ipoib.Ref{PortGUID: n.PortGUID}
		if n.Parent != "" {
			ref.PKey, _ = keyOf(n) // without one it is the interface of the port
		}
		for _, a := range n.Addresses {
			if !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() {
				all = append(all, OtherAddress{n.Name, a, n.IB, n.Dynamic[a], ref})
			}
		}
	}
	return all
}

// Giver is the port for which a definition of ours gives an interface its address.
func (l *Look) Giver(a OtherAddress) (ib.GUID, bool) {
	if owner := l.BondOwner(a.Interface); !owner.IsZero() {
		return owner, true
	}
	return a.ref.PortGUID, a.IB && l.Of(a.ref).Gives(a.Interface, a.Address)
}

// Gives reports whether our definition of the interface, which has that name, gives it an address.
func (l *Look) Gives(name string, address netip.Prefix) bool {
	return l.Name == name && slices.Contains(l.Persisted.Config.Addresses, address)
}

// MayBecomeIB reports whether an interface is one of InfiniBand, or of a card: an Ethernet port of
// that may become one.
func (l *Look) MayBecomeIB(name string) bool {
	_, _, ofCard := l.host.snap.CardByNetdev(name)
	n, ok := l.host.snap.Netdev(name)
	return ofCard || ok && n.IB
}

// ChildrenUp are the P_Key children of the interface that are up.
func (l *Look) ChildrenUp() (names []string) {
	for _, n := range l.host.snap.Netdevs {
		if n.IB && n.Parent == l.Name && n.Up {
			names = append(names, n.Name)
		}
	}
	return names
}

// IsLeased reports whether the interface has an address from DHCP.
func (l *Look) IsLeased(address netip.Prefix) bool {
	return l.Netdev != nil && l.Netdev.Dynamic[address]
}

// HostPort is a port that the host shows.
type HostPort struct {
	PCI, Driver string
	Number      int
	PortGUID    ib.GUID
	LinkLayer   string
	// Connected is true if an interface of the port can do connected mode, as far as that is known:
	// before there is an interface, the driver decides.
	Connected bool
}

// HostPorts are the ports of all cards.
func (l *Look) HostPorts() (all []HostPort) {
	for _, card := range l.host.snap.Cards {
		for _, p := range card.Ports {
			n, ok := l.host.snap.NetdevByPortGUID(p.PortGUID)
			ok = ok && !p.PortGUID.IsZero()
			all = append(all, HostPort{card.PCI.String(), card.Driver, p.Number, p.PortGUID, p.LinkLayer,
				ok && n.Connected || !ok && card.Driver != "mlx5_core"})
		}
	}
	return all
}

// IsDirectory reports whether a directory is where one of our files would be.
func (l *Look) IsDirectory(path string) bool { return l.host.snap.Directories[path] }
