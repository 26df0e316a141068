package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

// readNetdevs reads all interfaces from ip, and what only the kernel's files
// tell of IPoIB interfaces.
func readNetdevs(s *inventory.Snapshot, a *collect.Answer) error {
	run, ok := a.Runs["ip-addr"]
	if !ok {
		return in("ip addr", errors.New("ip of iproute2 is not installed"))
	}
	if run.Status != 0 {
		return in("ip addr", fmt.Errorf("ip ended with status %d: %s", run.Status, firstLine(run.Output)))
	}
	links, err := iproute.ParseLinks(run.Output)
	if err != nil {
		return in("ip addr", err)
	}
	for _, l := range links {
		n, err := netdev(l, a)
		if err != nil {
			return in("interface "+l.Name, err)
		}
		managers(&n, a)
		s.Netdevs = append(s.Netdevs, n)
	}
	s.Ifstate = ifupdown.ParseState(a.Files["/run/network/ifstate"])
	s.Undos, s.Saved = a.Undos, a.Saved
	slices.SortFunc(s.Netdevs, func(x, y inventory.Netdev) int { return cmp.Compare(x.Name, y.Name) })
	stack(s, links)
	inheritFromParents(s)
	return nil
}

// managers records who manages the interface, and its routes with gateways.
func managers(n *inventory.Netdev, a *collect.Answer) {
	// A file may say Unmanaged=yes (systemd.network(5)).
	if link, ok := a.Networkd[n.Index]; ok && link.State != "unmanaged" {
		n.NetworkdFile = link.File
	}
	if device, ok := a.NM[n.Index]; ok {
		n.NMKnown, n.NMManaged, n.NMProfile = true, device.Managed, device.Connection
	}
	for _, v := range a.Vias {
		if v.Dev == n.Name {
			n.Routes = append(n.Routes, inventory.Route{To: v.To, Via: v.Gateway})
		}
	}
}

// stack records what lies below each interface. A VLAN names the one below it. A port
// of a bond, a bridge or a VRF names the one above.
func stack(s *inventory.Snapshot, links []iproute.Link) {
	for _, l := range links {
		if upper, ok := s.Netdev(l.Name); ok && l.Parent != "" && l.Parent != l.Name {
			upper.Lower = append(upper.Lower, l.Parent)
		}
		if upper, ok := s.Netdev(l.Master); ok {
			upper.Lower = append(upper.Lower, l.Name)
		}
	}
}

func netdev(l iproute.Link, a *collect.Answer) (inventory.Netdev, error) {
	n := inventory.Netdev{
		Name: l.Name, IB: l.IsIPoIB(), MTU: l.MTU, Up: l.Up(), Carrier: l.Carrier(), Address: l.Address,
		Master: l.Master, Kind: l.Info.Kind, PKey: l.Info.Data.PKey, Mode: l.Info.Data.Mode, DevPort: -1, Index: l.Index,
		Active: l.Info.Data.Active,
	}
	for _, addr := range l.Addresses {
		// ParseLinks has read every address already.
		p, err := addr.Prefix()
		if err != nil {
			return n, err
		}
		n.Addresses = append(n.Addresses, p)
		if addr.Dynamic {
			if n.Dynamic == nil {
				n.Dynamic = map[netip.Prefix]bool{}
			}
			n.Dynamic[p] = true
		}
	}
	var err error
	if bdf, ok := a.Netdevs[l.Name]; ok {
		if n.PCI, err = ib.ParsePCIAddress(bdf); err != nil {
			return n, err
		}
		if n.DevPort, err = number(a, "/sys/bus/pci/devices/"+bdf+"/net/"+l.Name+"/dev_port", -1); err != nil {
			return n, err
		}
	}
	if !l.IsPort() {
		return n, nil
	}
	hw, err := iproute.ParseHardwareAddress(l.Address)
	if err != nil {
		return n, err
	}
	n.Connected, n.PortGUID, n.Parent, n.Virtual = hw.Connected, hw.PortGUID, l.Parent, virtualPorts(l.VFs)
	dir := "/sys/class/net/" + l.Name + "/"
	// Children made over netlink have neither file; ip tells of them.
	// sysfs first: older iproute2 does not print the mode.
	n.Mode = cmp.Or(a.Values[dir+"mode"].Text, n.Mode)
	n.PKey = cmp.Or(a.Values[dir+"pkey"].Text, n.PKey)
	n.Parent = cmp.Or(a.Values[dir+"parent"].Text, n.Parent)
	if n.Parent == l.Name {
		n.Parent = ""
	}
	if n.DevPort < 0 {
		n.DevPort, err = number(a, dir+"dev_port", -1)
	}
	return n, err
}

