// Package registers is the address space of a chip as tools see it: identification,
// semaphores, the flash gateway and the tools' command interface, in front of the model
// of package card. The testbed serves it through a file, the lab of real kernels through
// the configuration space and the first BAR of an emulated PCI function.
//
// It must not hold a second model of flash or firmware, nor know how it is reached.
package registers

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Registers of the chip's own address space (ConnectX-3, ConnectX-3 Pro).
const (
	regHWID        = 0xf0014
	regMajor       = 0x1f064 // version of the running firmware, bits 31:16
	regMinor       = 0x1f068 // bits 31:16 minor, 15:0 subminor
	regSemaphores  = 0xf0380
	regToolLock    = 0xf03a0 // see Read
	regFlashLock   = 0xf03fc // guards the flash; also the last of the semaphores
	regGateway     = 0xf0400
	regGatewayAddr = 0xf0404
	regGatewayData = 0xf0410 // 16 bytes
	gatewayData    = 16
	space          = 1 << 20 // where the addresses end
)

// Offsets in the configuration space through which tools reach the registers: an
// address is written to the first, and the second is the word there.
const (
	WindowAddr = 0x58
	WindowData = 0x5c
)

// Registers are those of one card. They are not safe for concurrent use.
type Registers struct {
	card       *card.Card
	regs       map[uint32]uint32
	spi        spi
	box        mailbox
	icmd       uint32            // control of the command interface of ConnectX-4 and later
	semaphores map[uint32]uint32 // of tools, see Vendor
	// stored is the part of the non-volatile configuration that the model does
	// not hold, by group and port.
	stored map[[2]uint32][]uint32
	// inFlash is the firmware that the last burn left in flash. Burns are counted: those of an
	// image, and those of GUIDs alone.
	inFlash       card.Firmware
	images, guids int
}

// Of puts registers in front of a card. Reset them before use.
func Of(c *card.Card) *Registers {
	r := &Registers{card: c}
	if img, err := c.Flash.Active(); err == nil {
		r.inFlash = img.Firmware()
	}
	return r
}

// Reset is what power does to them. It does not boot the card.
func (r *Registers) Reset() {
	r.regs, r.spi = map[uint32]uint32{}, spi{blocks: r.card.Chip.Format != card.FS2}
	r.box, r.icmd, r.semaphores = mailbox{}, 0, map[uint32]uint32{}
}

// Written counts the burns: those of an image, and those that changed nothing but GUIDs
// and MACs.
func (r *Registers) Written() (images, guids int) { return r.images, r.guids }

// Read is the word at an address, which is a multiple of four.
func (r *Registers) Read(addr uint32) uint32 {
	switch {
	case addr == regHWID:
		return uint32(r.card.Rev)<<16 | uint32(r.card.Chip.HWID)
	case r.card.Chip.Format != card.FS2 && (addr == regMajor || addr == regMinor):
		return 0 // its firmware gives the version to a command only
	case addr == regMajor:
		return uint32(r.card.Running().Version[0]) << 16
	case addr == regMinor:
		v := r.card.Running().Version
		return uint32(v[1])<<16 | uint32(v[2])
	case addr == regFlashLock:
		if r.card.TakeSemaphore() {
			return 0
		}
		return 1
	case addr == regToolLock:
		// mstflint waits until this one is 0. A card on which a read takes it, as it
		// takes its neighbours, keeps two runs of the tool apart. Whether real cards do
		// is not known, so that this one does not: what must not hurt must not hurt here.
		return 0
	case addr >= regSemaphores && addr < regFlashLock:
		// A read takes a free semaphore.
		v := r.regs[addr]
		r.regs[addr] = 1
		return v
	}
	return r.regs[addr]
}

// Write stores a word, and does what it starts. Its only error is card.ErrPowerLost: a
// hook of the flash has cut the power in an operation.
func (r *Registers) Write(addr, v uint32) error {
	switch {
	case addr == regFlashLock && v == 0:
		r.card.ReleaseSemaphore()
	case addr == regGateway && v&gwBusy != 0:
		err := r.command(v)
		r.regs[addr] = v &^ uint32(gwBusy)
		return err
	case addr == hcrCommand && v&hcrGo != 0 && r.card.Chip.Format == card.FS2:
		r.regs[addr] = r.toolCommand(v)
	case addr < space:
		r.regs[addr] = v
	}
	return nil
}

// noteBurn notes that an image was completed.
func (r *Registers) noteBurn(at uint32) {
	img, err := r.card.Flash.At(at)
	if err != nil {
		return
	}
	old, fresh := r.inFlash, img.Firmware()
	if old.PSID == fresh.PSID && old.Version == fresh.Version && (old.GUIDs != fresh.GUIDs || old.MACs != fresh.MACs) {
		r.guids++
	} else {
		r.images++
	}
	r.inFlash = fresh
}

// command runs one access of the flash gateway.
func (r *Registers) command(v uint32) error {
	data := make([]byte, gatewayData)
	for i := 0; i < gatewayData; i += 4 {
		binary.BigEndian.PutUint32(data[i:], r.regs[regGatewayData+uint32(i)])
	}
	r.spi.signed = false
	err := r.spi.access(r.card.Flash, v, r.regs[regGatewayAddr], data)
	if r.spi.signed {
		r.noteBurn(r.spi.start)
	}
	for i := 0; i < gatewayData; i += 4 {
		r.regs[regGatewayData+uint32(i)] = binary.BigEndian.Uint32(data[i:])
	}
	return err
}
