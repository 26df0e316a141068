//go:build testbed && linux

package testbed

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/ibsim"
)

// Registers of the chip's own address space (ConnectX-3, ConnectX-3 Pro).
const (
	regHWID        = 0xf0014
	regMajor       = 0x1f064 // version of the running firmware, bits 31:16
	regMinor       = 0x1f068 // bits 31:16 minor, 15:0 subminor
	regSemaphores  = 0xf0380
	regToolLock    = 0xf03a0 // see read
	regFlashLock   = 0xf03fc // guards the flash; also the last of the semaphores
	regGateway     = 0xf0400
	regGatewayAddr = 0xf0404
	regGatewayData = 0xf0410 // 16 bytes
	gatewayData    = 16
)

// Offsets in the configuration space through which the tool reaches them.
const (
	windowAddr = 0x58
	windowData = 0x5c
)

// Device is a card as software sees it on the bus: registers in front of the
// model of flash and firmware. It is safe for concurrent use.
type Device struct {
	// PowerLost is called, in a goroutine of its own, when a hook of the flash
	// cut the power in an operation. Set it before the card is used.
	PowerLost func()

	// Changed is called when the power or the type of a port has changed. Set it
	// before the card is used.
	Changed func()

	// Relinked is called when the driver has given a port another type. Set it before
	// the card is used.
	Relinked func()

	// Board and RDMA, the name of the RDMA device, are set before the card is used.
	Board Board
	RDMA  string
	// Netdevs are the card's IPoIB interfaces and the port of each, which a subnet
	// manager serves. They are set before the card is used.
	Netdevs map[string]int
	// Description is what the driver calls the node, as rdma-ndd sets it.
	Description string

	// HCA is where the card's cables end. Datagrams of the second port get no
	// answer: see package ibsim.
	HCA  *ibsim.HCA
	deaf *ibsim.HCA

	mu     sync.Mutex
	card   *card.Card
	off    bool
	window uint32
	regs   map[uint32]uint32
	spi    spi
	links  [2]string
	box    mailbox
	// stored is the part of the non-volatile configuration that the model does
	// not hold, by group and port.
	stored map[[2]uint32][]uint32
	// inFlash is the firmware that was in flash before the last burn, burns what
	// each burn found and left.
	inFlash card.Firmware
	burns   [][2]card.Firmware
	users   users
}

// NewDevice puts registers in front of a card and switches it on.
func NewDevice(c *card.Card) *Device {
	d := &Device{Netdevs: map[string]int{}, RDMA: strings.TrimSuffix(c.Chip.Driver(), "core") + "0", HCA: &ibsim.HCA{},
		deaf: &ibsim.HCA{}}
	d.Insert(c)
	return d
}

// Insert replaces the card, as a hand in the machine does, and switches it on.
func (d *Device) Insert(c *card.Card) {
	d.mu.Lock()
	d.card, d.burns = c, nil
	if img, err := c.Flash.Active(); err == nil {
		d.inFlash = img.Firmware()
	}
	d.mu.Unlock()
	d.PowerOn()
}

// Card is the model behind the registers.
func (d *Device) Card() *card.Card {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.card
}

// notifyChange tells of a change. The caller does not hold the lock.
func (d *Device) notifyChange() {
	if d.Changed != nil {
		d.Changed()
	}
}

// PowerOn resets the registers and boots what is in flash. Links go down for it.
func (d *Device) PowerOn() {
	d.PowerOff()
	defer d.notifyChange()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off, d.window, d.regs, d.spi = false, 0, map[uint32]uint32{}, spi{blocks: d.card.Chip.Format != card.FS2}
	d.card.Boot()
	d.HCA.Reset()
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

// FreeSemaphores does what "mstflint -clear_semaphore" is for.
func (d *Device) FreeSemaphores() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.card.ReleaseSemaphore()
	// Which one guards the gateway depends on the chip.
	for a := uint32(regSemaphores); a < regFlashLock; a += 4 {
		delete(d.regs, a)
	}
	d.regs[regGateway] &^= gwLock // of ConnectX-4 and later
}

// PowerOff makes the card deaf.
func (d *Device) PowerOff() {
	defer d.notifyChange()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

func (d *Device) powered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.off
}

// onFabric reports whether a port of the card speaks InfiniBand.
func (d *Device) onFabric() bool { return d.Card().Running().Loaded && (d.isIB(0) || d.isIB(1)) }

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
	if off == windowData && size == 4 {
		binary.LittleEndian.PutUint32(out, d.read(d.window))
		return out
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
	switch v := binary.LittleEndian.Uint32(data); off {
	case windowAddr:
		d.window = v
	case windowData:
		d.write(d.window, v)
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
	putCapabilities(h)
	return h
}

func (d *Device) pciDevice() uint16 {
	if d.card.Running().Loaded {
		return d.card.Chip.PCIDevice
	}
	return d.card.Chip.Recovery
}

func (d *Device) read(addr uint32) uint32 {
	switch {
	case addr == regHWID:
		return uint32(d.card.Rev)<<16 | uint32(d.card.Chip.HWID)
	case d.card.Chip.Format != card.FS2 && (addr == regMajor || addr == regMinor):
		return 0 // its firmware gives the version to a command only
	case addr == regMajor:
		return uint32(d.card.Running().Version[0]) << 16
	case addr == regMinor:
		v := d.card.Running().Version
		return uint32(v[1])<<16 | uint32(v[2])
	case addr == regFlashLock:
		if d.card.TakeSemaphore() {
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
		v := d.regs[addr]
		d.regs[addr] = 1
		return v
	}
	return d.regs[addr]
}

func (d *Device) write(addr, v uint32) {
	switch {
	case addr == regFlashLock && v == 0:
		d.card.ReleaseSemaphore()
	case addr == regGateway && v&gwBusy != 0:
		d.command(v)
		d.regs[addr] = v &^ uint32(gwBusy)
	case addr == hcrCommand && v&hcrGo != 0 && d.card.Chip.Format == card.FS2:
		d.regs[addr] = d.toolCommand(v)
	default:
		d.regs[addr] = v
	}
}

// noteBurn notes that an image was completed.
func (d *Device) noteBurn(at uint32) {
	img, err := d.card.Flash.At(at)
	if err != nil {
		return
	}
	d.burns = append(d.burns, [2]card.Firmware{d.inFlash, img.Firmware()})
	d.inFlash = img.Firmware()
}

// burnList gives the burns since the card was put in: what each found and left.
func (d *Device) burnList() [][2]card.Firmware {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.burns)
}

// command runs one access of the flash gateway.
func (d *Device) command(v uint32) {
	data := make([]byte, gatewayData)
	for i := 0; i < gatewayData; i += 4 {
		binary.BigEndian.PutUint32(data[i:], d.regs[regGatewayData+uint32(i)])
	}
	d.spi.signed = false
	err := d.spi.access(d.card.Flash, v, d.regs[regGatewayAddr], data)
	if d.spi.signed {
		d.noteBurn(d.spi.start)
	}
	for i := 0; i < gatewayData; i += 4 {
		d.regs[regGatewayData+uint32(i)] = binary.BigEndian.Uint32(data[i:])
	}
	if errors.Is(err, card.ErrPowerLost) {
		d.off = true
		if d.PowerLost != nil {
			go d.PowerLost()
		}
	}
}
