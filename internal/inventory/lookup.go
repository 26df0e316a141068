package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func find[T any](all []T, is func(*T) bool) (*T, bool) {
	for i := range all {
		if is(&all[i]) {
			return &all[i], true
		}
	}
	return nil, false
}

// Card finds the card at a PCI address.
func (s *Snapshot) Card(pci ib.PCIAddress) (*Card, bool) {
	return find(s.Cards, func(c *Card) bool { return c.PCI == pci })
}

// CardByPortGUID finds the card and the port that carry a GUID now.
func (s *Snapshot) CardByPortGUID(guid ib.GUID) (*Card, *Port, bool) {
	// Zero and all ones are on every card that was never given one.
	if guid.IsNone() {
		return nil, nil, false
	}
	for i := range s.Cards {
		for j := range s.Cards[i].Ports {
			if s.Cards[i].Ports[j].PortGUID == guid {
				return &s.Cards[i], &s.Cards[i].Ports[j], true
			}
		}
	}
	return nil, nil, false
}

// CardByNetdev finds the card and the port behind an interface; of a P_Key
// child, those of its port.
func (s *Snapshot) CardByNetdev(name string) (*Card, *Port, bool) {
	n, ok := s.Netdev(name)
	if !ok || !n.PCI.IsValid() {
		return nil, nil, false
	}
	card, ok := s.Card(n.PCI)
	if !ok {
		return nil, nil, false
	}
	port, ok := card.Port(n.DevPort + 1)
	return card, port, ok
}

// Port finds a port of the card by its number, from 1.
func (c *Card) Port(number int) (*Port, bool) {
	return find(c.Ports, func(p *Port) bool { return p.Number == number })
}

// Netdev finds an interface by name.
func (s *Snapshot) Netdev(name string) (*Netdev, bool) {
	return find(s.Netdevs, func(n *Netdev) bool { return n.Name == name })
}

// NetdevByPortGUID finds the IPoIB interface of a port; with P_Key children
// present, the parent, which is the one with the default P_Key.
func (s *Snapshot) NetdevByPortGUID(guid ib.GUID) (*Netdev, bool) {
	var found *Netdev
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		if !n.IB || n.PortGUID != guid || guid.IsZero() {
			continue
		}
		if n.Parent == "" {
			return n, true
		}
		if found == nil {
			found = n
		}
	}
	return found, found != nil
}

// Unit returns the state of a systemd unit, unknown where systemd was silent. A unit
// that systemd does not know has LoadState "not-found".
func (s *Snapshot) Unit(name string) fact.Of[Unit] {
	if s.UnitsWhy != "" || s.Units == nil {
		return fact.Unknown[Unit](s.UnitsWhy)
	}
	if u, ok := s.Units[name]; ok {
		return fact.Known(u)
	}
	return fact.Known(Unit{LoadState: "not-found", ActiveState: "inactive"})
}

// Runs reports whether a systemd unit is active.
func (s *Snapshot) Runs(name string) fact.Bool {
	u, known := s.Unit(name).Get()
	if !known {
		return fact.Unknown[bool](s.Unit(name).Why())
	}
	return fact.Known(u.ActiveState == "active")
}

// StartsAtBoot reports whether a systemd unit is enabled.
func (s *Snapshot) StartsAtBoot(name string) fact.Bool {
	u, known := s.Unit(name).Get()
	if !known {
		return fact.Unknown[bool](s.Unit(name).Why())
	}
	return fact.Known(u.UnitFileState == "enabled")
}

// Masked reports whether systemd refuses to start a unit, now and at boot. One that ran when
// it was masked goes on.
func (s *Snapshot) Masked(name string) fact.Bool {
	u, known := s.Unit(name).Get()
	if !known {
		return fact.Unknown[bool](s.Unit(name).Why())
	}
	return fact.Known(u.LoadState == "masked")
}

