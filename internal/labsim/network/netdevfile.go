package network

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

// withDropIns adds what the files of NAME.d say.
func (s *State) withDropIns(n *network, name string) *network {
	for _, dir := range []string{"/run/systemd/network/", "/etc/systemd/network/"} {
		for _, file := range s.m.FS.Glob(dir + name + ".d/*.conf") {
			more := s.parseNetwork(file)
			for k, v := range more.Values {
				n.Values[k] = append(n.Values[k], v...)
			}
			n.routes = append(n.routes, more.routes...)
			n.stamp += more.stamp
		}
	}
	return n
}

// wantedRoutes are the routes of a file with a gateway, but for the default
// route of IPv4.
func (n *network) wantedRoutes() []labsim.Route {
	var all []labsim.Route
	for _, r := range n.routes {
		to, err := netip.ParsePrefix(r["Destination"])
		via, viaErr := netip.ParseAddr(r["Gateway"])
		if err == nil && viaErr == nil && (to.Bits() > 0 || to.Addr().Is6()) {
			all = append(all, labsim.Route{To: to.Masked(), Via: via, Proto: "static"})
		}
	}
	return all
}

// setRoutes makes the routes of an interface what a file says: as it configures one, a
// service drops the routes that others have added.
func (s *State) setRoutes(name string, want []labsim.Route) {
	d, _ := s.m.Netdev(name)
	for _, r := range d.Routes {
		if !slices.Contains(want, r) {
			_ = s.delRoute(name, r)
		}
	}
	for _, r := range want {
		if refused := s.addRoute(name, r, true); refused != "" {
			s.networkdLog(name + ": Could not set route: " + refused)
		}
	}
}

// linkFile is where networkd notes the state of an interface.
func (s *State) noteLink(name string, n *network, admin string) {
	d, ok := s.m.Netdev(name)
	if !ok || !s.m.Up() {
		return
	}
	text := "# This is private data. Do not parse.\nADMIN_STATE=" + admin + "\nOPER_STATE=carrier\n"
	if n != nil {
		text += "NETWORK_FILE=" + n.Path + "\n"
	}
	s.m.FS.Put("/run/systemd/netif/links/"+strconv.Itoa(d.Index), text, 0o644)
}

// netdevFile is a .netdev file of a P_Key child or a bond.
type netdevFile struct {
	name, mode, mac string
	kind, bondMode  string
	pkey            uint64
}

// netdevs reads the .netdev files, with networkd's complaints.
func (s *State) netdevs() map[string]netdevFile {
	all := map[string]netdevFile{}
	for _, file := range s.m.FS.Glob("/etc/systemd/network/*.netdev") {
		if f, ok := s.parseNetdev(file); ok {
			all[f.name] = f
		}
	}
	return all
}

func (s *State) parseNetdev(file string) (netdevFile, bool) {
	f := netdevFile{mode: labsim.ModeDatagram, bondMode: "balance-rr"}
	for _, e := range systemd.ReadEntries(s.m.FS.Text(file), "#;") {
		v := e.Value
		complain := func(text string) { s.networkdLog(fmt.Sprintf("%s:%d: %s", file, e.Line, text)) }
		switch e.Section + "." + e.Key {
		case e.Section + ".":
			if e.Text[0] != '[' {
				s.m.Violate("%s: not simulated: %s", file, e.Text)
			}
		case "NetDev.Name":
			f.name = v
		case "NetDev.MACAddress":
			f.mac = v
		case "NetDev.Kind":
			f.kind = v
		case "Bond.Mode":
			f.bondMode = v
		case "Bond.MIIMonitorSec", "Bond.FailOverMACPolicy", "Bond.PrimaryReselectPolicy":
		case "IPoIB.Mode":
			if v != labsim.ModeDatagram && v != labsim.ModeConnected {
				complain("Failed to parse IPoIB mode, ignoring: " + v)
				continue
			}
			f.mode = v
		case "IPoIB.PartitionKey":
			key, err := strconv.ParseUint(v, 0, 16)
			if err != nil || key == 0 || key == 0x8000 {
				complain("IPoIB pkey cannot be 0 nor 0x8000, ignoring assignment: " + v)
				continue
			}
			f.pkey = key
		default:
			s.m.Violate("%s: not simulated: [%s] %s", file, e.Section, e.Text)
		}
	}
	return f, f.name != "" && (f.kind == "ipoib" && f.pkey != 0 || f.kind == labsim.KindBond)
}

// makeChildren makes the P_Key children that a file names, as networkd does when
// it configures the parent.
func (s *State) makeChildren(n *network, parent string) {
	for _, name := range n.Values["Network.IPoIB"] {
		f, known := s.netdevs()[name]
		if _, there := s.m.Netdev(name); there || !known || f.kind != "ipoib" {
			continue
		}
		if refused := s.addChild(parent, f.name, f.pkey, f.mode, false); refused != nil {
			s.networkdLog(name + ": netdev could not be created: " + refused.Error())
			continue
		}
		if f.mac != "none" {
			// networkd makes an address from the name, which has the GUID of no port.
			madeUp := sha256.Sum256([]byte(name))
			s.m.UpdateNetdev(name, func(d *labsim.Netdev) { d.Address = madeUp[:20] })
		}
	}
}
