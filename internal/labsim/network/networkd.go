package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// network is a .network file as systemd-networkd 255 reads it.
type network struct {
	systemd.UnitFile
	routes []map[string]string
	stamp  string // of the file and its drop-ins: path, inode and time
}

// networkSections are those that networkd knows; [IPoIB] is not one of them, so
// a mode written there has no effect and only a line in the journal says so.
var networkSections = map[string]bool{"Match": true, "Link": true, "Network": true, "Address": true, "Route": true,
	"DHCP": true, "DHCPv4": true, "DHCPv6": true}

// loadNetworks reads the .network files, as networkd does at start and reload.
func (s *State) loadNetworks() {
	var list []*network
	for _, file := range s.m.FS.Overlay("/run/systemd/network/*.network", "/etc/systemd/network/*.network") {
		list = append(list, s.withDropIns(s.parseNetwork(file), path.Base(file)))
	}
	s.mu.Lock()
	s.networks = list
	s.mu.Unlock()
	s.makeBonds()
}

func (s *State) parseNetwork(file string) *network {
	n := &network{UnitFile: systemd.UnitFile{Path: file, Values: map[string][]string{}}}
	if info, err := s.m.FS.Stat(vfs.Root, file, true); err == nil {
		n.stamp = fmt.Sprintf("%s %d %d\n", file, info.Ino, info.Modified.UnixNano())
	}
	for _, e := range systemd.ReadEntries(s.m.FS.Text(file), "#;") {
		head := e.Text[0] == '['
		switch key := e.Section + "." + e.Key; {
		case head && !networkSections[e.Section]:
			s.networkdLog(fmt.Sprintf("%s:%d: Unknown section '%s'. Ignoring.", file, e.Line, e.Section))
		case head && e.Section == "Route":
			n.routes = append(n.routes, map[string]string{})
		case !head && networkSections[e.Section]:
			n.Values[key] = append(n.Values[key], e.Value)
			if e.Section == "Route" {
				n.routes[len(n.routes)-1][e.Key] = e.Value
			}
		}
	}
	return n
}

func (s *State) networkdLog(text string) {
	systemd.Of(s.m).Log("systemd-networkd.service", "systemd-networkd", text)
}

// networkFor returns the first file that matches an interface.
func (s *State) networkFor(name string) *network {
	d, ok := s.m.Netdev(name)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.networks {
		if n.matches(&d) {
			return n
		}
	}
	return nil
}

func (n *network) matches(d *labsim.Netdev) bool {
	tests := map[string]string{"Name": d.Name, "PermanentMACAddress": d.HardwareAddress(),
		"MACAddress": d.HardwareAddress(), "Driver": d.Driver}
	some := false
	for key, have := range tests {
		patterns := systemd.Words(n.Values["Match."+key])
		if len(patterns) == 0 {
			continue
		}
		some = true
		if !slices.ContainsFunc(patterns,
			func(p string) bool { return systemd.GlobMatch(p, have) || strings.EqualFold(p, have) }) {
			return false
		}
	}
	return some && d.Type != labsim.TypeLoopback
}

// reconfigure applies the file of one interface. Failures are logged and the
// link still ends as configured.
func (s *State) reconfigure(name string) {
	s.dropForeign(name)
	n := s.networkFor(name)
	if n == nil {
		s.dropManaged(name, nil)
		s.noteLink(name, nil, "unmanaged")
		return
	}
	s.makeChildren(n, name)
	if bond := n.Last("Network.Bond"); bond != "" {
		s.enslave(n, name, bond)
		return
	}
	if v := n.Last("Link.MTUBytes"); v != "" {
		mtu, err := strconv.Atoi(v)
		if err == nil {
			err = s.m.SetMTU(name, min(mtu, s.maxMTU(name)))
		}
		if err != nil {
			s.networkdLog(name + ": Failed to set MTU, ignoring: " + errnoText(err))
		}
	}
	if p := n.Last("Link.ActivationPolicy"); p != "manual" && p != "down" {
		s.SetLink(name, true)
	}
	want, gateway := s.wantedAddrs(n, name)
	if d, ok := s.m.Netdev(name); ok && !s.m.Carrier(&d) && !systemd.IsYes(n.Last("Network.ConfigureWithoutCarrier")) {
		// Addresses wait for the carrier; what is there stays.
		s.noteLink(name, n, "configuring")
		return
	}
	s.dropManaged(name, want)
	for _, a := range want {
		if err := s.AddAddr(name, a); err != nil && !errors.Is(err, ErrAddrExists) {
			s.networkdLog(name + ": Could not set address: " + err.Error())
		}
	}
	s.mu.Lock()
	s.managed[name] = want
	s.mu.Unlock()
	if gateway.IsValid() {
		s.SetDefault(gateway)
	}
	s.setRoutes(name, n.wantedRoutes())
	s.noteLink(name, n, "configured")
}

