//go:build linux

// Package connectx3 is a ConnectX-3 or ConnectX-3 Pro as its driver sees it: a PCI
// function with registers, commands, queues and ports. Flash and firmware are the model of
// labsim/card: what the card runs is what was in flash at its last reset.
//
// Layouts of commands, contexts and work requests are those that the Linux driver writes
// and reads (drivers/net/ethernet/mellanox/mlx4, drivers/infiniband/hw/mlx4, of 6.1 and
// 6.12). What no driver has been seen to use is not here: raw Ethernet packets, virtual
// functions, and what package transport lacks.
//
// It must not decide what a machine does with the card, nor hold a second model of a flash.
package connectx3

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

var (
	be = binary.BigEndian
	le = binary.LittleEndian
)

const ports = 2

// Config describes a card.
type Config struct {
	Name  string // in the log
	Model *card.Card
	Board registers.Board
	// Log takes a line for each command that fails and each thing that the card cannot do;
	// nil is silent.
	Log *log.Logger
}

// Card is one card in its slot.
type Card struct {
	Config
	world  *wire.World
	bus    vfiouser.Bus
	space  *pci.Space
	timers *pci.Timers
	regs   *registers.Registers
	hcr    hcr.Register
	owned  bool
	ports  []*fabric.HCAPort
	hca    *hca
}

// New puts a card into a world. It has booted.
func New(w *wire.World, c Config) *Card {
	k := &Card{Config: c, world: w, timers: pci.NewTimers(w.Do), regs: registers.Of(c.Model)}
	k.ports = fabric.NewHCAPorts(w, ports, k)
	w.Do(k.boot)
	return k
}

// Serve puts the card into the slot of one machine after another, until ctx ends.
func (c *Card) Serve(ctx context.Context, l *net.UnixListener) error {
	return vfiouser.Serve(ctx, l, c, &c.bus)
}

// Ports is how many the card has.
func (*Card) Ports() int { return ports }

// Port is where a cable goes; the first is 1.
func (c *Card) Port(n int) *wire.Port { return c.ports[n-1].Wire() }

// Written counts what was burned: images, and changes of GUIDs and MACs alone.
func (c *Card) Written() (images, guids int) {
	c.world.Do(func() { images, guids = c.regs.Written() })
	return images, guids
}

// Reset implements vfiouser.Function: the card boots what is in its flash.
func (c *Card) Reset() { c.world.Do(c.boot) }

func (c *Card) boot() {
	c.Model.Boot()
	c.regs.Reset()
	c.timers.Forget()
	c.hcr, c.owned = hcr.Register{}, false
	fw := c.Model.Running()
	c.space = newSpace(c, fw)
	c.hca = newHCA(c)
	node := fabric.Node{Description: description(c.Model.Chip), GUID: fw.GUIDs[0], System: fw.GUIDs[3],
		Ports: ports, Device: c.Model.Chip.PCIDevice}
	for i, p := range c.ports {
		p.Reset(node, fw.GUIDs[1+i])
	}
	c.logf("boots %s %d.%d.%d, InfiniBand: %v", fw.PSID, fw.Version[0], fw.Version[1], fw.Version[2], fw.VPI)
}

// description is what the firmware calls the node until a driver names it: the PCI device in
// decimal digits, and the chip.
func description(chip card.Chip) string {
	name := "ConnectX3"
	if chip == card.ConnectX3Pro {
		name = "ConnectX3 Pro"
	}
	return fmt.Sprintf("MT%d %s Mellanox Technologies", chip.PCIDevice, name)
}

func (c *Card) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log.Printf(c.Name+": "+format, args...)
	}
}

// StateChanged implements fabric.Events.
func (c *Card) StateChanged(port int, active bool) {
	if c.hca != nil {
		c.hca.portEvent(port, active)
	}
}

// Deliver implements fabric.Events.
func (c *Card) Deliver(port int, k *wire.Packet) { transport.Deliver(c.hca, port, k) }
