package fwimage

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the digest that mstflint defines, not a proof of origin
	"encoding/hex"
	"slices"
)

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
