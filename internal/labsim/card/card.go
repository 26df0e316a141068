// Package card is the model of one ConnectX adapter, from ConnectX-3 to ConnectX-7:
// its flash holds the bytes of an FS2, FS3 or FS4 image in the two-slot layout, the
// firmware it booted is separate from it, and so is the non-volatile configuration.
//
// It reads the formats by itself, and must not import the provider's parser: the two
// check each other. What it reads is built by package synth.
package card

import (
	"maps"
	"sync"
)

// Chip is a kind of adapter silicon.
type Chip struct {
	Name      string // as mstflint prints it
	Family    string // as lspci prints it
	HWID      uint16
	PCIDevice uint16
	Recovery  uint16 // PCI id without bootable firmware
	Format    string // of its images
	Ports     int    // of one PCI function
}

// Driver is the kernel's.
func (c Chip) Driver() string {
	if c.Format == FS3 || c.Format == FS4 {
		return "mlx5_core"
	}
	return "mlx4_core"
}

// The simulated chips.
var (
	ConnectX3    = Chip{"ConnectX-3", "MT27500 Family [ConnectX-3]", 0x1f5, 0x1003, 0x01f6, FS2, 2}
	ConnectX3Pro = Chip{"ConnectX-3Pro", "MT27520 Family [ConnectX-3 Pro]", 0x1f7, 0x1007, 0x01f8, FS2, 2}
	ConnectX4    = Chip{"ConnectX-4", "MT27700 Family [ConnectX-4]", 0x209, 0x1013, 0x0209, FS3, 1}
	ConnectX5    = Chip{"ConnectX-5", "MT27800 Family [ConnectX-5]", 0x20d, 0x1017, 0x020d, FS4, 1}
	ConnectX6    = Chip{"ConnectX-6", "MT28908 Family [ConnectX-6]", 0x20f, 0x101b, 0x020f, FS4, 1}
	ConnectX6Dx  = Chip{"ConnectX-6 Dx", "MT2892 Family [ConnectX-6 Dx]", 0x212, 0x101d, 0x0212, FS4, 1}
	ConnectX6Lx  = Chip{"ConnectX-6 Lx", "MT2894 Family [ConnectX-6 Lx]", 0x216, 0x101f, 0x0216, FS4, 1}
	ConnectX7    = Chip{"ConnectX-7", "MT2910 Family [ConnectX-7]", 0x218, 0x1021, 0x0218, FS4, 1}
)

// Values of LINK_TYPE_Pn.
const (
	LinkUnset = 0 // never configured: the firmware's own default, Ethernet
	LinkIB    = 1
	LinkETH   = 2
	LinkVPI   = 3
)

// NV is the non-volatile configuration; index 0 is port 1.
type NV struct{ LinkType [2]int }

// Firmware is what a card booted.
type Firmware struct {
	Loaded  bool
	Version [3]uint16
	PSID    string
	Device  uint16 // PCI device id of the image
	VPI     bool   // InfiniBand capable; an EN image is not
	GUIDs   [4]uint64
	MACs    [2]uint64
	Config  NV // the configuration it booted with
}

// Config describes a card to be made.
type Config struct {
	Chip     Chip
	Rev      uint8
	Image    []byte // image file in flash at delivery
	GUIDs    [4]uint64
	MACs     [2]uint64 // of ConnectX-4 and later the first of each is the base of four
	Previous []byte    // an older image, dead, in the other slot

	// ConnectX-4 and later only.
	Functions int    // ports of the board, each a PCI function of its own; one if 0
	OrigPSID  string // that the board was made with; default that of the image
	LockGUIDs bool   // the board does not allow them to be set

	// Stored and Settings are the configuration that it has stored at delivery.
	Stored   NV
	Settings Settings

	// Fixed is the firmware of a card whose flash no tool here can read: it always
	// runs. Such a card has no Image.
	Fixed *Firmware
}

// Card is one adapter. It is safe for concurrent use.
type Card struct {
	Chip      Chip
	Rev       uint8
	Functions int // on the bus
	Flash     *Flash
	// PowerCycle has the card keep its settings over a restart: only a power cycle loads new ones.
	PowerCycle bool

	mu        sync.Mutex
	boots     int
	fixed     *Firmware
	running   Firmware
	next      NV
	settings  Settings // of the next boot
	taken     Settings // by the last one
	semaphore bool
	image     *Image // that runs, of FS3 and FS4; nil in recovery mode
	pending   *Image // see Staged
	update    Update
}

// Running returns what the card booted.
func (c *Card) Running() Firmware {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// NextNV returns the configuration that the next boot will use.
func (c *Card) NextNV() NV {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// SetNV changes the configuration of the next boot.
func (c *Card) SetNV(nv NV) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = nv
}

// Settings are the values of the configuration that were ever set, beside the link types, by the names
// and in the words of mstconfig.
type Settings map[string]string

// NextSettings returns those of the next boot, CurrentSettings those that the last one has taken.
func (c *Card) NextSettings() Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.settings)
}

// CurrentSettings: see NextSettings.
func (c *Card) CurrentSettings() Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.taken)
}

// Set changes one setting of the next boot.
func (c *Card) Set(name, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settings == nil {
		c.settings = Settings{}
	}
	c.settings[name] = value
}

// TakeSemaphore takes the flash semaphore and says whether it was free.
func (c *Card) TakeSemaphore() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.semaphore {
		return false
	}
	c.semaphore = true
	return true
}

// ReleaseSemaphore frees the flash semaphore, whoever holds it.
func (c *Card) ReleaseSemaphore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.semaphore = false
}

// Boots counts the boots. The next one resets what has no power of its own.
func (c *Card) Boots() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boots
}

// Boot makes flash the running firmware and the next configuration the current
// one. Without a bootable image the card comes up in recovery mode.
func (c *Card) Boot() {
	fw := Firmware{}
	if c.fixed != nil {
		fw = *c.fixed
	}
	var image *Image
	if img, err := c.Flash.Bootable(); err == nil && c.fixed == nil {
		fw = img.Firmware()
		if img.TOC != nil {
			image = img
		}
	}
	c.update.card = c
	c.update.reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boots++
	c.semaphore, c.image, c.pending = false, image, nil
	if !c.PowerCycle {
		c.taken = maps.Clone(c.settings)
	}
	if c.fixed == nil {
		fw.Config = c.next
	}
	c.running = fw
}
