//go:build linux

package connectx4

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// Sizes of the regions, and where MSI-X is in the first. It is log2 logBAR MiB long, which
// the capabilities say, too.
const (
	logBAR    = 5
	bar0Size  = 1 << 20 << logBAR
	msixTable = 0x6000
	msixBits  = 0x7000
	vectors   = 16
	pageSize  = 4096
	firstUAR  = 0x10 // pages before it are registers
)

// Capabilities in the configuration space.
const (
	capPower   = 0x40
	capVPD     = 0x48
	capExpress = 0x60
	capMSIX    = 0x9c
	capVendor  = 0xc0
)

// Registers of the initialization segment.
const (
	regFirmware  = 0x0000
	regInterface = 0x0004
	regQueueHigh = 0x0010
	regQueueLow  = 0x0014
	regDoorbell  = 0x0018
	regState     = 0x01fc // bit 31: the firmware still initializes
	regClockHigh = 0x1000
	regClockLow  = 0x1004
	regHealth    = 0x1010 // syndrome, and a counter that moves
)

// commandRevision is that of the command interface.
const commandRevision = 5

// newSpace is the configuration space of a card that has booted fw.
func newSpace(f *Function, fw card.Firmware) *pci.Space {
	device, class := f.Model.Chip.PCIDevice, uint32(0x020700) // InfiniBand controller
	if !fw.Loaded {
		device = f.Model.Chip.Recovery
	}
	if !f.infiniBand() {
		class = 0x020000 // Ethernet controller
	}
	s := pci.NewSpace(pci.Header{Vendor: 0x15b3, Device: device, SubVendor: 0x15b3, Subsystem: 0x0008, Class: class,
		BARs: map[int]uint32{vfiouser.BAR0: pci.Prefetchable64}})
	s.AddPower(capPower)
	s.AddVPD(capVPD, f.Board.VPD())
	s.AddExpress(capExpress, pci.Link{Lanes: 16, Speeds: 3})
	s.AddMSIX(capMSIX, vectors, msixTable, msixBits)
	s.Capability(capVendor, registers.VendorID)[2] = registers.VendorSize
	s.AddSerial(f.guid())
	return s
}

// RegionSize implements vfiouser.Function.
func (*Function) RegionSize(i uint32) uint64 {
	switch i {
	case vfiouser.BAR0:
		return bar0Size
	case vfiouser.Config:
		return pci.SpaceSize
	}
	return 0
}

// Vectors implements vfiouser.Function.
func (*Function) Vectors() uint32 { return vectors }

// ReadRegion implements vfiouser.Function. Registers are big-endian in the first BAR.
func (f *Function) ReadRegion(i uint32, off uint64, p []byte) {
	f.world.Do(func() {
		switch i {
		case vfiouser.Config:
			if at := off - capVendor; off >= capVendor && at < registers.VendorSize && len(p) == 4 {
				le.PutUint32(p, f.readVendor(uint32(at)))
				return
			}
			f.space.Read(int(off), p)
		case vfiouser.BAR0:
			pci.ReadWords(off, p, f.register)
		}
	})
}

// WriteRegion implements vfiouser.Function.
func (f *Function) WriteRegion(i uint32, off uint64, p []byte) {
	f.world.Do(func() {
		switch i {
		case vfiouser.Config:
			if at := off - capVendor; off >= capVendor && at < registers.VendorSize && len(p) == 4 {
				f.writeVendor(uint32(at), le.Uint32(p))
				return
			}
			f.space.Write(int(off), p)
		case vfiouser.BAR0:
			if off >= firstUAR*pageSize {
				f.hca.doorbell(off, p)
				return
			}
			pci.WriteWords(off, p, f.setRegister)
		}
	})
}

// clockMHz is the frequency of the chip's clock.
const clockMHz = 156

// register is a register of the initialization segment.
func (f *Function) register(addr uint32) uint32 {
	fw, age := f.Model.Running(), time.Since(f.begin)
	clock := uint64(age.Microseconds()) * clockMHz
	switch addr {
	case regFirmware:
		return uint32(fw.Version[1])<<16 | uint32(fw.Version[0])
	case regInterface:
		return commandRevision<<16 | uint32(fw.Version[2])
	case regQueueHigh:
		return uint32(f.hca.queue >> 32)
	case regQueueLow:
		return uint32(f.hca.queue) | logEntries<<4 | logEntrySize
	case regState:
		return uint32(flag(!fw.Loaded)) << 31
	case regClockHigh:
		return uint32(clock >> 32)
	case regClockLow:
		return uint32(clock)
	case regHealth:
		return uint32(age.Milliseconds()/10) & 0xffffff
	}
	return 0
}

func (f *Function) setRegister(addr, v uint32) {
	h := f.hca
	switch addr {
	case regQueueHigh:
		h.queue = uint64(v)<<32 | h.queue&0xffffffff
	case regQueueLow:
		h.queue = h.queue&^0xffffffff | uint64(v&^(pageSize-1))
	case regDoorbell:
		h.commands(v)
	}
}