func (s *State) maxMTU(name string) int {
	if d, ok := s.m.Netdev(name); ok && d.Type == labsim.TypeInfiniBand {
		return labsim.ConnectedMaxMTU
	}
	return 9978
}

func errnoText(err error) string {
	if errors.Is(err, syscall.EINVAL) {
		return "Invalid argument"
	}
	return err.Error()
}

// wantedAddrs are the static addresses of a file and what DHCP leases.
func (s *State) wantedAddrs(n *network, name string) (want []netip.Prefix, gateway netip.Addr) {
	for _, a := range append(append([]string{}, n.Values["Network.Address"]...), n.Values["Address.Address"]...) {
		if p, err := netip.ParsePrefix(a); err == nil {
			want = append(want, p)
		}
	}
	if dhcp := n.Last("Network.DHCP"); dhcp == "yes" || dhcp == "ipv4" {
		lease, gw := s.Lease(name)
		if lease == nil {
			lease, gw = s.fabricLease(name, cmp.Or(n.Last("DHCPv4.ClientIdentifier"), n.Last("DHCP.ClientIdentifier")))
			for _, p := range lease {
				s.addLeased(name, p)
			}
		}
		want = append(want, lease...)
		if use := cmp.Or(n.Last("DHCPv4.UseRoutes"), n.Last("DHCP.UseRoutes")); use == "" || systemd.IsYes(use) {
			gateway = gw
		}
	}
	if gw, err := netip.ParseAddr(n.Last("Network.Gateway")); err == nil {
		gateway = gw
	}
	for _, r := range n.routes {
		gw, err := netip.ParseAddr(r["Gateway"])
		dst := r["Destination"]
		if err == nil && (dst == "" || dst == "0.0.0.0/0") {
			gateway = gw
		}
	}
	return want, gateway
}

// Lease is what the management network's DHCP server would give.
func (s *State) Lease(name string) ([]netip.Prefix, netip.Addr) {
	for _, d := range s.m.Config.Netdevs {
		if d.Name == name {
			gw := d.Gateway
			if !gw.IsValid() && d.SSH {
				gw = s.m.Config.Gateway
			}
			return d.Addrs, gw
		}
	}
	return nil, netip.Addr{}
}

// dropManaged removes every address but the wanted ones from an interface that
// networkd manages, and only its own from one that it no longer does.
func (s *State) dropManaged(name string, want []netip.Prefix) {
	s.mu.Lock()
	own := s.managed[name]
	delete(s.managed, name)
	s.mu.Unlock()
	d, ok := s.m.Netdev(name)
	if !ok {
		return
	}
	for _, a := range d.Addrs {
		mine := want != nil || slices.Contains(own, a)
		if mine && !slices.Contains(want, a) && (!a.Addr().Is6() || !isLinkLocal(a)) {
			_ = s.DelAddr(name, a)
		}
	}
}

// configureAll applies the files of all interfaces.
func (s *State) configureAll() {
	done := map[string]bool{}
	// A second time for the children that the first has made.
	for range 2 {
		for _, d := range s.m.Netdevs() {
			if d.Type != labsim.TypeLoopback && !done[d.Name] {
				done[d.Name] = true
				s.reconfigure(d.Name)
			}
		}
	}
}

// networkReload re-reads the files and reconfigures the interfaces whose file
// changed, came or went. A file that was written again with the same text has changed, by
// its inode and its time (systemd 252 and 257).
func (s *State) networkReload() {
	before := map[string]string{}
	for _, d := range s.m.Netdevs() {
		before[d.Name] = s.networkStamp(d.Name)
	}
	s.loadNetworks()
	for _, d := range s.m.Netdevs() {
		if before[d.Name] != s.networkStamp(d.Name) {
			s.reconfigure(d.Name)
		}
	}
}

func (s *State) networkStamp(name string) string {
	if n := s.networkFor(name); n != nil {
		return n.stamp
	}
	return ""
}

// networkctl knows reload and reconfigure.
func networkctl(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "no-pager", "no-legend")
	if bad != "" || len(o.Args) == 0 {
		return p.Unknown("form of networkctl " + bad)
	}
	s := Of(p.Machine)
	names := o.Args[1:]
	for _, n := range names {
		if _, ok := p.Machine.Netdev(n); !ok {
			// As 252 and 257 say it.
			p.Errorf("Failed to resolve interface \"%s\": No such device\n", n)
			return 1
		}
	}
	if p.UID != 0 && (o.Args[0] == "reload" || o.Args[0] == "reconfigure") {
		p.Errorf("Failed to %s: Interactive authentication required.\n", o.Args[0])
		return 1
	}
	return s.networkVerb(p, o.Args[0], names)
}

func (s *State) networkVerb(p *labsim.Proc, verb string, names []string) int {
	switch {
	case verb == "reload" && len(names) == 0:
		s.networkReload()
	case verb == "reconfigure" && len(names) > 0:
		for _, n := range names {
			s.reconfigure(n)
		}
	default:
		return p.Unknown("networkctl " + verb)
	}
	return 0
}
