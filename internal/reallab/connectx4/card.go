//go:build linux

// Package connectx4 is a ConnectX-4 VPI as its driver sees it: for each of its ports a PCI
// function with an initialization segment, a command queue and work queues. Flash and
// firmware are the model of labsim/card: what the card runs is what was in flash at its
// last reset.
//
// Layouts of commands, contexts and work requests are those that the Linux driver writes
// and reads (include/linux/mlx5/mlx5_ifc.h and device.h, drivers/net/ethernet/mellanox/mlx5,
// drivers/infiniband/hw/mlx5, of 6.1 and 6.12). What no driver has been seen to use is not
// here: virtual functions, the e-switch, RoCE, striding receive queues, compressed
// completions, atomics.
//
// It must not decide what a machine does with the card, nor hold a second model of a flash.
package connectx4

import (
	"context"
	"encoding/binary"
	"log"
	"net"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

var (
	be = binary.BigEndian
	le = binary.LittleEndian
)

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
	world     *wire.World
	regs      *registers.Registers
	begin     time.Time // of the chip's clock
	functions []*Function
}

// New puts a card into a world. It has booted.
func New(w *wire.World, c Config) *Card {
	k := &Card{Config: c, world: w, regs: registers.Of(c.Model), begin: time.Now()}
	for i := range c.Model.Functions {
		k.functions = append(k.functions, newFunction(k, i))
	}
	w.Do(k.boot)
	return k
}

// Functions are what the card is on the bus, in their order.
func (c *Card) Functions() []*Function { return c.functions }

// Serve puts the first function into the slot of one machine after another, until ctx ends.
func (c *Card) Serve(ctx context.Context, l *net.UnixListener) error {
	return c.functions[0].Serve(ctx, l)
}

// Ports is how many there are: one of each function.
func (c *Card) Ports() int { return len(c.functions) }

// Port is where a cable goes; the first is 1.
func (c *Card) Port(n int) *wire.Port { return c.functions[n-1].port.Wire() }

// Written counts what was burned: images, and changes of GUIDs and MACs alone.
func (c *Card) Written() (images, guids int) {
	c.world.Do(func() { images, guids = c.regs.Written() })
	return images, guids
}

// boot starts the firmware that is in flash.
func (c *Card) boot() {
	c.Model.Boot()
	c.regs.Reset()
	fw := c.Model.Running()
	c.logf("boots %s %d.%d.%d", fw.PSID, fw.Version[0], fw.Version[1], fw.Version[2])
	for _, f := range c.functions {
		f.start(fw)
	}
}

func (c *Card) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log.Printf(c.Name+": "+format, args...)
	}
}
