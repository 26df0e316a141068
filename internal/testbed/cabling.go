//go:build testbed && linux

package testbed

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// plug is one end of a cable: a port of a host's card.
type plug struct {
	host       string
	slot, port int // the port is counted from one
}

// The first switch has the GUID that it has in the simulated lab, too.
const (
	switchGUID  = 0x0002c902004a1b00
	switchPorts = 36
)

// cable cables the cards of hosts as these are described: each port to the host's
// switch, or to the same port of another host.
func cable(w *wire.World, hosts []labs.Host, boxes map[string]*Host) map[plug]*wire.Cable {
	socket := func(p plug, described labs.Host) *wire.Port {
		return boxes[p.host].cards()[described.Cards[p.slot].BDF].HCA.Port(p.port).Wire()
	}
	byName := map[string]labs.Host{}
	direct := map[string]bool{}
	for _, h := range hosts {
		byName[h.Name] = h
		if h.Direct != "" {
			direct[h.Name], direct[h.Direct] = true, true
		}
	}
	cables := map[plug]*wire.Cable{}
	switches := switchboard{world: w}
	for _, h := range hosts {
		for slot, c := range h.Cards {
			for port := 1; port <= c.Chip.Ports; port++ {
				p := plug{h.Name, slot, port}
				switch {
				case h.Direct != "" && slot == 0:
					far := plug{h.Direct, 0, port}
					cables[p] = wire.Connect(socket(p, h), socket(far, byName[h.Direct]))
					cables[far] = cables[p]
				case !direct[h.Name]:
					cables[p] = wire.Connect(socket(p, h), switches.next(cmp.Or(h.Switch, "switch")))
				}
			}
		}
	}
	return cables
}

// switchboard is the switches of a loan. Each is a fabric.
type switchboard struct {
	world *wire.World
	all   map[string]*fabric.Switch
	used  map[string]int
}

// next is a free port of a switch.
func (s *switchboard) next(name string) *wire.Port {
	if s.all[name] == nil {
		if s.all == nil {
			s.all, s.used = map[string]*fabric.Switch{}, map[string]int{}
		}
		s.all[name] = fabric.NewSwitch(s.world, "SwitchX -  Mellanox Technologies", uint64(switchGUID+len(s.all)), switchPorts)
	}
	s.used[name]++
	return s.all[name].Port(s.used[name])
}

// Unplug takes the cable out of a port of a host's first card.
func (s *Loan) Unplug(host string, port int) error {
	c := s.cables[plug{host, 0, port}]
	if c == nil {
		return fmt.Errorf("testbed: port %d of %s has no cable", port, host)
	}
	c.Pull()
	return s.boxes[host].unplug(port)
}
