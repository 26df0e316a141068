package card

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// Section types of FS2.
const (
	secROM  = 5
	secGUID = 6
	secInfo = 10
)

var sectionNames = map[uint32]string{
	1: "DDR", 2: "Configuration", 3: "Jump addresses", 4: "EMT Service", 5: "ROM", 6: "GUID", 7: "BOARD ID",
	8: "User Data", 9: "FW Configuration", 10: "Image Info", 11: "DDRZ", 12: "Hash File",
}

var magic = []byte{0x4d, 0x54, 0x46, 0x57, 0x8c, 0xdf, 0xd0, 0x00, 0xde, 0xad, 0x92, 0x70, 0x41, 0x54, 0xbe, 0xef}

// Spec describes a synthetic FS2 image in the terms of this package.
type Spec struct {
	PSID     string // empty for chips that do not exist only: the vendor's tool would take such an image for any board
	Version  [3]uint16
	Product  string
	Date     uint32 // BCD yyyymmdd
	Device   uint16 // PCI device id
	HWIDs    []uint32
	VSD      string
	PRS      string
	GUIDs    [4]uint64
	MACs     [2]uint64
	Failsafe bool
	ChunkLog uint   // log2 of the stripe, default 19 (0x80000)
	Code     int    // bytes of made-up code
	NoROM    bool   // without an expansion ROM
	ROMSub   uint16 // the last number of its version; default 752
}

// TOCSpec describes a synthetic image of FS3 or FS4.
type TOCSpec struct {
	Format    string // FS3 or FS4
	PSID      string
	OrigPSID  string // default PSID
	Version   [3]uint16
	Product   string
	Date      uint32 // BCD yyyymmdd
	Device    uint16 // PCI device id
	HWIDs     []uint32
	PRS, Part string
	Flags     uint16 // of the image information; 0x8000 secure, 0x4000 signed, 0x0100 the firmware controls updates
	Signed    bool   // with the sections of a signature, which make Flags count
	Security  uint32 // security version, of FS4
	ROMDevice uint16 // what the expansion ROM is for; default Device
	Log       uint   // log2 of the slot size
	Code      int    // bytes of made-up code
	NoROM     bool   // without an expansion ROM
}

// Flags of image information.
const (
	FlagSecure     = 0x8000
	FlagSigned     = 0x4000
	FlagControlled = 0x0100
)

// PlaceholderGUIDs and PlaceholderMACs are the identity of a distribution file.
var (
	PlaceholderGUIDs = [4]uint64{0x0002c9000100d050, 0x0002c9000100d051, 0x0002c9000100d052, 0x0002c9000100d050}
	PlaceholderMACs  = [2]uint64{0x0002c9000001, 0x0002c9000002}
	BlankGUIDs       = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
)

// Build makes an image that the vendor's tool calls bootable.
func Build(s Spec) []byte {
	o := synth.Options{
		PSID: s.PSID, NoPSID: s.PSID == "", Version: version(s.Version), ProductVersion: text(s.Product),
		ReleaseDate: date(s.Date), HWIDs: chips(s.HWIDs), DeviceType: s.Device,
		PRSName: s.PRS, VSD: s.VSD, ROMs: rom(s.Device, s.ROMSub, s.NoROM), Payload: s.Code, GUIDs: ib.GUIDSet{
			Node: ib.GUID(s.GUIDs[0]), Port1: ib.GUID(s.GUIDs[1]), Port2: ib.GUID(s.GUIDs[2]), SystemImage: ib.GUID(s.GUIDs[3]),
			MAC1: ib.MAC(s.MACs[0]), MAC2: ib.MAC(s.MACs[1]),
		},
	}
	if s.Failsafe {
		o.Chunk = 1 << 19
		if s.ChunkLog != 0 {
			o.Chunk = 1 << s.ChunkLog
		}
	}
	return mustBuild(synth.FS2(o))
}

// BuildTOC makes an image that the vendor's tool calls bootable.
func BuildTOC(s TOCSpec) []byte {
	o := synth.TOCOptions{
		PSID: s.PSID, OrigPSID: s.OrigPSID, Version: version(s.Version), ProductVersion: text(s.Product),
		ReleaseDate: date(s.Date), HWIDs: chips(s.HWIDs),
		DeviceType: s.Device, PRSName: s.PRS, PartNumber: s.Part, Flags: s.Flags, Signature: s.Signed, SecurityVersion: s.Security, ROMs: rom(s.ROMDevice, 0, s.NoROM),
		Payload:  s.Code,
		SlotBits: uint8(s.Log), Size: 1 << s.Log,
	}
	if s.Format == FS3 {
		return mustBuild(synth.FS3(o))
	}
	o.Size = FlashSize // the table of device data is at the end of the flash
	return mustBuild(synth.FS4(o))
}

// mustBuild panics on what the lab's own descriptions must not ask for.
func mustBuild(image []byte, err error) []byte {
	if err != nil {
		panic("card: " + err.Error())
	}
	return image
}

func version(v [3]uint16) ib.FWVersion { return ib.FWVersion{Major: v[0], Minor: v[1], Sub: v[2]} }

// text is one that may be empty, for which the builder would take its default.
func text(s string) string { return cmp.Or(s, "\x00") }

func date(bcd uint32) string { return fmt.Sprintf("%08x", bcd) }

func chips(ids []uint32) []ib.HWID {
	list := []ib.HWID{}
	for _, id := range ids {
		list = append(list, ib.HWID{ID: uint16(id), Rev: uint8(id >> 16)})
	}
	return list
}

func rom(device, sub uint16, none bool) []synth.ROM {
	if none {
		return nil
	}
	return []synth.ROM{{Product: synth.ProductPXE, Major: 3, Minor: 4, Sub: cmp.Or(sub, 752), DeviceID: device}}
}

// sealImage stores the CRC over the whole image.
func sealImage(b []byte) {
	put32(b, 0x20, be32(b, 0x20)&0xff000000|0xffff)
	put32(b, 0x20, be32(b, 0x20)&0xff000000|uint32(crc16(b)))
}

// sealSection stores the CRC of the section whose header is at off.
func sealSection(b []byte, off uint32) {
	end := off + 16 + be32(b, off+4)*4
	put32(b, end, uint32(crc16(b[off:end])))
}

func guidData(guids [4]uint64, macs [2]uint64) []byte {
	var b []byte
	for _, g := range append(append([]uint64{}, guids[:]...), macs[:]...) {
		b = binary.BigEndian.AppendUint64(b, g)
	}
	return b
}

func padText(s string, size int) []byte {
	b := make([]byte, size)
	copy(b, s)
	return b
}
