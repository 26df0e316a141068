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

// checksum is MD5 over what does not belong to the card, bytes printed in
// reverse order: as many bytes from the image's start as header and boot block
// of FS3 have, the header of the table of contents, and each entry followed by
// its section. In FS4, whose boot block is elsewhere, mstflint takes the bytes
// from the start all the same, with ff for what it has not read.
func (r *tocReader) checksum() string {
	h := md5.New() //nolint:gosec // see above
	h.Write(r.firstBytes(headerTOC + r.bootBytes))
	h.Write(r.again(r.tableAt, tocHeaderBytes, false))
	for _, e := range r.entries {
		if r.img.Format == FS3 && e.device {
			continue
		}
		h.Write(r.again(e.at, tocEntryBytes, false))
		h.Write(r.again(e.addr, e.size, e.absolute))
	}
	sum := h.Sum(nil)
	slices.Reverse(sum)
	return hex.EncodeToString(sum)
}

// again repeats a reading that succeeded before, so it cannot fail.
func (r *tocReader) again(addr, n int64, absolute bool) []byte {
	p, err := r.read("", addr, n, absolute)
	if err != nil {
		return nil
	}
	return p
}

// firstBytes gives the first n bytes of what was read, by address.
func (r *tocReader) firstBytes(n int64) []byte {
	p := bytes.Repeat([]byte{0xff}, int(n))
	for _, c := range slices.Clone(r.cached) {
		if c.addr < n {
			copy(p[c.addr:], r.again(c.addr, min(c.size, n-c.addr), c.absolute))
		}
	}
	return p
}
