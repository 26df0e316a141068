//go:build linux

// Package infinihost3 is an InfiniHost III as its driver sees it: the MT25208 without
// memory of its own ("Arbel", 15b3:6282), the same chip with the firmware that makes it a
// predecessor ("Tavor mode", 15b3:6278), and the MT25204 with one port ("Sinai",
// 15b3:6274).
//
// Layouts of commands, contexts and work requests are those that the Linux driver writes
// and reads (drivers/infiniband/hw/mthca, of 6.1 and 6.12). Interrupts are MSI-X alone,
// which is what the driver takes. No tool of today reads the flash of these chips, so that
// none is here: the firmware is the one that the model of labsim/card says.
//
// It must not decide what a machine does with the card.
package infinihost3

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

// kind is one of the chips.
type kind struct {
	ports       int
	ownMemory   bool   // Tavor mode: tables are in the memory of the card
	hwid        uint16 // the device in the identification register
	revision    byte
	description string
}

// kinds are those that there are, by PCI device.
var kinds = map[uint16]kind{
	0x6282: {ports: 2, hwid: 0x6278, revision: 0x20, description: "MT25208 InfiniHostEx Mellanox Technologies"},
	0x6278: {ports: 2, hwid: 0x6278, revision: 0x20, description: "MT23108 InfiniHost Mellanox Technologies", ownMemory: true},
	0x6274: {ports: 1, hwid: 0x6274, revision: 0xa0, description: "MT25204 InfiniHostLx Mellanox Technologies"},
}

// Is reports whether a PCI device is an InfiniHost III.
func Is(device uint16) bool {
	_, there := kinds[device]
	return there
}

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
	kind
	world  *wire.World
	bus    vfiouser.Bus
	space  *pci.Space
	timers *pci.Timers
	hcr    hcr.Register
	owned  bool
	ports  []*fabric.HCAPort
	hca    *hca
}

// New puts a card into a world. It has booted.
func New(w *wire.World, c Config) (*Card, error) {
	kind, there := kinds[c.Model.Chip.PCIDevice]
	if !there {
		return nil, fmt.Errorf("infinihost3: no such device: %#x", c.Model.Chip.PCIDevice)
	}
	k := &Card{Config: c, kind: kind, world: w, timers: pci.NewTimers(w.Do)}
	k.ports = fabric.NewHCAPorts(w, kind.ports, k)
	w.Do(k.boot)
	return k, nil
}

// Serve puts the card into the slot of one machine after another, until ctx ends.
func (c *Card) Serve(ctx context.Context, l *net.UnixListener) error {
	return vfiouser.Serve(ctx, l, c, &c.bus)
}

// Port is where a cable goes; the first is 1.
func (c *Card) Port(n int) *wire.Port { return c.ports[n-1].Wire() }

// Ports is how many there are.
func (c *Card) Ports() int { return len(c.ports) }

// Written counts what was burned, which is nothing.
func (*Card) Written() (images, guids int) { return 0, 0 }

// Reset implements vfiouser.Function.
func (c *Card) Reset() { c.world.Do(c.boot) }

func (c *Card) boot() {
	c.Model.Boot()
	c.timers.Forget()
	c.hcr, c.owned = hcr.Register{}, false
	fw := c.Model.Running()
	c.space = newSpace(c)
	c.hca = newHCA(c)
	node := fabric.Node{Description: c.description, GUID: fw.GUIDs[0], System: fw.GUIDs[3], Ports: c.kind.ports,
		Device: c.Model.Chip.PCIDevice, Revision: uint32(c.revision), Abilities: abilities}
	for i, p := range c.ports {
		p.Reset(node, fw.GUIDs[1+i])
	}
	c.logf("boots %s %d.%d.%d", fw.PSID, fw.Version[0], fw.Version[1], fw.Version[2])
}

// abilities are those of the ports: 4X at 5 Gb/s a lane, packets of 2048 bytes.
var abilities = fabric.Abilities{Speeds: wire.Speeds{Basic: 3}, MTU: maximumMTU, PKeys: 1 << logPKeys,
	Capabilities: 0x02510a68}

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
