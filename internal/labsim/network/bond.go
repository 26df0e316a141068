package network

import (
	"crypto/sha256"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// addBond makes a bond without ports, which is one of Ethernet.
func (s *State) addBond(name, mode, primary string) {
	address := sha256.Sum256([]byte(name))
	address[0] = 2
	s.m.AddNetdev(labsim.Netdev{Name: name, Type: labsim.TypeEthernet, Address: address[:6], Kind: labsim.KindBond,
		BondMode: mode, Primary: primary})
}

// makeBonds makes the bonds of .netdev files, as networkd does when it reads them.
func (s *State) makeBonds() {
	all := s.netdevs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, there := s.m.Netdev(name); !there && all[name].kind == labsim.KindBond {
			s.addBond(name, all[name].bondMode, "")
		}
	}
}

// enslave puts an interface into the bond of its file. networkd takes it down first, and takes its addresses away.
func (s *State) enslave(n *network, name, bond string) {
	d, _ := s.m.Netdev(name)
	if d.Master != bond {
		s.dropManaged(name, []netip.Prefix{})
		s.SetLink(name, false)
		if err := s.m.Enslave(bond, name); err != nil {
			s.networkdLog(name + ": Could not join netdev: " + errnoText(err))
			s.noteLink(name, n, "failed")
			return
		}
	}
	if n.Last("Network.PrimarySlave") == "yes" {
		s.m.UpdateNetdev(bond, func(b *labsim.Netdev) { b.Primary = name })
		s.m.SettleBond(bond)
	}
	s.noteLink(name, n, "configured")
}

// nmBond makes the bond of a profile, connects it, and has its ports join it.
func (s *State) nmBond(p *nmProfile) string {
	name := p.get("connection.interface-name")
	if _, there := s.m.Netdev(name); !there {
		s.addBond(name, p.get("bond.mode"), p.get("bond.primary"))
		s.nm.owned[name] = true
	}
	s.m.UpdateNetdev(name, func(b *labsim.Netdev) { b.BondMode, b.Primary = p.get("bond.mode"), p.get("bond.primary") })
	if problem := s.nmActivate(name, p); problem != "" {
		return problem
	}
	if p.get("connection.autoconnect-slaves") == "1" {
		for _, d := range s.m.Netdevs() {
			for _, u := range slices.Sorted(maps.Keys(s.nm.profiles)) {
				port := s.nm.profiles[u]
				if port.get("connection.master") == name && s.nmMatches(port, &d) && s.nmAvailable(&d) {
					s.nmJoin(d.Name, port)
				}
			}
		}
	}
	if mtu, err := strconv.Atoi(p.get("ethernet.mtu")); err == nil {
		if err := s.m.SetMTU(name, mtu); err != nil {
			s.nmLog("<warn>  device (" + name + "): mtu: failure to set MTU to " + strconv.Itoa(mtu))
		}
	}
	return ""
}

// nmJoin connects a port of a bond: it writes the mode while the port is down.
func (s *State) nmJoin(name string, p *nmProfile) {
	bond := p.get("connection.master")
	if d, _ := s.m.Netdev(name); d.Master != "" {
		s.m.Release(name)
	}
	s.dropManaged(name, []netip.Prefix{})
	s.SetLink(name, false)
	if err := s.m.SetMode(name, p.get("infiniband.transport-mode")+"\n"); err != nil {
		s.nmLog("<warn>  device (" + name + "): " + errnoText(err))
		return
	}
	if err := s.m.Enslave(bond, name); err != nil {
		s.nmLog("<warn>  device (" + name + "): could not attach to " + bond + ": " + errnoText(err))
		return
	}
	s.nm.active[name] = p.get("connection.uuid")
	s.nmNote(name)
}

// nmPort connects a port that has come: with it comes its bond.
func (s *State) nmPort(name string, p *nmProfile) string {
	bond := p.get("connection.master")
	if s.nm.active[bond] != "" {
		s.nmJoin(name, p)
		b := s.nm.profiles[s.nm.active[bond]]
		if mtu, err := strconv.Atoi(b.get("ethernet.mtu")); err == nil {
			_ = s.m.SetMTU(bond, mtu)
		}
		return ""
	}
	for _, u := range slices.Sorted(maps.Keys(s.nm.profiles)) {
		if b := s.nm.profiles[u]; b.get("connection.type") == labsim.KindBond && b.get("connection.interface-name") == bond {
			return s.nmBond(b)
		}
	}
	return "Connection activation failed: Master connection not found or invalid"
}
