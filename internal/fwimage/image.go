package fwimage

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Format is the container format of an image.
type Format string

// The formats by chip generation: FS2 is ConnectX-3 and ConnectX-3 Pro, FS3 is
// Connect-IB and ConnectX-4, FS4 is ConnectX-5 to 7.
const (
	FS2 Format = "FS2"
	FS3 Format = "FS3"
	FS4 Format = "FS4"
	FS5 Format = "FS5"
)

// Identity says whose GUIDs and MACs an image carries.
type Identity string

const (
	// IdentityPlaceholder is what vendors put into files for distribution:
	// GUIDs 0002c9000100d0xx, MACs 0002c90000xx.
	IdentityPlaceholder Identity = "placeholder"
	// IdentityBlank is a GUID section that was never programmed, marked as such
	// by its checksum. mstflint calls such an image not bootable.
	IdentityBlank Identity = "blank"
	// IdentityNone is a valid GUID section with nothing but zeros or ones.
	IdentityNone Identity = "none"
	// IdentityUnique is the identity of one card: the image is a backup. It is
	// given by the MACs alone on cards with Ethernet-only firmware, whose GUIDs
	// are all ones.
	IdentityUnique Identity = "unique"
)

// ROM is one component of the expansion ROM inside an image.
type ROM struct {
	Type     string // "PXE", "UEFI", "CLP", "NVMe", or the number of an unknown kind, "0x1f"
	Version  string // "3.4.752"
	CPU      string // "AMD64", "AARCH64", "AMD64,AARCH64", "IA32", or "" if not stated
	DeviceID uint16 // PCI device id that the component is for
}

// Image is what a verified firmware image says of itself. Texts hold printable
// ASCII only; other bytes are written as \x escapes.
type Image struct {
	Format   Format
	Failsafe bool  // made for a flash with two slots
	Chunk    int64 // bytes of a chunk of the two-slot layout, 0 if not failsafe
	// Layout is the version of the flash's layout that the firmware needs, and
	// DeviceLayout the one that the device data have; FS4 only.
	Layout, DeviceLayout uint8

	PSID           ib.PSID // may be empty, which never fits anything
	FWVersion      ib.FWVersion
	ProductVersion string    // "02.42.50.00"
	ReleaseDate    string    // "2017-09-05", or "" if not stated
	HWIDs          []ib.HWID // chips that the image is for; never empty
	DeviceType     uint16    // PCI device id of the chip, 4103 for ConnectX-3 Pro; 0 if not stated
	VSDVendor      uint16    // PCI vendor id of the VSD's owner; mstflint hides VSD and PSID unless 0 or 0x15b3
	PRSName        string    // name of the board definition that the image was made from
	PartNumber     string    // of the board, "MCX555A-ECAT"; FS3 and FS4 only

	// GUIDs holds in FS3 and FS4, where a card owns one range of each kind, the
	// bases of these: as Node and MAC1, and those of the second port of
	// Connect-IB as Port2 and MAC2.
	GUIDs    ib.GUIDSet
	Identity Identity
	ROMs     []ROM

	Security Security

	// Checksum is the digest that `mstflint checksum` prints: MD5 over the image
	// without its identity (GUIDs, MACs, VSD; in FS3 and FS4 all device data),
	// bytes in reverse order.
	Checksum string
	// End is the number of bytes, from the image's start and without striping,
	// that belong to the image.
	End int64
	// HeaderCRC says that the image carries a CRC over its header, and that it
	// is right. FS2 images made by old tools, and all of FS3, have none.
	HeaderCRC bool
	// Warnings are sentences on what leaves a doubt whether the image is whole, or the file the one that is
	// meant.
	Warnings []string

	sections []section
	firmware int64   // bytes of FS3 and FS4 without device data
	ofDevice []int64 // entries of device data in the table of FS3, from the image's start
}

// Component is what the firmware of a card takes of an image file, which begins with its image: all up to the last
// section, with ones in place of the signature and of the entries of device data, which the firmware fills in (as
// mstflint 4.21 sends it). FS3 and FS4 only.
func (img *Image) Component(file []byte) []byte {
	c := slices.Clone(file[:img.firmware])
	blank := bytes.Repeat([]byte{0xff}, tocEntryBytes)
	copy(c[:signatureBytes], blank)
	for _, at := range img.ofDevice {
		copy(c[at:], blank)
	}
	return c
}

// signatureBytes is the length of what an image begins with.
const signatureBytes = 16

func (img *Image) warn(s string) { img.Warnings = append(img.Warnings, s) }

// Security is what an FS3 or FS4 image says of how it is protected. The flags
// are set only if the image is signed and has the keys to check others with, as
// in mstflint.
type Security struct {
	Secure    bool // the card takes firmware only that is signed by the vendor
	Signed    bool
	Debug     bool
	Dev       bool // signed with a key for development
	FWControl bool // updates go through the firmware itself and not past it
	// Version is the security version, below which a card may refuse to go.
	// FS4 only.
	Version uint32
}

// Attributes gives the line "Security Attributes" of `mstflint q`: "N/A",
// "secure-fw", "signed-fw, debug, dev".
func (s Security) Attributes() string {
	var all []string
	switch {
	case s.Secure:
		all = append(all, "secure-fw")
	case s.Signed:
		all = append(all, "signed-fw")
	default:
		return "N/A"
	}
	if s.Debug {
		all = append(all, "debug")
	}
	if s.Dev {
		all = append(all, "dev")
	}
	return strings.Join(all, ", ")
}

// UpdateMethod gives the line "Default Update Method" of `mstflint q full`:
// "Legacy" or "fw_ctrl".
func (s Security) UpdateMethod() string {
	if s.FWControl {
		return "fw_ctrl"
	}
	return "Legacy"
}
