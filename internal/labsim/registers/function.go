package registers

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Identity of the board on the bus, whatever its firmware.
const (
	PCIVendor    = 0x15b3
	PCISubsystem = 0x0055
)

// ConfigSize is that of the configuration space.
const ConfigSize = 4096

// Capabilities of the function, where ConnectX-3 has them. That of the vendor is the way to
// firmware that writes its own flash. Others have none here: with it the tools would take
// another way to the registers.
const (
	capVPD     = 0x48
	capExpress = 0x60
	capVendor  = 0xa0
)

// Function is the configuration space of a card's PCI function, through which tools reach the
// registers where its memory is not mapped. It is not safe for concurrent use.
type Function struct {
	regs   *Registers
	vendor *Vendor
	window uint32
}

// NewFunction is the function of a card whose registers have been reset.
func (r *Registers) NewFunction() *Function { return &Function{regs: r, vendor: r.NewVendor()} }

// Read is a read of the configuration space. Reads of the data window of other sizes than a
// register see nothing, as the tool never makes them.
func (f *Function) Read(off int64, size int) []byte {
	out := make([]byte, size)
	if off == WindowData && size == 4 {
		binary.LittleEndian.PutUint32(out, f.regs.Read(f.window))
		return out
	}
	if at := off - capVendor; f.regs.card.Update() != nil && at >= 0 && at < VendorSize && size == 4 {
		if v, ok := f.vendor.Read(uint32(at)); ok {
			binary.LittleEndian.PutUint32(out, v)
			return out
		}
	}
	if header := f.header(); off < int64(len(header)) {
		copy(out, header[off:])
	}
	return out
}

// Write is a write to the configuration space. Its only error is card.ErrPowerLost, as that
// of Registers.Write.
func (f *Function) Write(off int64, data []byte) error {
	if len(data) != 4 {
		return nil
	}
	switch v, at := binary.LittleEndian.Uint32(data), off-capVendor; {
	case off == WindowAddr:
		f.window = v
	case off == WindowData:
		return f.regs.Write(f.window, v)
	case f.regs.card.Update() != nil && at >= 0 && at < VendorSize:
		return f.vendor.Write(uint32(at), v)
	}
	return nil
}

// DeviceID is that of the running firmware on the bus.
func DeviceID(c *card.Card) uint16 {
	if c.Running().Loaded {
		return c.Chip.PCIDevice
	}
	return c.Chip.Recovery
}

// Class is the PCI class: VPI firmware calls the function a network controller of no kind, and
// the recovery mode a memory controller.
func Class(c *card.Card) uint32 {
	switch fw := c.Running(); {
	case !fw.Loaded:
		return 0x058000
	case fw.VPI:
		return 0x028000
	}
	return 0x020000
}

// header is the standard part of the configuration space and the capabilities.
func (f *Function) header() []byte {
	c := f.regs.card
	h := make([]byte, 256)
	le := binary.LittleEndian
	le.PutUint16(h[0x00:], PCIVendor)
	le.PutUint16(h[0x02:], DeviceID(c))
	le.PutUint16(h[0x04:], 0x0406) // memory, bus master, no INTx
	le.PutUint16(h[0x06:], 0x0010) // there is a list of capabilities
	le.PutUint32(h[0x08:], Class(c)<<8)
	le.PutUint16(h[0x2c:], PCIVendor)
	le.PutUint16(h[0x2e:], PCISubsystem)
	h[0x34] = capVPD
	h[capVPD], h[capVPD+1] = 0x03, capExpress
	h[capExpress] = 0x10
	if c.Update() != nil {
		h[capExpress+1] = capVendor
		h[capVendor], h[capVendor+2] = VendorID, VendorSize
	}
	le.PutUint16(h[capExpress+0x02:], 0x0002)               // version 2, endpoint
	le.PutUint32(h[capExpress+0x0c:], 8<<24|8<<4|3)         // port 8, 8 lanes, 8 GT/s
	le.PutUint16(h[capExpress+0x12:], 8<<4|3)               // as it is now
	le.PutUint32(h[capExpress+0x2c:], (1<<1 | 1<<2 | 1<<3)) // the speeds that it can do
	return h
}
