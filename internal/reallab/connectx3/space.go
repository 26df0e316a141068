//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// Sizes of the regions, and where MSI-X is in the first.
const (
	bar0Size  = 1 << 20
	bar2Size  = 8 << 20
	msixTable = 0x7c000
	msixBits  = 0x7d000
	vectors   = 32
)

// Capabilities in the configuration space. There is none of the vendor: with one the
// tools would take another way to the registers.
const (
	capPower   = 0x40
	capVPD     = 0x48
	capExpress = 0x60
	capMSIX    = 0x9c
)

// Registers of the driver.
const (
	regOwner = 0x8069c // a read of 0 takes the function, a write gives it back
	regReset = 0xf0010
)

// newSpace is the configuration space of a card that has booted fw.
func newSpace(c *Card, fw card.Firmware) *pci.Space {
	device := c.Model.Chip.PCIDevice
	if !fw.Loaded {
		device = c.Model.Chip.Recovery
	}
	s := pci.NewSpace(pci.Header{Vendor: 0x15b3, Device: device, SubVendor: 0x15b3, Subsystem: 0x0017,
		Class: 0x028000, // network controller, other
		BARs:  map[int]uint32{vfiouser.BAR0: pci.Memory64, vfiouser.BAR2: pci.Prefetchable64}})
	s.AddPower(capPower)
	s.AddVPD(capVPD, c.Board.VPD())
	s.AddExpress(capExpress, pci.Link{Lanes: 8, Speeds: 3})
	s.AddMSIX(capMSIX, vectors, msixTable, msixBits)
	s.AddSerial(fw.GUIDs[0])
	s.Allow(registers.WindowAddr, registers.WindowAddr+4)
	return s
}

// RegionSize implements vfiouser.Function.
func (*Card) RegionSize(i uint32) uint64 {
	switch i {
	case vfiouser.BAR0:
		return bar0Size
	case vfiouser.BAR2:
		return bar2Size
	case vfiouser.Config:
		return pci.SpaceSize
	}
	return 0
}

// Vectors implements vfiouser.Function.
func (*Card) Vectors() uint32 { return vectors }

// ReadRegion implements vfiouser.Function. Registers are big-endian in the first BAR.
func (c *Card) ReadRegion(i uint32, off uint64, p []byte) {
	c.world.Do(func() {
		switch i {
		case vfiouser.Config:
			if off == registers.WindowData && len(p) == 4 {
				le.PutUint32(p, c.read(c.space.Word(registers.WindowAddr)))
				return
			}
			c.space.Read(int(off), p)
		case vfiouser.BAR0:
			pci.ReadWords(off, p, c.read)
		}
	})
}

// WriteRegion implements vfiouser.Function.
func (c *Card) WriteRegion(i uint32, off uint64, p []byte) {
	c.world.Do(func() {
		switch i {
		case vfiouser.Config:
			if off == registers.WindowData && len(p) == 4 {
				c.write(c.space.Word(registers.WindowAddr), le.Uint32(p))
				return
			}
			c.space.Write(int(off), p)
		case vfiouser.BAR0:
			pci.WriteWords(off, p, c.write)
		case vfiouser.BAR2:
			c.hca.doorbell(off, p)
		}
	})
}

// read is the register at an address of the chip.
func (c *Card) read(addr uint32) uint32 {
	switch {
	case addr >= bar0Size:
		return 0
	case hcr.Contains(addr):
		return c.hcr.Read(addr)
	case addr == regOwner:
		if c.owned {
			return 1
		}
		c.owned = true
		return 0
	}
	return c.regs.Read(addr)
}

func (c *Card) write(addr, v uint32) {
	switch {
	case addr >= bar0Size:
	case addr == regReset:
		if v&1 != 0 {
			c.boot()
		}
	case hcr.Contains(addr):
		if q, started := c.hcr.Write(addr, v); started {
			c.command(q)
		}
	case addr == regOwner:
		c.owned = v != 0
	default:
		// A flash whose hook has cut the power is the machine's end; its owner ends it.
		_ = c.regs.Write(addr, v)
	}
}
