package fwimage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// The FS4 header: a signature, the format byte, and pointers to everything
// else, each with its own CRC because the chip reads them before any firmware.
const (
	offPointers   = 0x18
	pointerCount  = 16
	pointerBytes  = 8
	ptrBoot2      = 1
	ptrTable      = 2
	ptrTools      = 3
	ptrSecurity   = 13 // holds the security version itself
	ptrHashes     = 15
	toolsBytes    = 64
	hashesHeader  = 12
	hashesTable   = 16
	hashesEntry   = 8
	hashesEntries = 28
	hashesTail    = 8
)

// readFS4 reads and verifies the image.
func (r *tocReader) readFS4() error {
	ptr, err := r.pointers()
	if err != nil {
		return err
	}
	r.secVersion = ptr[ptrSecurity]
	at := func(i int, read func(int64) error) func() error {
		return func() error {
			if ptr[i]%4 != 0 {
				return badFormat(int64(offPointers+i*pointerBytes), "hardware pointer %d is 0x%x, no multiple of 4", i, ptr[i])
			}
			return read(int64(ptr[i]))
		}
	}
	for _, step := range []func() error{
		at(ptrTools, r.toolsArea),
		at(ptrBoot2, r.beforeBoot2),
		at(ptrBoot2, r.boot2),
		at(ptrHashes, r.hashes),
		at(ptrTable, r.fs4Table),
		func() error { return r.sections(r.entries) },
		r.deviceData,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	// The table of device data ends the flash, so all of it belongs to the image.
	r.img.End, r.img.HeaderCRC, r.img.firmware = int64(len(r.data)), true, r.lastByte(false)
	return nil
}

// pointers reads the addresses that the header holds.
func (r *tocReader) pointers() ([pointerCount]uint32, error) {
	var ptr [pointerCount]uint32
	have := int64(len(r.data))
	if have%4 != 0 {
		return ptr, badFormat(have, "the length is not a multiple of 4 bytes")
	}
	if end := r.start + offPointers + pointerCount*pointerBytes; end > have {
		return ptr, truncated("hardware pointers", offPointers, end, have)
	}
	for i := range ptr {
		at := int64(offPointers + i*pointerBytes)
		p := r.data[r.start+at:][:pointerBytes]
		ptr[i] = word(p, 0)
		if ptr[i] == 0xffffffff { // not used
			ptr[i] = 0
			continue
		}
		if want, got := uint32(pointerCRC(p)), word(p, 1); want != got {
			return ptr, wrongCRC("HW_POINTERS", at, want, got)
		}
	}
	return ptr, nil
}

// toolsArea reads what the tools need to know before anything else. It is at
// its address from the image's start even where slots are striped.
func (r *tocReader) toolsArea(at int64) error {
	have := int64(len(r.data))
	if end := r.start + at + toolsBytes; end > have {
		return truncated("tools area", at, end, have)
	}
	area := r.data[r.start+at:][:toolsBytes]
	if err := lowCRC("TOOLS_AREA", at, area); err != nil {
		return err
	}
	if err := binaryVersion(at+6, area[6], area[7], 0); err != nil {
		return err
	}
	return r.setSlot(uint8(binary.BigEndian.Uint16(area[4:])), at+4)
}

func (r *tocReader) beforeBoot2(boot2 int64) error {
	have := int64(len(r.data))
	if r.start+boot2 > have {
		return truncated(nameBoot, boot2, r.start+boot2, have)
	}
	r.cached = append(r.cached, cachedSpan{0, boot2, false})
	return nil
}

// hashes verifies the table of hashes of images for chips that boot securely. Only the
// chip checks the hashes themselves.
func (r *tocReader) hashes(at int64) error {
	if at == 0 {
		return nil
	}
	const name = "HASHES_TABLE"
	head, err := r.read(name, at, hashesHeader+hashesTable, false)
	if err != nil {
		return err
	}
	if err = lowCRC(name+" header", at, head[:hashesHeader]); err != nil {
		return err
	}
	hash := int64(binary.BigEndian.Uint16(head[hashesHeader+4:]))
	size := hashesHeader + hashesTable + hashesEntries*(hashesEntry+hash) + hashesTail
	table, err := r.read(name, at, size, false)
	if err != nil {
		return err
	}
	return lowCRC(name, at, table)
}

// fs4Table takes the table of contents that the header names, or the copy one
// sector behind if that is damaged. Without any the image is encrypted.
// layoutByte is where the header of a table holds the version of the flash's layout
// (image_layout_itoc_header of mstflint 4.21).
const layoutByte = 16

func (r *tocReader) fs4Table(first int64) error {
	var damage error
	for _, at := range []int64{first, first + tocSectorBytes} {
		head, err := r.read("header of the table of contents", at, tocHeaderBytes, false)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(head, []byte(magicITOC)) {
			continue
		}
		if wrong := lowCRC("ITOC_HEADER", at, head); wrong != nil {
			damage = cmp.Or(damage, wrong)
			continue
		}
		r.tableAt, r.img.Layout = at, head[layoutByte]
		r.entries, err = r.table(at, false)
		return err
	}
	if damage != nil {
		return damage
	}
	return encrypted("the table of contents", first)
}

// deviceData verifies the sections that belong to the card. Their table is in
// the last sector of the flash, so the length of the file is part of the format.
func (r *tocReader) deviceData() error {
	at := int64(len(r.data)) - tocSectorBytes
	if at < 0 {
		return truncated("DTOC_HEADER", 0, tocSectorBytes, int64(len(r.data)))
	}
	head, err := r.read("DTOC_HEADER", at, tocHeaderBytes, true)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(head, []byte(magicDTOC)) {
		return badFormat(at, "no table of device data (DTOC) in the last sector: the file has another length than the image")
	}
	if err = lowCRC("DTOC_HEADER", at, head); err != nil {
		return err
	}
	r.img.DeviceLayout = head[layoutByte]
	entries, err := r.table(at, true)
	if err != nil {
		return err
	}
	r.hasDevInfo = false // one in the other table does not count
	if err := r.sections(entries); err != nil {
		return err
	}
	switch {
	case !slices.ContainsFunc(entries, func(e tocEntry) bool { return e.kind == tocMfgInfo }):
		return badFormat(at, "no section MFG_INFO")
	case !r.hasDevInfo:
		return badFormat(at, "no section DEV_INFO with a signature")
	}
	return nil
}

// pointerCRC is the CRC of a hardware pointer: over the address and the upper
// half of the word that holds the CRC. It is a CRC-16 with the same polynomial
// as that of sections, least significant bit first, starting with 0.
func pointerCRC(p []byte) uint16 {
	const poly = 0xd008 // crcPoly, bits reversed
	var c uint16
	for _, b := range p[:6] {
		c ^= uint16(b)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ poly
			} else {
				c >>= 1
			}
		}
	}
	return c<<8 | c>>8
}
