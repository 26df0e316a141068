package synth

import (
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Range is a block of GUIDs or MACs of a card.
type Range struct {
	Base  uint64
	Count uint8
	Step  uint8
}

// TOCOptions describe an FS3 or FS4 image. PSID is required, all else has a
// default that makes an image like a vendor's, of 128 KiB.
type TOCOptions struct {
	PSID           string
	OrigPSID       string       // that the board was made with; default PSID
	Version        ib.FWVersion // default 12.28.2006 (FS3), 16.35.4030 (FS4)
	ProductVersion string       // default made from Version, "rel-12_28_2006"
	ReleaseDate    string       // default "2020-09-15"
	HWIDs          []ib.HWID    // up to 4; default ConnectX-4 (FS3), ConnectX-5 (FS4)
	DeviceType     uint16       // PCI device id; 0 if not stated
	PRSName        string       // default "synthetic.prs"
	OrigPRSName    string       // written if not empty
	PartNumber     string       // default "SYNTHETIC"
	Description    string
	ImageVSD       string
	VSD            string // of the device
	InfoMinor      uint8  // minor version of IMAGE_INFO; default 3
	ISSU           uint16

	GUID, MAC         Range
	OrigGUID, OrigMAC *Range // default GUID and MAC
	PerPort           bool   // layout of Connect-IB: each range again, by its count higher, for port 2
	LockGUIDs         bool   // do not allow to set them

	Flags           uint16 // of IMAGE_INFO
	Signature       bool   // add a signature and public keys, both filler
	DevKey          bool   // let the signature be made with a key for development
	SecurityVersion uint32 // FS4

	ROMs    []ROM
	Payload int  // bytes of filler besides the few KiB that every image has
	Seed    byte // varies the filler

	Size     int   // of the file or flash; default 128 KiB
	SlotBits uint8 // logarithm of the slot size; default 17
	Second   bool  // put the image into the second slot

	SecondTable bool // leave the first table of contents erased
	Hashes      bool // add a table of hashes; FS4
	LineCRC     bool // put check words behind the cache lines of the code; FS4
	Encrypted   bool // let them be those of encrypted code, and the section CRC wrong
	NoTable     bool // leave all tables of contents out, as in encrypted images
}

func (o TOCOptions) withDefaults(fs4 bool) (TOCOptions, error) {
	o.fill(fs4)
	for _, psid := range []string{o.PSID, o.OrigPSID} {
		if err := checkPSID(psid); err != nil {
			return o, err
		}
	}
	for _, t := range []struct {
		text string
		room int
	}{
		{o.PSID, 16}, {o.OrigPSID, 16}, {o.ProductVersion, 16}, {o.ImageVSD, 208}, {o.VSD, 208}, {o.Description, 256},
		{o.PartNumber, 64}, {o.PRSName, 128}, {o.OrigPRSName, 96},
	} {
		if len(t.text) > t.room {
			return o, fmt.Errorf("text %q is too long, there is room for %d bytes", t.text, t.room)
		}
	}
	if len(o.HWIDs) > 4 {
		return o, errors.New("more than four hardware ids")
	}
	if o.Size%4 != 0 || o.Size < 1<<16 || o.SlotBits < 16 || o.SlotBits > 30 {
		return o, errors.New("the size must be a multiple of 4 and at least 64 KiB, the slot size from 2^16 to 2^30")
	}
	return o, nil
}

func (o *TOCOptions) fill(fs4 bool) {
	version, chip := ib.FWVersion{Major: 12, Minor: 28, Sub: 2006}, ib.HWID{ID: 0x209}
	if fs4 {
		version, chip = ib.FWVersion{Major: 16, Minor: 35, Sub: 4030}, ib.HWID{ID: 0x20d}
	}
	if o.Version.IsZero() {
		o.Version = version
	}
	if o.HWIDs == nil {
		o.HWIDs = []ib.HWID{chip}
	}
	orDefault(&o.OrigPSID, o.PSID)
	orDefault(&o.ProductVersion, fmt.Sprintf("rel-%d_%d_%04d", o.Version.Major, o.Version.Minor, o.Version.Sub))
	orDefault(&o.ReleaseDate, "2020-09-15")
	orDefault(&o.PRSName, "synthetic.prs")
	orDefault(&o.PartNumber, "SYNTHETIC")
	orDefault(&o.InfoMinor, 3)
	orDefault(&o.Size, 1<<17)
	orDefault(&o.SlotBits, 17)
	if o.OrigGUID == nil {
		o.OrigGUID = &o.GUID
	}
	if o.OrigMAC == nil {
		o.OrigMAC = &o.MAC
	}
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
