package fwimage

import (
	"fmt"
	"io"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// maxSize is the largest file in bytes that is read: twice the largest flash
// of the supported chips. It bounds memory.
const maxSize = 64 << 20

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

// GUIDRange is a block of GUIDs. Nothing may be computed from Step 0, whose
// meaning the tools do not state.
type GUIDRange struct {
	Base  ib.GUID // 0 if none is assigned
	Count int
	Step  int
}

// MACRange is a block of MACs, like GUIDRange.
type MACRange struct {
	Base  ib.MAC
	Count int
	Step  int
}

// Image is what a verified firmware image says of itself. Texts hold printable
// ASCII only; other bytes are written as \x escapes.
type Image struct {
	Format   Format
	Start    int64 // physical offset of the image in the file: 0, or the chunk size in a raw dump
	Failsafe bool  // made for a flash with two slots
	Chunk    int64 // bytes of a chunk of the two-slot layout, 0 if not failsafe
	Striped  bool  // read from a raw dump with the two-slot layout
	// Layout is the version of the flash's layout that the firmware needs, and
	// DeviceLayout the one that the device data have; FS4 only.
	Layout, DeviceLayout uint8

	PSID           ib.PSID // may be empty, which never fits anything
	FWVersion      ib.FWVersion
	MICVersion     ib.FWVersion // tool that made the image; zero if not stated
	ProductVersion string       // "02.42.50.00"
	ReleaseDate    string       // "2017-09-05", or "" if not stated
	HWIDs          []ib.HWID    // chips that the image is for; never empty
	DeviceType     uint16       // PCI device id of the chip, 4103 for ConnectX-3 Pro; 0 if not stated
	VSD            string       // vendor specific data: free text of the card's vendor; of the device in FS3 and FS4
	ImageVSD       string       // vendor specific data of the image; FS3 and FS4 only
	VSDVendor      uint16       // PCI vendor id of the VSD's owner; mstflint hides VSD and PSID unless 0 or 0x15b3
	PRSName        string       // name of the board definition that the image was made from
	OrigPRSName    string       // the one that the board was made with; FS3 and FS4 only
	PartNumber     string       // of the board, "MCX555A-ECAT"; FS3 and FS4 only
	Description    string       // of the board; FS3 and FS4 only
	ConfigSectors  int          // flash sectors reserved for configuration; 0 if not stated
	ISSU           uint16       // version of the interface for updates in service; 0 if none

	// GUIDs holds in FS3 and FS4 the bases of the ranges below: as Node and
	// MAC1, and those of the second port of Connect-IB as Port2 and MAC2.
	GUIDs    ib.GUIDSet
	Identity Identity
	ROMs     []ROM

	// What a card with an FS3 or FS4 image owns: one range of each kind, on
	// Connect-IB one for each port. The Orig ones are what the card was made
	// with, given where that is something else.
	GUIDRanges, OrigGUIDRanges []GUIDRange
	MACRanges, OrigMACRanges   []MACRange
	OrigPSID                   string // PSID that the board was made with, if that is another one
	// GUIDOverride says that GUIDs may be set; mstflint refuses it without.
	GUIDOverride bool
	Security     Security

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
	// Warnings are sentences on what is unusual but does not make the image
	// unusable.
	Warnings []string

	sections []section
}

// Parse reads and verifies the image in the first size bytes of r. A file that
// it accepts has correct checksums throughout, and every field of the result
// comes from bytes under such a checksum.
//
// Errors are *NotAnImageError, *TruncatedError, *CRCError, *MalformedError,
// *NoHardwareError, *EncryptedError, *UnsupportedFormatError, *RawDumpError for the content of a
// whole flash (see ParseFlash), and whatever r returns.
func Parse(r io.ReaderAt, size int64) (*Image, error) {
	return parseAs(r, size, parseFS2File, parseTOCFile)
}

// parseAs reads what r holds by the parser of its format.
func parseAs[T any](r io.ReaderAt, size int64, fs2, toc func([]byte, location) (*T, error)) (*T, error) {
	data, err := load(r, size)
	if err != nil {
		return nil, err
	}
	loc, err := locate(data)
	if err != nil {
		return nil, err
	}
	switch loc.format {
	case FS2:
		return fs2(data, loc)
	case FS3, FS4:
		return toc(data, loc)
	default:
		return nil, &UnsupportedFormatError{Format: loc.format, Offset: loc.first()}
	}
}

// load reads the whole file after its first bytes have shown that it may be an image. A
// file that is too large is usually no image at all, and the message should say that.
func load(r io.ReaderAt, size int64) ([]byte, error) {
	if size <= 0 {
		return nil, &NotAnImageError{Kind: KindEmpty, Advice: "the file has no content: fetch it again"}
	}
	head := make([]byte, min(size, recognizeLen))
	if err := readFull(r, head); err != nil {
		return nil, err
	}
	if err := recognize(head); err != nil {
		return nil, err
	}
	if size > maxSize {
		return nil, &NotAnImageError{Kind: KindTooLarge,
			Advice: fmt.Sprintf("%d bytes are more than the flash of any supported card holds (%d)", size, int64(maxSize))}
	}
	data := make([]byte, size)
	if err := readFull(r, data); err != nil {
		return nil, err
	}
	return data, nil
}

func readFull(r io.ReaderAt, buf []byte) error {
	n, err := r.ReadAt(buf, 0)
	if n == len(buf) {
		return nil // io.ReaderAt may report io.EOF together with the last byte
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading the image at offset %d: %w", n, err)
}
