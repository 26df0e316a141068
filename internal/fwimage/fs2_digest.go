package fwimage

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the digest that mstflint defines, not a proof of origin
	"encoding/hex"
	"slices"
)

// guidMask is how much mstflint masks for the GUID section, whatever its size.
const guidMask = sectionHeader + guidEntries*guidEntry + 4

// checksum is MD5 over the image with all that depends on a card's identity
// set to ff: the image CRC, the GUID section, the VSD, the CRC of the info
// section. mstflint prints the sixteen bytes in reverse order.
//
// Two accidents of the tool are part of the definition. Without a VSD it masks
// the start of the info section in its place. With a GUID section of the old,
// shorter kind it masks the header of the section behind it too; if that is the
// info section, it then cannot find the CRC of that.
func (r *fs2Reader) checksum() string {
	type span struct{ from, to int64 }
	vsd := r.vsd
	if vsd == 0 {
		vsd = r.info.offset + sectionHeader
	}
	masked := []span{
		{offImageCRC, offImageCRC + 4},
		{r.guid.offset, r.guid.offset + guidMask},
		{vsd, vsd + vsdBytes},
	}
	if r.info.offset < r.guid.offset || r.info.offset >= r.guid.offset+guidMask {
		masked = append(masked, span{r.info.end() - 4, r.info.end()})
	}
	slices.SortFunc(masked, func(a, b span) int { return int(a.from - b.from) })
	ff := bytes.Repeat([]byte{0xff}, vsdBytes)
	h := md5.New() //nolint:gosec // see above
	pos := int64(0)
	for _, m := range masked {
		m.to = min(m.to, r.img.End)
		if m.from > pos {
			h.Write(r.data[pos:m.from])
			pos = m.from
		}
		for pos < m.to {
			n := min(m.to-pos, int64(len(ff)))
			h.Write(ff[:n])
			pos += n
		}
	}
	h.Write(r.data[pos:r.img.End])
	sum := h.Sum(nil)
	slices.Reverse(sum)
	return hex.EncodeToString(sum)
}
