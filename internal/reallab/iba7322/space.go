//go:build linux

package iba7322

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// The one region: registers, then send buffers, then a page of registers for each receive
// context, which is the order that init_chip_wc_pat of qib_init.c takes for granted.
// MSI-X is where qib_7322_regs.h has it.
const (
	bar0Size    = 4 << 20
	msixTable   = 0x8000
	msixPending = 0x9000
	vectors     = 32

	smallBuffers = 0x100000 // of 2 KiB packets
	largeBuffers = 0x180000 // of 4 KiB packets, and behind them those of VL 15
	buffersEnd   = largeBuffers + (buffers-smallCount)*largeStride
	contextRegs  = 0x200000
	contextsEnd  = contextRegs + contexts*contextStride
)

// Capabilities in the configuration space.
const (
	capPower   = 0x40
	capExpress = 0x60
	capMSIX    = 0xb0
)

// newSpace makes the configuration space. The region is prefetchable, unlike that of the
// real card: of other memory, firmware leaves less than this behind a port whose card is
// plugged in later.
func newSpace() *pci.Space {
	s := pci.NewSpace(pci.Header{Vendor: 0x1077, Device: device, SubVendor: 0x1077, Subsystem: device, Revision: 2,
		Class: 0x0c0600, // InfiniBand
		BARs:  map[int]uint32{vfiouser.BAR0: pci.Prefetchable64}})
	s.AddPower(capPower)
	s.AddMSIX(capMSIX, vectors, msixTable, msixPending)
	s.AddExpress(capExpress, pci.Link{Lanes: 8, Speeds: 2})
	return s
}

// RegionSize implements vfiouser.Function.
func (*Card) RegionSize(i uint32) uint64 {
	switch i {
	case vfiouser.BAR0:
		return bar0Size
	case vfiouser.Config:
		return pci.SpaceSize
	}
	return 0
}

// Vectors implements vfiouser.Function.
func (*Card) Vectors() uint32 { return vectors }

// ReadRegion implements vfiouser.Function. Registers are little-endian, of eight bytes.
func (c *Card) ReadRegion(i uint32, off uint64, p []byte) {
	c.world.Do(func() {
		if i == vfiouser.Config {
			c.space.Read(int(off), p)
			return
		}
		for n := 0; n < len(p); {
			at := uint32(off) + uint32(n)
			var w [8]byte
			le.PutUint64(w[:], c.read(at&^7))
			n += copy(p[n:], w[at&7:])
		}
	})
}

// WriteRegion implements vfiouser.Function. The driver writes whole registers.
func (c *Card) WriteRegion(i uint32, off uint64, p []byte) {
	c.world.Do(func() {
		switch at := uint32(off); {
		case i == vfiouser.Config:
			c.space.Write(int(off), p)
		case at >= smallBuffers && at < buffersEnd:
			c.fill(at, p)
		case len(p) == 8 && at%8 == 0:
			c.write(at, le.Uint64(p))
		}
	})
}
