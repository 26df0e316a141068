package fwimage

import (
	"encoding/binary"
)

// sectionMinimum is the length of what is read of the sections that are looked
// into; mstflint reads past the end of shorter ones.
var sectionMinimum = map[uint8]int64{
	tocImageInfo: 1024, tocMfgInfo: 320, tocDevInfo: 512, tocSignature256: 32, tocSignature512: 32,
}

// sections verifies what the entries of one table lead to.
func (r *tocReader) sections(entries []tocEntry) error {
	for _, e := range entries {
		body, err := r.read(e.name(), e.addr, e.size, e.absolute)
		if err != nil {
			return err
		}
		if least := sectionMinimum[e.kind]; e.size < least {
			return badFormat(e.at, "section %s of 0x%x bytes, its content needs 0x%x", e.name(), e.size, least)
		}
		// FS4 keeps two copies of the device information; the one that is not
		// in use has no signature, and its CRC does not count.
		if r.img.Format == FS4 && e.kind == tocDevInfo && !isDevInfo(body) {
			continue
		}
		if err := r.verifySection(e, body); err != nil {
			return err
		}
		if err := r.only(e); err != nil {
			return err
		}
		if err := r.look(e, body); err != nil {
			return err
		}
		r.remember(e)
	}
	return nil
}

// verifySection compares the CRC of a section, wherever that is.
func (r *tocReader) verifySection(e tocEntry, body []byte) error {
	switch e.mode {
	case crcNone:
		return nil
	case crcInSection:
		if len(body) < 4 {
			return badFormat(e.at, "section %s has no room for its CRC", e.name())
		}
		return r.orEncrypted(e, body, lowCRC(e.name(), e.addr, body))
	case crcInEntry:
		if want, got := sectionCRC(body), uint32(e.crc); want != got {
			return r.orEncrypted(e, body, wrongCRC(e.name(), e.addr, want, got))
		}
		return nil
	}
	return badFormat(e.at, "section %s has its CRC at an unknown place (%d)", e.name(), e.mode)
}

// orEncrypted explains a wrong CRC. Encrypted code has authentication tags of 32 bits
// behind its cache lines, where other code has a CRC of 16 bits. mstflint then ignores
// the CRC of the section.
func (r *tocReader) orEncrypted(e tocEntry, body []byte, err error) error {
	if err == nil || r.img.Format != FS4 || !e.cacheLines || len(body) < cacheLineBytes+4 {
		return err
	}
	if binary.BigEndian.Uint32(body[cacheLineBytes:])&0xffff0000 == 0 {
		return err
	}
	return encrypted(e.name(), e.addr)
}

// only refuses a second section of a kind that an image has once. FS3 reads the last
// one. FS4 itself refuses a second valid DEV_INFO.
func (r *tocReader) only(e tocEntry) error {
	first, again := r.seen[e.kind]
	r.seen[e.kind] = e.addr
	switch e.kind {
	case tocImageInfo, tocMfgInfo, tocDevInfo:
		if again {
			return badFormat(e.at, "second section %s, the first is at 0x%x", e.name(), first)
		}
	}
	return nil
}

// look reads what a section says of the image.
func (r *tocReader) look(e tocEntry, body []byte) error {
	switch e.kind {
	case tocImageInfo:
		return r.imageInfo(e, body)
	case tocMfgInfo:
		return r.mfgInfo(e, body)
	case tocDevInfo:
		return r.devInfo(e, body)
	case tocSignature256, tocSignature512:
		r.signature(body)
	case tocKeys2048, tocKeys4096:
		r.hasKeys = true
	case tocROM:
		r.roms = append(r.roms, body)
	}
	return nil
}

// signature notes whether the image is signed, and with which kind of key. The id of a
// key for development has no low part.
func (r *tocReader) signature(body []byte) {
	r.hasSignature = true
	id := body[16:32]
	if !allBytes(id[:12], 0) && allBytes(id[10:], 0) {
		r.devSignature = true
	}
}

// remember keeps a section, and counts those of the firmware that no CRC protects.
func (r *tocReader) remember(e tocEntry) {
	r.img.sections = append(r.img.sections, section{kind: uint32(e.kind), offset: e.addr, size: e.size, toc: true})
	// Signatures and keys never have one.
	if !e.device && e.mode == crcNone && e.kind < tocSignature256 {
		r.unprotected++
	}
}
