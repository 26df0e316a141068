//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// Sizes of the regions, and where MSI-X is in the first. The memory of a card in Tavor
// mode is hidden: it has no region.
const (
	bar0Size  = 1 << 20
	bar2Size  = 8 << 20
	msixTable = 0x82000
	msixBits  = 0x82200
	vectors   = 32
)

// Capabilities in the configuration space.
const (
	capPower   = 0x40
	capVPD     = 0x48
	capExpress = 0x60
	capMSIX    = 0x84
)

// Registers of the driver and of the tools. QUERY_FW tells where those of the event
// queues are.
const (
	regHWID     = 0xf0014
	regReset    = 0xf0010
	regOwner    = 0x8069c // a read of 0 takes the function, a write gives it back
	regClear    = 0xf00d8 // of interrupts that are lines
	regArm      = 0xf00e0 // 64 bits, one for each event queue
	regConsumer = 0xf0200 // 8 bytes for each event queue
	consumerEnd = regConsumer + 8*eventQueues
)

func newSpace(c *Card) *pci.Space {
	device := c.Model.Chip.PCIDevice
	s := pci.NewSpace(pci.Header{Vendor: 0x15b3, Device: device, SubVendor: 0x15b3, Subsystem: device, Revision: c.revision,
		Class: 0x0c0600, // InfiniBand
		BARs:  map[int]uint32{vfiouser.BAR0: pci.Memory64, vfiouser.BAR2: pci.Prefetchable64}})
	s.AddPower(capPower)
	s.AddVPD(capVPD, c.Board.VPD())
	s.AddMSIX(capMSIX, vectors, msixTable, msixBits)
	s.AddExpress(capExpress, pci.Link{Lanes: 8, Speeds: 1})
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
			if len(p) == 8 {
				c.hca.doorbell(off&0xfff, be.Uint32(p), be.Uint32(p[4:]))
			}
		}
	})
}

// read is the register at an address of the chip. All that is not here reads as 0, which
// for the error buffer says that nothing has broken.
func (c *Card) read(addr uint32) uint32 {
	switch {
	case hcr.Contains(addr):
		return c.hcr.Read(addr)
	case addr == regHWID:
		return uint32(c.revision)<<16 | uint32(c.hwid)
	case addr == regOwner:
		if c.owned {
			return 1
		}
		c.owned = true
	}
	return 0
}

func (c *Card) write(addr, v uint32) {
	switch {
	case hcr.Contains(addr):
		if q, started := c.hcr.Write(addr, v); started {
			c.command(q)
		}
	case addr == regReset:
		if v&1 != 0 {
			c.boot()
		}
	case addr == regOwner:
		c.owned = v != 0
	case addr == regArm+4:
		c.hca.armEvents(v)
	case addr >= regConsumer && addr < consumerEnd && addr%8 == 0:
		c.hca.consumed((addr-regConsumer)/8, v)
	}
}