// virtualPorts are those of which ip shows both GUIDs.
func virtualPorts(vfs []iproute.VF) map[int]inventory.VirtualPort {
	if len(vfs) == 0 {
		return nil
	}
	all := map[int]inventory.VirtualPort{}
	for _, vf := range vfs {
		node, err1 := ib.ParseGUID(vf.NodeGUID)
		port, err2 := ib.ParseGUID(vf.PortGUID)
		if err1 == nil && err2 == nil {
			all[vf.Number] = inventory.VirtualPort{Node: node, Port: port, LinkState: vf.State}
		}
	}
	return all
}

// inheritFromParents gives P_Key children the card and the port of the
// interface that they were made from.
func inheritFromParents(s *inventory.Snapshot) {
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		parent, ok := s.Netdev(n.Parent)
		if !ok || !n.IB {
			continue
		}
		if !n.PCI.IsValid() {
			n.PCI = parent.PCI
		}
		n.DevPort = parent.DevPort
	}
}

// number reads a decimal or hexadecimal number; absent if the file is not there.
func number(a *collect.Answer, path string, absent int) (int, error) {
	v, ok := a.Values[path]
	if !ok {
		return absent, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v.Text), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("line %d: %s is %q, want a number", v.Line, path, v.Text)
	}
	return int(n), nil
}

const routes6 = "/proc/net/ipv6_route"

// readRoutes reads the default routes of both families and the way to the
// operator.
func readRoutes(s *inventory.Snapshot, a *collect.Answer) error {
	run, ok := a.Runs["ip-route"]
	if !ok || run.Status != 0 {
		// Without the answer nothing can be said about what a change cuts off.
		return in("ip-route", fmt.Errorf("ip ended with status %d: %s", run.Status, firstLine(run.Output)))
	}
	routes, err := iproute.ParseRoutes(run.Output)
	if err != nil {
		return in("ip-route", err)
	}
	for _, r := range routes {
		addRoute(s, r)
	}
	// Half of the routes are not a smaller risk: the missing one may be the session's.
	if a.Denied[routes6] {
		return in("ip-route", errors.New(routes6+" could not be read"))
	}
	for _, r := range a.Routes6 {
		gateway := ""
		if !r.Gateway.IsUnspecified() {
			gateway = r.Gateway.String()
		}
		s.Routes.Default = append(s.Routes.Default, inventory.DefaultRoute{Dev: r.Dev, Gateway: gateway})
	}
	// The kernel lists tables by a hash. Those of the main one come first.
	slices.SortStableFunc(s.Routes.Default, func(x, y inventory.DefaultRoute) int { return cmp.Compare(x.Table, y.Table) })
	s.SSH = sshPath(s, a)
	return nil
}

// addRoute adds the interfaces of a route that leads somewhere. One of type "local" or
// "unreachable" leads to the host itself or nowhere.
func addRoute(s *inventory.Snapshot, r iproute.Route) {
	if r.Type != "" {
		return
	}
	// A route of several ways has no interface of its own.
	for _, hop := range append(r.Nexthops, iproute.Nexthop{Dev: r.Dev, Gateway: r.Gateway}) {
		if hop.Dev != "" {
			s.Routes.Default = append(s.Routes.Default,
				inventory.DefaultRoute{Dev: hop.Dev, Gateway: hop.Gateway, Table: r.Table})
		}
	}
}
