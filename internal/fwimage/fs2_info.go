package fwimage

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Tags of the info section. Others are skipped.
const (
	tagVersion       = 1
	tagTime          = 2
	tagDeviceType    = 3
	tagPSID          = 4
	tagVSD           = 5
	tagProduct       = 7
	tagVSDVendor     = 8
	tagHWIDs         = 10
	tagMIC           = 11
	tagConfigSectors = 19
	tagPRSName       = 20
	tagEnd           = 0xff
)

const (
	vsdBytes = 208
	// maxHWIDs is the room in mstflint 4.21, which writes past it.
	maxHWIDs = 200
	// maxPRSName is what mstflint keeps of it.
	maxPRSName = 99
)

// tagBytes holds the exact length of the tags that are read and have one.
var tagBytes = map[uint32]int{
	tagVersion: 8, tagTime: 8, tagDeviceType: 4, tagPSID: 16, tagVSD: vsdBytes, tagProduct: 16, tagVSDVendor: 4, tagMIC: 8,
}

// infoSection reads the tags that describe the image. Its CRC is right by now, so a
// wrong tag was made that way.
func (r *fs2Reader) infoSection() error {
	if r.info == nil {
		return badFormat(r.img.End, "no section Image Info")
	}
	off, end := r.info.offset+sectionHeader, r.info.end()-4
	seen := map[uint32]bool{}
	for off < end {
		tag, n := r.word(off)>>24, int64(r.word(off)&0xffffff)
		if tag == tagEnd {
			switch {
			case off+4 != end:
				return badFormat(off, "the end tag of the info section comes 0x%x bytes too early", end-off-4)
			case n != 0:
				return badFormat(off, "the end tag of the info section has 0x%x bytes, and there is no room for any", n)
			}
			break
		}
		if n%4 != 0 || off+4+n > end {
			return badFormat(off, "tag %d of 0x%x bytes does not fit into the info section, which ends at 0x%x", tag, n, end)
		}
		if want, ok := tagBytes[tag]; ok && int64(want) != n {
			return badFormat(off, "tag %d has %d bytes instead of %d", tag, n, want)
		}
		if seen[tag] {
			return badFormat(off, "second tag %d in the info section", tag)
		}
		seen[tag] = true
		if err := r.tag(tag, off+4, r.data[off+4:off+4+n]); err != nil {
			return err
		}
		off += 4 + n
	}
	return r.requiredTags()
}

func (r *fs2Reader) tag(tag uint32, off int64, data []byte) error {
	switch tag {
	case tagPSID:
		return r.psid(off, data)
	case tagHWIDs:
		return r.hwIDs(off, data)
	case tagConfigSectors:
		if len(data) != 8 && len(data) != 12 {
			return badFormat(off, "configuration sectors in %d bytes instead of 8 or 12", len(data))
		}
	case tagVSD:
		r.vsd = off
	case tagMIC:
		r.mic = true
	default:
		r.img.describe(tag, data)
	}
	return nil
}

// describe takes the tags that need no check beyond their length.
func (img *Image) describe(tag uint32, data []byte) {
	switch tag {
	case tagVersion:
		img.FWVersion = version(data)
	case tagTime:
		img.ReleaseDate = bcdDate(binary.BigEndian.Uint32(data[4:]))
	case tagDeviceType:
		img.DeviceType = binary.BigEndian.Uint16(data[2:])
	case tagProduct:
		img.ProductVersion = printable(data)
	case tagVSDVendor:
		img.VSDVendor = binary.BigEndian.Uint16(data[2:])
	case tagPRSName:
		img.PRSName = printable(data[:min(len(data), maxPRSName)])
	}
}

// requiredTags refuses images that say too little to be matched with a card. mstflint
// then takes the device type in place of these tags, or nothing.
func (r *fs2Reader) requiredTags() error {
	switch at := r.info.offset; {
	case r.img.FWVersion.IsZero():
		return badFormat(at, "the image does not state its firmware version")
	case len(r.img.HWIDs) == 0:
		return noHardware(at)
	}
	return nil
}

func (r *fs2Reader) psid(off int64, data []byte) error {
	p, err := parsePSID(off, data)
	r.img.PSID = p
	return err
}

// parsePSID takes what ib.ParsePSID takes, and nothing behind the terminating
// zeros: a burn compares all 16 bytes.
func parsePSID(off int64, data []byte) (ib.PSID, error) {
	text := strings.TrimRight(string(data), "\x00")
	if text == "" {
		return "", nil
	}
	p, err := ib.ParsePSID(text)
	if err != nil {
		return "", badFormat(off, "%v", err)
	}
	return p, nil
}

// hwIDs reads the list of chips, which an entry of zero ends.
func (r *fs2Reader) hwIDs(off int64, data []byte) error {
	if len(data) > maxHWIDs*4 {
		return badFormat(off, "%d hardware ids, at most %d are possible", len(data)/4, maxHWIDs)
	}
	for ; len(data) > 0; data = data[4:] {
		w := binary.BigEndian.Uint32(data)
		if w == 0 {
			break
		}
		r.img.HWIDs = append(r.img.HWIDs, ib.HWID{ID: uint16(w), Rev: uint8(w >> 16)})
	}
	return nil
}

func version(data []byte) ib.FWVersion {
	return ib.FWVersion{
		Major: binary.BigEndian.Uint16(data),
		Minor: binary.BigEndian.Uint16(data[4:]),
		Sub:   binary.BigEndian.Uint16(data[6:]),
	}
}

// bcdDate turns 0x20170905 into "2017-09-05". What is no date gives "".
func bcdDate(w uint32) string {
	for s := range 8 {
		if w>>(4*s)&0xf > 9 {
			return ""
		}
	}
	month, day := w>>8&0xff, w&0xff
	if month < 1 || month > 0x12 || day < 1 || day > 0x31 {
		return ""
	}
	return fmt.Sprintf("%04x-%02x-%02x", w>>16, month, day)
}

// printable gives the text up to the first zero byte. It escapes bytes that must not
// reach a terminal or a state file.
func printable(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		if c == 0 {
			break
		}
		if c < ' ' || c > '~' {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
