package fwimage

import (
	"bytes"
	"encoding/binary"
)

// The FS3 header: a signature and one word that is read, at formatByteFS23.
const headerTOC = 0x38

// readFS3 reads and verifies the image.
func (r *tocReader) readFS3() error {
	for _, step := range []func() error{
		r.fs3Header,
		func() error { return r.boot2(headerTOC) },
		r.fs3Table,
		func() error { return r.sections(r.entries) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if _, ok := r.seen[tocMfgInfo]; !ok {
		return badFormat(r.tableAt, "no section MFG_INFO")
	}
	r.img.End = r.lastByte(true)
	r.img.firmware = r.lastByte(false)
	for _, e := range r.entries {
		if e.device {
			r.img.ofDevice = append(r.img.ofDevice, e.at)
		}
	}
	return nil
}

func (r *tocReader) fs3Header() error {
	have := int64(len(r.data))
	if have%4 != 0 {
		return badFormat(have, "the length is not a multiple of 4 bytes")
	}
	if r.start+headerTOC > have {
		return truncated("header", 0, r.start+headerTOC, have)
	}
	header := r.data[r.start:][:headerTOC]
	w := header[formatByteFS23:]
	bits := w[1]
	if bits == 0 {
		bits = 21
	}
	if err := r.setSlot(bits, formatByteFS23); err != nil {
		return err
	}
	if err := binaryVersion(formatByteFS23+2, w[2], w[3], 1); err != nil {
		return err
	}
	r.cached = append(r.cached, cachedSpan{0, headerTOC, false})
	return nil
}

// binaryVersion takes the versions of the layout that mstflint 4.21 takes: from
// 1.least to 1.255, and 0.0 for not stated.
func binaryVersion(at int64, major, minor, least uint8) error {
	if major == 0 && minor == 0 || major == 1 && minor >= least {
		return nil
	}
	return badFormat(at, "binary version %d.%d, known are 1.%d and later 1.x", major, minor, least)
}

// fs3Table finds the first table of contents behind the boot block. A burn
// erases the signature of the copy that it replaces.
func (r *tocReader) fs3Table() error {
	end := headerTOC + r.bootBytes
	first := (end + tocSectorBytes - 1) / tocSectorBytes * tocSectorBytes
	for at := first; at < int64(len(r.data)); at += tocSectorBytes {
		head, err := r.read("header of the table of contents", at, tocHeaderBytes, false)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(head, []byte(magicITOC)) {
			continue
		}
		if err = lowCRC("ITOC_HEADER", at, head); err != nil {
			return err
		}
		r.tableAt = at
		r.entries, err = r.table(at, false)
		return err
	}
	return badFormat(first, "no table of contents (ITOC)")
}

// lastByte is the end of the last section, that of the device or not. The firmware itself usually ends far
// before the data of the device.
func (r *tocReader) lastByte(device bool) int64 {
	end := int64(0)
	for _, e := range r.entries {
		if e.device && !device {
			continue
		}
		at := e.addr
		if !e.absolute {
			at = r.physical(e.addr)
		}
		end = max(end, at+e.size)
	}
	return min(end, int64(len(r.data)))
}

// word reads a word of a slice that is long enough.
func word(p []byte, i int) uint32 { return binary.BigEndian.Uint32(p[4*i:]) }
