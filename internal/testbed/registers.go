//go:build testbed && linux

package testbed

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// Board is what the maker wrote about a board into its vital product data.
type Board = registers.Board

// Device is a card as software sees it on the bus: registers in front of the
// model of flash and firmware. It is safe for concurrent use.
type Device struct {
	// PowerLost is called, in a goroutine of its own, when a hook of the flash
	// cut the power in an operation. Set it before the card is used.
	PowerLost func()

	// Board and RDMA, the name of the RDMA device, are set before the card is used.
	Board Board
	RDMA  string

	mu       sync.Mutex
	card     *card.Card
	regs     *registers.Registers
	off      bool
	function *registers.Function
	links    [2]string
	users    users
}

// NewDevice puts registers in front of a card and switches it on.
func NewDevice(c *card.Card) *Device {
	d := &Device{RDMA: strings.TrimSuffix(c.Chip.Driver(), "core") + "0"}
	d.Insert(c)
	return d
}

// Insert replaces the card, as a hand in the machine does, and switches it on.
func (d *Device) Insert(c *card.Card) {
	d.mu.Lock()
	d.card, d.regs = c, registers.Of(c)
	d.mu.Unlock()
	d.PowerOn()
}

// Card is the model behind the registers.
func (d *Device) Card() *card.Card {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.card
}

// PowerOn resets the registers and boots what is in flash.
func (d *Device) PowerOn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = false
	d.regs.Reset()
	d.function = d.regs.NewFunction()
	d.card.Boot()
	fw := d.card.Running()
	for i := range d.links {
		d.links[i] = bootLink(fw, i)
	}
}

// bootLink is the type that mlx4_core gives a port when it loads.
func bootLink(fw card.Firmware, i int) string {
	switch {
	case fw.VPI && fw.Config.LinkType[i] == card.LinkIB:
		return "ib"
	case fw.VPI && fw.Config.LinkType[i] == card.LinkVPI:
		return "auto (eth)"
	}
	return "eth"
}

// PowerOff makes the card deaf.
func (d *Device) PowerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// Read is a read of the configuration space.
func (d *Device) Read(off int64, size int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return bytes.Repeat([]byte{0xff}, size)
	}
	return d.function.Read(off, size)
}

// Write is a write to it, by a process.
func (d *Device) Write(pid uint32, off int64, data []byte) {
	d.usedBy(pid)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off || !errors.Is(d.function.Write(off, data), card.ErrPowerLost) {
		return
	}
	d.off = true
	if d.PowerLost != nil {
		go d.PowerLost()
	}
}

// written counts the burns since the card was put in, see registers.Registers.
func (d *Device) written() (images, guids int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.regs.Written()
}
