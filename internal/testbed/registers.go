//go:build testbed && linux

package testbed

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
)

// Device is a card as software sees it on the bus: registers in front of the
// model of flash and firmware. It is safe for concurrent use.
type Device struct {
	// PowerLost is called, in a goroutine of its own, when a hook of the flash
	// cut the power in an operation. Set it before the card is used.
	PowerLost func()

	// Board and RDMA, the name of the RDMA device, are set before the card is used.
	Board Board
	RDMA  string

	mu     sync.Mutex
	card   *card.Card
	regs   *registers.Registers
	off    bool
	window uint32
	vendor *registers.Vendor
	links  [2]string
	users  users
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
	d.off, d.window = false, 0
	d.regs.Reset()
	d.vendor = d.regs.NewVendor()
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

// readConfig is a read of the configuration space. Reads of the data window of
// other sizes than a register see nothing, as the tool never makes them.
func (d *Device) readConfig(off int64, size int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]byte, size)
	if d.off {
		for i := range out {
			out[i] = 0xff
		}
		return out
	}
	if off == registers.WindowData && size == 4 {
		binary.LittleEndian.PutUint32(out, d.regs.Read(d.window))
		return out
	}
	if at := off - capVendor; d.card.Update() != nil && at >= 0 && at < registers.VendorSize && size == 4 {
		if v, ok := d.vendor.Read(uint32(at)); ok {
			binary.LittleEndian.PutUint32(out, v)
			return out
		}
	}
	header := d.header()
	if off < int64(len(header)) {
		copy(out, header[off:])
	}
	return out
}

func (d *Device) writeConfig(off int64, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off || len(data) != 4 {
		return
	}
	var err error
	switch v, at := binary.LittleEndian.Uint32(data), off-capVendor; {
	case off == registers.WindowAddr:
		d.window = v
	case off == registers.WindowData:
		err = d.regs.Write(d.window, v)
	case d.card.Update() != nil && at >= 0 && at < registers.VendorSize:
		err = d.vendor.Write(uint32(at), v)
	}
	if errors.Is(err, card.ErrPowerLost) {
		d.off = true
		if d.PowerLost != nil {
			go d.PowerLost()
		}
	}
}

// header is the standard part of the configuration space and the capabilities.
func (d *Device) header() []byte {
	h := make([]byte, 256)
	binary.LittleEndian.PutUint16(h[0x00:], vendor)
	binary.LittleEndian.PutUint16(h[0x02:], d.pciDevice())
	binary.LittleEndian.PutUint16(h[0x04:], 0x0406) // memory, bus master, no INTx
	binary.LittleEndian.PutUint32(h[0x08:], d.class()<<8)
	binary.LittleEndian.PutUint16(h[0x2c:], vendor)
	binary.LittleEndian.PutUint16(h[0x2e:], subsystem)
	putCapabilities(h, d.card.Update() != nil)
	return h
}

func (d *Device) pciDevice() uint16 {
	if d.card.Running().Loaded {
		return d.card.Chip.PCIDevice
	}
	return d.card.Chip.Recovery
}

// written counts the burns since the card was put in, see registers.Registers.
func (d *Device) written() (images, guids int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.regs.Written()
}