// FilesUnder returns the paths of the files that were read in a directory,
// sorted.
func (s *Snapshot) FilesUnder(dir string) []string {
	dir = strings.TrimSuffix(dir, "/") + "/"
	var paths []string
	for p := range s.Files {
		if strings.HasPrefix(p, dir) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// Job finds a flash job by its id.
func (s *Snapshot) Job(id string) (*Job, bool) {
	return find(s.Jobs, func(j *Job) bool { return j.ID == id })
}

// JobsOf returns the jobs of all functions of a card, oldest first: they share
// one flash.
func (s *Snapshot) JobsOf(pci ib.PCIAddress) []*Job {
	var jobs []*Job
	for i := range s.Jobs {
		if s.Jobs[i].PCI.IsValid() && s.Jobs[i].PCI.Slot() == pci.Slot() {
			jobs = append(jobs, &s.Jobs[i])
		}
	}
	return jobs
}

// CardsBelow gives the PCI addresses of all devices that carry an interface:
// its own, or those below a VLAN, a bond or a bridge; sorted. An interface of
// which nothing is known has none.
func (s *Snapshot) CardsBelow(dev string) []ib.PCIAddress {
	var cards []ib.PCIAddress
	for _, name := range s.Below(dev) {
		if n, ok := s.Netdev(name); ok && n.PCI.IsValid() && !slices.Contains(cards, n.PCI) {
			cards = append(cards, n.PCI)
		}
	}
	slices.SortFunc(cards, func(a, b ib.PCIAddress) int { return strings.Compare(a.String(), b.String()) })
	return cards
}

// Below gives an interface and all those that carry it: the parts of a bond or
// a bridge, the one below a VLAN, the parent of a P_Key child.
func (s *Snapshot) Below(dev string) []string {
	var names []string
	for todo := []string{dev}; len(todo) > 0; todo = todo[1:] {
		n, ok := s.Netdev(todo[0])
		// A chain that leads back to itself, as between two network namespaces, ends here.
		if !ok || slices.Contains(names, n.Name) {
			continue
		}
		names = append(names, n.Name)
		todo = append(todo, n.Lower...)
		if n.Parent != "" {
			todo = append(todo, n.Parent)
		}
	}
	return names
}

// HiddenBelow says why it is not known what carries an interface; empty if it is. The
// kernel names nothing below a tunnel or a port of Open vSwitch. Guests are beside the
// network card in a bridge, so one interface that is seen is enough.
func (s *Snapshot) HiddenBelow(dev string) string {
	if _, ok := s.Netdev(dev); !ok {
		return "ip address shows no interface " + dev
	}
	why := "what carries " + dev + " leads back to it"
	for _, name := range s.Below(dev) {
		n, _ := s.Netdev(name)
		switch {
		case len(n.Lower) > 0 || n.Parent != "":
		case n.Kind == "" || n.PCI.IsValid():
			return ""
		case n.Kind == "veth":
			return "" // its other end is outside of the container, whose interfaces are all seen
		default:
			why = fmt.Sprintf("%s is an interface of kind %s, and the kernel does not name the one below it", n.Name, n.Kind)
		}
	}
	return why
}

// HiddenRoutes says of default routes why it is not known what carries them.
func (s *Snapshot) HiddenRoutes() []string {
	var all []string
	for _, dev := range s.Routes.Devs() {
		if why := s.HiddenBelow(dev); why != "" && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}

// CardsTo gives the devices that carry storage of the network. SRP names the
// InfiniBand device itself.
func (s *Snapshot) CardsTo(st Storage) []ib.PCIAddress {
	if st.RDMA == "" {
		return s.CardsBelow(st.Dev.Or(""))
	}
	var cards []ib.PCIAddress
	for i := range s.Cards {
		if s.Cards[i].RDMADevice == st.RDMA {
			cards = append(cards, s.Cards[i].PCI)
		}
	}
	return cards
}

// Physical gives the function of a card that a PCI function is or, if it is virtual, is of.
func (s *Snapshot) Physical(pci ib.PCIAddress) fact.Of[ib.PCIAddress] {
	if c, ok := s.Card(pci); ok && c.Virtual {
		return c.Physical
	}
	return fact.Known(pci)
}

// OfCard reports whether a PCI function is one of a card. Virtual functions may lie beyond
// the slot of their card.
func (s *Snapshot) OfCard(pci, card ib.PCIAddress) fact.Bool {
	physical, known := s.Physical(pci).Get()
	switch {
	case pci.IsValid() && pci.Slot() == card.Slot():
		return fact.Known(true)
	case !known:
		return fact.Unknown[bool](s.Physical(pci).Why())
	}
	return fact.Known(physical.IsValid() && physical.Slot() == card.Slot())
}

// NetdevsOf gives the interfaces of all functions of a card, and those that may be, without
// P_Key children.
func (s *Snapshot) NetdevsOf(pci ib.PCIAddress) []string {
	var names []string
	for _, n := range s.Netdevs {
		if !fact.No(s.OfCard(n.PCI, pci)) && n.Parent == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// Managers gives the ports of all functions of a card to which a subnet manager
// is bound.
func (s *Snapshot) Managers(pci ib.PCIAddress) fact.Of[[]int] {
	var ports []int
	for i := range s.Cards {
		c := &s.Cards[i]
		if fact.No(s.OfCard(c.PCI, pci)) {
			continue
		}
		if c.RDMADevice != "" && len(c.Ports) == 0 {
			return fact.Unknown[[]int](c.RDMADevice + " shows no port")
		}
		for _, p := range c.Ports {
			if !p.IsSM.Known() {
				return fact.Unknown[[]int](p.IsSM.Why())
			}
			if fact.Yes(p.IsSM) {
				ports = append(ports, p.Number)
			}
		}
	}
	return fact.Known(ports)
}

// Lacks gives those of some programs that are not on the host's PATH.
func (s *Snapshot) Lacks(programs ...string) fact.Of[[]string] {
	var missing []string
	for _, p := range programs {
		there, looked := s.Commands[p]
		if !looked {
			return fact.Unknown[[]string]("nobody has looked for " + p)
		}
		if !there {
			missing = append(missing, p)
		}
	}
	return fact.Known(missing)
}

// Active gives those of some systemd units that run.
func (s *Snapshot) Active(units ...string) fact.Of[[]string] {
	var running []string
	for _, name := range units {
		switch runs, known := s.Runs(name).Get(); {
		case !known:
			return fact.Unknown[[]string](s.Runs(name).Why())
		case runs:
			running = append(running, name)
		}
	}
	return fact.Known(running)
}

func (r Route) String() string { return r.To.String() + " via " + r.Via.String() }

// Default reports whether the route is a default route.
func (r Route) Default() bool { return r.To.Bits() == 0 }

// UsersOf gives the programs of others that used a card.
func (s *Snapshot) UsersOf(pci ib.PCIAddress) []CardUser {
	var of []CardUser
	for _, u := range s.Users.Or(nil) {
		if u.Uses(pci) {
			of = append(of, u)
		}
	}
	return of
}

// AnyJobMayRun reports whether a job of the host runs, or is not proven to have ended.
func (s *Snapshot) AnyJobMayRun() bool {
	for i := range s.Jobs {
		if s.Jobs[i].MayRun() {
			return true
		}
	}
	return false
}

// MountOf is the file system that has a path; not ok if that is not known.
func (s *Snapshot) MountOf(file string) (m Mount, ok bool) {
	for _, one := range s.Mounts {
		// With the slash: /var/library is not below /var/lib.
		within := one.Path == "/" || file == one.Path || strings.HasPrefix(file, one.Path+"/")
		if within && len(one.Path) > len(m.Path) {
			m, ok = one, true
		}
	}
	return m, ok
}
