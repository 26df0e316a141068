//go:build linux

package reallab

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Options is how the cards of a lab are connected. The zero value is one switch, with a
// cable to the first port of each PCI function, in the order of the hosts and their slots.
type Options struct {
	Switches []Switch
	Cables   []Cable // with some of them, only what they name is connected
}

// Switch describes an unmanaged switch.
type Switch struct {
	Name string // by which cables know it; it may not be that of a machine
	// Description is what it says of itself; defaultDescription if empty.
	Description string
	GUID        uint64 // one of its own if 0
	Ports       int    // defaultPorts if 0, at most 62
}

// Cable connects two ports.
type Cable [2]End

// End is a port of a switch or of a card.
type End struct {
	Node string // name of a switch or a machine
	Slot int    // of the machine, from 0
	Port int    // from 1; 0 is 1, too
}

func (e End) port() int { return cmp.Or(e.Port, 1) }

func (e End) String() string {
	if e.Slot != 0 {
		return fmt.Sprintf("%s card %d port %d", e.Node, e.Slot, e.port())
	}
	return fmt.Sprintf("%s port %d", e.Node, e.port())
}

// What a switch is that says nothing else.
const (
	defaultDescription = "SwitchX -  Mellanox Technologies"
	defaultGUID        = 0x0002c90300112200
	defaultPorts       = 12
	mostPorts          = 62
)

// cabled gives the options with the switch and the cables of the zero value.
func (o Options) cabled(hosts []Host) (Options, error) {
	switch {
	case len(o.Cables) > 0:
		return o, nil
	case len(o.Switches) > 1:
		return o, errors.New("reallab: several switches need cables")
	case len(o.Switches) == 0:
		o.Switches = []Switch{{Name: "switch"}}
	}
	next := 1
	for _, h := range hosts {
		for slot, s := range h.Slots {
			for port := range max(1, s.Card.Functions) {
				o.Cables = append(o.Cables, Cable{{Node: h.Name, Slot: slot, Port: port + 1}, {Node: o.Switches[0].Name, Port: next}})
				next++
			}
		}
	}
	return o, nil
}

// addSwitches makes the switches.
func (l *Lab) addSwitches(all []Switch) error {
	for i, s := range all {
		n := cmp.Or(s.Ports, defaultPorts)
		switch {
		case l.Switches[s.Name] != nil:
			return fmt.Errorf("reallab: there are two switches %q", s.Name)
		case n < 1 || n > mostPorts:
			return fmt.Errorf("reallab: switch %q has %d ports", s.Name, n)
		}
		l.Switches[s.Name] = fabric.NewSwitch(l.world, cmp.Or(s.Description, defaultDescription),
			cmp.Or(s.GUID, defaultGUID+uint64(i)), n)
	}
	return nil
}

// connect plugs a cable in at both ends.
func (l *Lab) connect(c Cable) error {
	var ports [2]*wire.Port
	for i, e := range c {
		p, err := l.portOf(e)
		if err != nil {
			return err
		}
		if p.Cable() != nil {
			return fmt.Errorf("reallab: %s has a cable already", e)
		}
		ports[i] = p
	}
	if ports[0] == ports[1] {
		return fmt.Errorf("reallab: a cable has both ends in %s", c[0])
	}
	wire.Connect(ports[0], ports[1])
	return nil
}

// portOf is where a cable goes.
func (l *Lab) portOf(e End) (*wire.Port, error) {
	if s := l.Switches[e.Node]; s != nil {
		if n := e.port(); e.Slot == 0 && n >= 1 && n <= s.Ports() {
			return s.Port(n), nil
		}
	}
	if cards := l.Cards[e.Node]; e.Slot >= 0 && e.Slot < len(cards) {
		if c := cards[e.Slot]; e.port() >= 1 && e.port() <= c.Ports() {
			return c.Port(e.port()), nil
		}
	}
	return nil, fmt.Errorf("reallab: there is no %s", e)
}

// Cable is what is plugged into a port; nil if nothing is.
func (l *Lab) Cable(e End) *wire.Cable {
	p, err := l.portOf(e)
	if err != nil {
		return nil
	}
	return p.Cable()
}

// Lone makes a card in a host of no machine, which has a driver and no programs. Its port has
// no cable.
func (l *Lab) Lone(name string, node, port uint64) *wire.Port {
	return fabric.NewLone(l.world, fabric.Node{Description: name, GUID: node, Ports: 1, Device: card.ConnectX3Pro.PCIDevice}, port)
}
