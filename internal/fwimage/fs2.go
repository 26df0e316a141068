package fwimage

import (
	"encoding/binary"
)

// The FS2 header, by logical offset: signature, image CRC (low half of its
// word), failsafe word, pointers to the data of the info and GUID sections,
// length of the image.
const (
	offImageCRC   = 0x20
	offFailsafe   = 0x28
	offInfoPtr    = 0x2c
	offLength     = 0x30
	offGUIDPtr    = 0x34
	headerFS2     = 0x38
	sectionHeader = 16
	lastSection   = 0xff000000 // value of the last section's next pointer; 0 is one too

	minBootDwords   = 4
	maxBootDwords   = 1 << 20
	maxSectionBytes = 4 << 20
	// maxSections bounds the work on a hostile file; real images have 20.
	maxSections = 4096
)

// fs2Reader walks over one image whose logical address 0 is data[0].
type fs2Reader struct {
	data []byte
	img  *Image
	crc  uint16 // register over all that was walked over, for the image CRC
	info *section
	guid *section
	roms []section
	vsd  int64 // logical offset of the VSD, 0 if there is none
	mic  bool  // the image states the version of the tool that made it
}

// word reads the big-endian word at a logical offset that need has allowed.
func (r *fs2Reader) word(off int64) uint32 { return binary.BigEndian.Uint32(r.data[off:]) }

// need reports whether n bytes are there at off; nothing is read before.
func (r *fs2Reader) need(what string, off, n int64) error {
	if have := int64(len(r.data)); off+n > have {
		return truncated(what, off, off+n, have)
	}
	return nil
}

func (r *fs2Reader) header() error {
	if err := r.need("header", 0, headerFS2); err != nil {
		return err
	}
	if len(r.data)%4 != 0 {
		return badFormat(int64(len(r.data)), "the length is not a multiple of 4 bytes")
	}
	chunk, err := failsafeChunk(r.data)
	if err != nil {
		return err
	}
	r.img.Chunk, r.img.Failsafe = chunk, chunk != 0
	if ptr := r.word(offInfoPtr); !sumsToZero(ptr) {
		return badFormat(offInfoPtr, "wrong checksum in the pointer to the info section (%08x)", ptr)
	}
	// The image CRC covers the header with its own sixteen bits set.
	r.crc = updateCRC(crcInit, r.data[:offImageCRC+2])
	r.crc = updateCRC(r.crc, []byte{0xff, 0xff})
	r.crc = updateCRC(r.crc, r.data[offImageCRC+4:headerFS2])
	return nil
}

// failsafeChunk reads the failsafe word of the header in data: the chunk size
// in bytes, or 0 if the image is not made for two slots.
func failsafeChunk(data []byte) (int64, error) {
	w := binary.BigEndian.Uint32(data[offFailsafe:])
	if !sumsToZero(w) {
		return 0, badFormat(offFailsafe, "wrong checksum in the failsafe word (%08x)", w)
	}
	if w&8 == 0 {
		return 0, nil
	}
	return 1 << (16 + w&7), nil
}

// sumsToZero checks words whose top byte makes the sum of the four zero.
func sumsToZero(w uint32) bool { return byte(w>>24)+byte(w>>16)+byte(w>>8)+byte(w) == 0 }

// bootBlocks reads the boot block behind the header. Real images have a second one: it
// is there if what follows is no type of a section.
func (r *fs2Reader) bootBlocks() error {
	r.img.End = headerFS2
	if err := r.bootBlock(); err != nil {
		return err
	}
	if err := r.need("section header", r.img.End, sectionHeader); err != nil {
		return err
	}
	if kind := r.word(r.img.End); kind >= 1 && kind <= maxKnown {
		return nil
	}
	return r.bootBlock()
}

func (r *fs2Reader) bootBlock() error {
	off := r.img.End
	if err := r.need(nameBoot, off, 8); err != nil {
		return err
	}
	n := r.word(off + 4)
	if n < minBootDwords || n > maxBootDwords {
		return badFormat(off+4, "boot block of %d words, possible are %d to %d", n, minBootDwords, maxBootDwords)
	}
	return r.add(section{kind: kindBoot, offset: off, size: (int64(n) + 4) * 4})
}

// chain walks over the sections. Each one must lie behind its predecessor, as in real
// images. That makes loops impossible.
func (r *fs2Reader) chain() error {
	off := r.img.End
	for range maxSections {
		if err := r.need("section header", off, sectionHeader); err != nil {
			return err
		}
		s := section{kind: r.word(off), offset: off}
		n := int64(r.word(off + 4))
		if s.kind == kindEMT {
			n = (n + 3) &^ 3
		} else {
			n *= 4
		}
		if n > maxSectionBytes {
			return badFormat(off+4, "section %s of 0x%x bytes, at most 0x%x are possible", s.name(), n, maxSectionBytes)
		}
		s.size = sectionHeader + n + 4
		if err := r.add(s); err != nil {
			return err
		}
		next := r.word(off + 12)
		if next == lastSection || next == 0 {
			return nil
		}
		if err := r.gap(off+12, int64(next)); err != nil {
			return err
		}
		off = int64(next)
	}
	return badFormat(off, "more than %d sections", maxSections)
}

// gap accepts padding between sections. It is covered by no CRC, so it must
// hold nothing.
func (r *fs2Reader) gap(at, next int64) error {
	end := r.img.End
	if next < end || next%4 != 0 {
		return badFormat(at, "next section at 0x%x, but this one ends at 0x%x", next, end)
	}
	if next == end {
		return nil
	}
	if err := r.need("section header", next, sectionHeader); err != nil {
		return err
	}
	if hole := r.data[end:next]; !allBytes(hole, 0xff) && !allBytes(hole, 0) {
		return badFormat(end, "0x%x bytes between two sections that belong to neither", next-end)
	}
	return nil
}

// add verifies the CRC of a section, which is its last word, and remembers it.
func (r *fs2Reader) add(s section) error {
	if err := r.need(s.name(), s.offset, s.size); err != nil {
		return err
	}
	body := r.data[s.offset : s.end()-4]
	got := r.word(s.end() - 4)
	reg := updateCRC(crcInit, body)
	// A blank GUID section says so by its CRC.
	isBlank := s.kind == kindGUID && got == blankCRC && len(body) >= sectionHeader+8 &&
		binary.BigEndian.Uint64(body[sectionHeader:]) == ^uint64(0)
	switch want := uint32(reg ^ crcFinal); {
	case isBlank:
		r.img.Identity = IdentityBlank
	case got != want:
		return wrongCRC(s.name(), s.offset, want, got)
	}
	r.crc = appendCRC(r.crc, reg, int64(len(body)))
	r.crc = updateCRC(r.crc, r.data[s.end()-4:s.end()])
	r.img.sections = append(r.img.sections, s)
	r.img.End = s.end()
	switch s.kind {
	case kindInfo:
		return r.only(&r.info, s)
	case kindGUID:
		return r.only(&r.guid, s)
	case kindROM:
		r.roms = append(r.roms, s)
	}
	return nil
}

func (r *fs2Reader) only(place **section, s section) error {
	if *place != nil {
		return badFormat(s.offset, "second section %s, the first is at 0x%x", s.name(), (*place).offset)
	}
	*place = &s
	return nil
}
