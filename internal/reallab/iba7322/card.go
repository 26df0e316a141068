//go:build linux

// Package iba7322 is an IBA7322 as its driver sees it, on a QLogic QLE7340 with one port
// or a QLE7342 with two (1077:7322).
//
// The chip has no firmware and no queue pairs: it sends packets that the driver has built,
// and writes those that come in to the driver's memory. Management of the subnet and all
// transports are the driver's. What its registers mean is what the Linux driver makes of
// them (drivers/infiniband/hw/qib, of 6.1 and 6.12). Contexts of user programs (PSM) are
// not here, and lanes and SerDes have no behaviour.
//
// It must not decide what a machine does with the card.
package iba7322

import (
	"context"
	"encoding/binary"
	"log"
	"net"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

var (
	be = binary.BigEndian
	le = binary.LittleEndian
)

// device is the PCI device of the chip.
const device = 0x7322

// Is reports whether a PCI device is an IBA7322.
func Is(d uint16) bool { return d == device }

// Boards that the revision register names (qib_7322_boardname of qib_iba7322.c).
const (
	boardQLE7340 = 1
	boardQLE7342 = 2
)

// Config describes a card.
type Config struct {
	Name string // in the log
	// Model has the GUID of the first port; that of a second is the next.
	Model *card.Card
	Board registers.Board
	// Log takes a line for each thing that the card cannot do; nil is silent.
	Log *log.Logger
}

// Card is one card in its slot.
type Card struct {
	Config
	world  *wire.World
	bus    vfiouser.Bus
	space  *pci.Space
	timers *pci.Timers
	ports  []*port

	regs     map[uint32]uint64 // that keep what is written, by offset
	pending  uint64            // IntStatus
	contexts [contexts]receiver
	buffers  [buffers]buffer
	avail    [availWords]uint64
	pins     pins
	eeprom   []byte // the memory of the board
}

// New puts a card into a world. It has booted.
func New(w *wire.World, c Config) *Card {
	k := &Card{Config: c, world: w, timers: pci.NewTimers(w.Do)}
	for i := range max(1, min(c.Model.Chip.Ports, 2)) {
		p := &port{c: k, index: i, cable: newCable()}
		p.wire = wire.NewPort(w, p)
		k.ports = append(k.ports, p)
	}
	w.Do(k.boot)
	return k
}

// Serve puts the card into the slot of one machine after another, until ctx ends.
func (c *Card) Serve(ctx context.Context, l *net.UnixListener) error {
	return vfiouser.Serve(ctx, l, c, &c.bus)
}

// Port is where a cable goes; the first is 1.
func (c *Card) Port(n int) *wire.Port { return c.ports[n-1].wire }

// Ports is how many there are.
func (c *Card) Ports() int { return len(c.ports) }

// Written counts what was burned, which is nothing.
func (*Card) Written() (images, guids int) { return 0, 0 }

// Reset implements vfiouser.Function.
func (c *Card) Reset() { c.world.Do(c.boot) }

func (c *Card) boot() {
	c.Model.Boot()
	c.space = newSpace()
	if c.eeprom == nil {
		c.eeprom = newEEPROM(c.Model.Running().GUIDs[0], len(c.ports), c.Board.SerialNumber)
	}
	c.reset()
}

// reset is the chip after power on, or after the driver has reset it.
func (c *Card) reset() {
	c.timers.Forget()
	c.regs = c.constants()
	c.pending, c.contexts, c.buffers, c.avail = 0, [contexts]receiver{}, [buffers]buffer{}, [availWords]uint64{}
	c.pins = pins{twsi: twsi{released: true}}
	for _, p := range c.ports {
		p.reset()
	}
	c.pins.high = c.levels()
}

func (c *Card) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log.Printf(c.Name+": "+format, args...)
	}
}
