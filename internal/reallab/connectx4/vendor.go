//go:build linux

package connectx4

// The vendor-specific capability is the way of tools to the registers: one word at a time,
// in address spaces (mtcr_ul/mtcr_ul_com.c of mstflint, lib/pci_vsc.c of the kernel).
const (
	vendorID        = 0x09
	vendorSize      = 0x18
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

// gateway is the state of the capability.
type gateway struct {
	space          uint32
	counter, taken uint32
	address, data  uint32
}

func (g *gateway) hasSpace() bool {
	switch g.space {
	case spaceCommands, spaceRegisters, spaceCommandsIn, spaceSemaphores:
		return true
	}
	return false
}

func (f *Function) readVendor(at uint32) uint32 {
	g := &f.tools
	switch at {
	case vendorControl:
		if !g.hasSpace() {
			return g.space
		}
		return g.space | spaceIsThere
	case vendorCounter:
		g.counter++
		return g.counter
	case vendorSemaphore:
		return g.taken
	case vendorAddress:
		return g.address
	case vendorData:
		return g.data
	}
	return f.space.Word(capVendor + int(at))
}

func (f *Function) writeVendor(at, v uint32) {
	g := &f.tools
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
			f.setSpace(addr, g.data)
			g.address = addr
			return
		}
		g.data = f.spaceAt(addr)
		g.address = addr | vendorFlag
	case vendorData:
		g.data = v
	}
}

// spaceAt is a word of the space that is chosen.
func (f *Function) spaceAt(addr uint32) uint32 {
	switch f.tools.space {
	case spaceCommands, spaceCommandsIn:
		return f.regs.ReadCommand(addr)
	case spaceRegisters:
		return f.regs.Read(addr)
	case spaceSemaphores:
		return f.semaphores[addr]
	}
	return 0
}

func (f *Function) setSpace(addr, v uint32) {
	switch f.tools.space {
	case spaceCommands, spaceCommandsIn:
		f.regs.WriteCommand(addr, v)
	case spaceRegisters:
		// A flash whose hook has cut the power is the machine's end; its owner ends it.
		_ = f.regs.Write(addr, v)
	case spaceSemaphores:
		if v == 0 {
			delete(f.semaphores, addr)
		} else if f.semaphores[addr] == 0 && len(f.semaphores) < maxSemaphores {
			f.semaphores[addr] = v
		}
	}
}
