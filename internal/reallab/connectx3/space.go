//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// Sizes of the regions, and where MSI-X is in the first.
const (
	bar0Size   = 1 << 20
	bar2Size   = 8 << 20
	configSize = 4096
	msixTable  = 0x7c000
	msixBits   = 0x7d000
	vectors    = 32
)

// Capabilities in the configuration space. There is none of the vendor: with one the
// tools would take another way to the registers.
const (
	capPower   = 0x40
	capVPD     = 0x48
	capExpress = 0x60
	capMSIX    = 0x9c
	capSerial  = 0x100
)

// Registers of the driver.
const (
	regHCR   = 0x80680
	regGo    = 0x80698
	regOwner = 0x8069c // a read of 0 takes the function, a write gives it back
	regReset = 0xf0010
	hcrBusy  = 1 << 23
)

// layOut writes the configuration space of a card that has booted fw.
func (c *Card) layOut(fw card.Firmware) {
	h := c.space[:]
	clear(h)
	device := c.Model.Chip.PCIDevice
	if !fw.Loaded {
		device = c.Model.Chip.Recovery
	}
	le.PutUint16(h[0x00:], 0x15b3)
	le.PutUint16(h[0x02:], device)
	le.PutUint16(h[0x06:], 0x0010)      // there are capabilities
	le.PutUint32(h[0x08:], 0x028000<<8) // network controller, other
	le.PutUint32(h[0x10:], 0x4)         // 64 bits
	le.PutUint32(h[0x18:], 0xc)         // 64 bits, prefetchable
	le.PutUint16(h[0x2c:], 0x15b3)
	le.PutUint16(h[0x2e:], 0x0017)
	h[0x34] = capPower
	h[capPower], h[capPower+1] = 0x01, capVPD
	le.PutUint16(h[capPower+2:], 3)
	h[capVPD], h[capVPD+1] = 0x03, capExpress
	h[capExpress], h[capExpress+1] = 0x10, capMSIX
	le.PutUint16(h[capExpress+0x02:], 0x0002)         // version 2, endpoint
	le.PutUint32(h[capExpress+0x04:], 0x8fe2)         // no reset of the function
	le.PutUint32(h[capExpress+0x0c:], 8<<24|8<<4|3)   // port 8, 8 lanes, 8 GT/s
	le.PutUint16(h[capExpress+0x12:], 1<<12|8<<4|3)   // as it is now
	le.PutUint32(h[capExpress+0x2c:], 1<<1|1<<2|1<<3) // the speeds that it can do
	h[capMSIX] = 0x11
	le.PutUint16(h[capMSIX+2:], vectors-1)
	le.PutUint32(h[capMSIX+4:], msixTable)
	le.PutUint32(h[capMSIX+8:], msixBits)
	le.PutUint32(h[capSerial:], 0x00010003)
	le.PutUint32(h[capSerial+4:], uint32(fw.GUIDs[0]))
	le.PutUint32(h[capSerial+8:], uint32(fw.GUIDs[0]>>32))
}

// RegionSize implements vfiouser.Function.
func (*Card) RegionSize(i uint32) uint64 {
	switch i {
	case vfiouser.BAR0:
		return bar0Size
	case vfiouser.BAR2:
		return bar2Size
	case vfiouser.Config:
		return configSize
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
				le.PutUint32(p, c.read(le.Uint32(c.space[registers.WindowAddr:])))
				return
			}
			copy(p, c.space[off:])
		case vfiouser.BAR0:
			for n := range p {
				at := off + uint64(n)
				if n == 0 || at%4 == 0 {
					var w [4]byte
					be.PutUint32(w[:], c.read(uint32(at)&^3))
					copy(p[n:], w[at&3:])
				}
			}
		}
	})
}

// WriteRegion implements vfiouser.Function.
func (c *Card) WriteRegion(i uint32, off uint64, p []byte) {
	c.world.Do(func() {
		switch i {
		case vfiouser.Config:
			c.writeConfig(int(off), p)
		case vfiouser.BAR0:
			for n := 0; n+4 <= len(p) && off%4 == 0; n += 4 {
				c.write(uint32(off)+uint32(n), be.Uint32(p[n:]))
			}
		case vfiouser.BAR2:
			c.hca.doorbell(off, p)
		}
	})
}

// changeable are the ranges of the configuration space that software may write: command,
// cache line to BARs, interrupt line, power state, the window of the tools, device and link
// control, and the enable bits of MSI-X.
var changeable = [][2]int{{0x04, 0x06}, {0x0c, 0x28}, {0x3c, 0x3d}, {capPower + 4, capPower + 6},
	{capVPD + 2, capVPD + 4}, {registers.WindowAddr, registers.WindowAddr + 4}, {capExpress + 8, capExpress + 10},
	{capExpress + 16, capExpress + 18},
	{capMSIX + 3, capMSIX + 4}}

func (c *Card) writeConfig(off int, p []byte) {
	if off == registers.WindowData && len(p) == 4 {
		c.write(le.Uint32(c.space[registers.WindowAddr:]), le.Uint32(p))
		return
	}
	for n, v := range p {
		for _, r := range changeable {
			if at := off + n; at >= r[0] && at < r[1] {
				c.space[at] = v
			}
		}
	}
	if off <= capVPD+3 && off+len(p) > capVPD+3 {
		c.readVPD()
	}
}

// readVPD fetches four bytes of the vital product data, at the address that was written.
// Bit 15 says that they are there; a write of them changes nothing.
func (c *Card) readVPD() {
	at := le.Uint16(c.space[capVPD+2:])
	if at&0x8000 != 0 {
		le.PutUint16(c.space[capVPD+2:], at&^0x8000)
		return
	}
	var word [4]byte
	if int(at) < len(c.vpd) {
		copy(word[:], c.vpd[at:])
	}
	copy(c.space[capVPD+4:], word[:])
	le.PutUint16(c.space[capVPD+2:], at|0x8000)
}

// read is the register at an address of the chip.
func (c *Card) read(addr uint32) uint32 {
	switch {
	case addr >= bar0Size:
		return 0
	case addr >= regHCR && addr <= regGo:
		return c.hcr[(addr-regHCR)/4]
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
	case addr == regGo:
		if c.hcr[6] = v; v&hcrBusy != 0 {
			c.command(v)
		}
	case addr >= regHCR && addr < regGo:
		c.hcr[(addr-regHCR)/4] = v
	case addr == regOwner:
		c.owned = v != 0
	default:
		// A flash whose hook has cut the power is the machine's end; its owner ends it.
		_ = c.regs.Write(addr, v)
	}
}
