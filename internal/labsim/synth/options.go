package synth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// ROM describes one component of the expansion ROM.
type ROM struct {
	Product  uint16 // one of the Product constants
	Major    uint8
	Minor    uint8
	Sub      uint16
	CPU      uint8  // 1 AMD64, 2 AARCH64, 3 both, 4 IA32; 0 not stated
	DeviceID uint16 // 0 takes that of the image
}

// Products of a ROM component.
const (
	ProductPXE  = 0x10
	ProductUEFI = 0x11
	ProductCLP  = 0x12
	ProductNVMe = 0x13
)

// Options describe an image. PSID is required, all else has a default that
// makes a ConnectX-3 Pro image like a vendor's.
type Options struct {
	PSID           string
	NoPSID         bool         // leave the PSID out; HWIDs must name chips that do not exist
	Version        ib.FWVersion // default 2.42.5000
	ProductVersion string       // default made from Version, "02.42.5000"
	ReleaseDate    string       // default "2017-09-05"
	HWIDs          []ib.HWID    // default ConnectX-3 Pro
	DeviceType     uint16       // PCI device id; default that of the first of HWIDs
	PRSName        string       // default "synthetic.prs"
	VSD            string
	VSDVendor      uint16 // default Mellanox
	ConfigSectors  uint32 // default 1

	Chunk int64 // bytes of a chunk, 64 KiB to 8 MiB; 0 builds an image that is not failsafe

	GUIDs   ib.GUIDSet
	Blank   bool // GUID section that was never programmed
	OldGUID bool // GUID section without MACs

	ROMs     []ROM
	Payload  int  // bytes of filler besides the few KiB that every image has
	Seed     byte // varies the filler
	NoMIC    bool // leave the tool's version out: no image CRC, as in images of old tools
	BareInfo bool // leave all tags out but version, PSID and hardware ids
}

// Placeholder is the identity in the distribution files of vendors.
func Placeholder() ib.GUIDSet {
	return ib.GUIDSet{
		Node: 0x0002c9000100d050, Port1: 0x0002c9000100d051, Port2: 0x0002c9000100d052, SystemImage: 0x0002c9000100d050,
		MAC1: 0x0002c9000001, MAC2: 0x0002c9000002,
	}
}

// safePrefixes begin PSIDs that no real board is known to have.
var safePrefixes = []string{"MT_9", "HP_9", "DEL9"}

func checkPSID(psid string) error {
	for _, p := range safePrefixes {
		if strings.HasPrefix(psid, p) {
			return nil
		}
	}
	return fmt.Errorf("refusing to build a synthetic image with PSID %q: it could be burnt into a real card; begin it "+
		"with %s", psid, strings.Join(safePrefixes, ", "))
}

func (o Options) withDefaults() (Options, error) {
	o.fill()
	if o.Chunk != 0 {
		if _, err := chunkBits(o.Chunk); err != nil {
			return o, err
		}
	}
	if len(o.PSID) > 16 || len(o.ProductVersion) > 16 || len(o.VSD) > 208 {
		return o, errors.New("PSID, product version or VSD is too long")
	}
	if !o.NoPSID {
		return o, checkPSID(o.PSID)
	}
	for _, hw := range o.HWIDs {
		if _, exists := ib.ChipByHWID(hw); exists {
			return o, fmt.Errorf("refusing to build an image without PSID for the existing chip %s: it would pass the tool's "+
				"PSID check on every board", hw.Describe())
		}
	}
	return o, nil
}

func (o *Options) fill() {
	if o.Version.IsZero() {
		o.Version = ib.FWVersion{Major: 2, Minor: 42, Sub: 5000}
	}
	if o.ProductVersion == "" {
		o.ProductVersion = fmt.Sprintf("%02d.%02d.%04d", o.Version.Major, o.Version.Minor, o.Version.Sub)
	}
	if o.ReleaseDate == "" {
		o.ReleaseDate = "2017-09-05"
	}
	if o.HWIDs == nil {
		o.HWIDs = []ib.HWID{{ID: 0x1f7}}
	}
	if chip, ok := ib.ChipByHWID(first(o.HWIDs)); ok && o.DeviceType == 0 {
		o.DeviceType = chip.PCIDevice
	}
	if o.PRSName == "" {
		o.PRSName = "synthetic.prs"
	}
	if o.VSDVendor == 0 {
		o.VSDVendor = ib.MellanoxVendor
	}
	if o.ConfigSectors == 0 {
		o.ConfigSectors = 1
	}
}

func first(ids []ib.HWID) ib.HWID {
	if len(ids) == 0 {
		return ib.HWID{}
	}
	return ids[0]
}

// chunkBits gives the three bits of the failsafe word.
func chunkBits(chunk int64) (uint32, error) {
	for bits := range uint32(8) {
		if chunk == 1<<(16+bits) {
			return bits, nil
		}
	}
	return 0, fmt.Errorf("chunk of %d bytes: want a power of two from 64 KiB to 8 MiB", chunk)
}
