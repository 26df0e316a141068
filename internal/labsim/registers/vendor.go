package registers

// Offsets from the vendor-specific capability, the way of tools to the registers of
// ConnectX-4 and later: one word at a time, in address spaces (mtcr_ul/mtcr_ul_com.c of
// mstflint, lib/pci_vsc.c of the kernel).
const (
	VendorID        = 0x09
	VendorSize      = 0x18
	vendorControl   = 0x04 // the space, and whether it is there
	vendorCounter   = 0x08 // another number at each read
	vendorSemaphore = 0x0c // taken with a number of the counter
	vendorAddress   = 0x10 // bit 31 starts a write; it is set when a read has ended
	vendorData      = 0x14
	vendorFlag      = 1 << 31
)

// Address spaces. mstflint wants the first three, or takes a way through datagrams.
const (
	spaceCommands   = 0x1
	spaceRegisters  = 0x2
	spaceCommandsIn = 0x3
	spaceSemaphores = 0xa
	spaceIsThere    = 1 << 29
)

// maxSemaphores bounds those that are taken at once.
const maxSemaphores = 256

// Vendor is the capability of one function, as it is after a reset. The functions of a
// card share its registers and the semaphores of tools.
type Vendor struct {
	regs           *Registers
	space          uint32
	counter, taken uint32
	address, data  uint32
}

// NewVendor is the capability of a function that has been reset.
func (r *Registers) NewVendor() *Vendor { return &Vendor{regs: r} }

func (g *Vendor) hasSpace() bool {
	switch g.space {
	case spaceCommands, spaceRegisters, spaceCommandsIn, spaceSemaphores:
		return true
	}
	return false
}

// Read is the word at an offset from the capability; false for its head, which is the
// function's own.
func (g *Vendor) Read(at uint32) (uint32, bool) {
	switch at {
	case vendorControl:
		if !g.hasSpace() {
			return g.space, true
		}
		return g.space | spaceIsThere, true
	case vendorCounter:
		g.counter++
		return g.counter, true
	case vendorSemaphore:
		return g.taken, true
	case vendorAddress:
		return g.address, true
	case vendorData:
		return g.data, true
	}
	return 0, false
}

// Write stores a word there, and does what it starts. Its only error is card.ErrPowerLost,
// as that of Registers.Write.
func (g *Vendor) Write(at, v uint32) error {
	switch at {
	case vendorControl:
		g.space = v & 0xffff
	case vendorSemaphore:
		if v == 0 || g.taken == 0 {
			g.taken = v
		}
	case vendorAddress:
		addr := v &^ (3 << 30)
		if v&vendorFlag != 0 {
			g.address = addr
			return g.setSpace(addr, g.data)
		}
		g.data = g.spaceAt(addr)
		g.address = addr | vendorFlag
	case vendorData:
		g.data = v
	}
	return nil
}

// spaceAt is a word of the space that is chosen.
func (g *Vendor) spaceAt(addr uint32) uint32 {
	switch g.space {
	case spaceCommands, spaceCommandsIn:
		return g.regs.ReadCommand(addr)
	case spaceRegisters:
		return g.regs.Read(addr)
	case spaceSemaphores:
		return g.regs.semaphores[addr]
	}
	return 0
}

func (g *Vendor) setSpace(addr, v uint32) error {
	switch g.space {
	case spaceCommands, spaceCommandsIn:
		return g.regs.WriteCommand(addr, v)
	case spaceRegisters:
		return g.regs.Write(addr, v)
	case spaceSemaphores:
		g.regs.take(addr, v)
	}
	return nil
}

// take takes a semaphore of tools with a number, or frees it with zero.
func (r *Registers) take(addr, v uint32) {
	if v == 0 {
		delete(r.semaphores, addr)
	} else if r.semaphores[addr] == 0 && len(r.semaphores) < maxSemaphores {
		r.semaphores[addr] = v
	}
}
