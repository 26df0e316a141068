package fwimage

import (
	"encoding/binary"
	"fmt"
)

// parseTOC reads and verifies the image at start.
func parseTOC(data []byte, format Format, start int64) (*Image, error) {
	r := newTOCReader(data, format, start)
	read := r.readFS3
	if format == FS4 {
		read = r.readFS4
	}
	if err := read(); err != nil {
		return nil, err
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	r.img.Checksum = r.checksum()
	return r.img, nil
}

func magicOf(format Format) string {
	if format == FS4 {
		return magicFS4
	}
	return magicFS23
}

// parseTOCFile reads a file that should be an image. Images are as long as the
// flash that they are for, or as its first slot; only a flash has one in the
// second slot. Such a file must not be burnt: mstflint 4.21 takes FS4 in the
// second slot for encrypted.
func parseTOCFile(data []byte, loc location) (*Image, error) {
	first := loc.first()
	img, err := parseTOC(data, loc.format, first)
	if first == 0 && err != nil {
		return nil, err
	}
	chunk, chunkErr := tocChunk(data, loc.format, first)
	if chunkErr != nil {
		return nil, chunkErr
	}
	switch {
	case first == 0 && chunk != 0 && hasTail(data, loc.format, chunk):
		return nil, tocDump(data, loc, fmt.Sprintf("there is a second image, valid or stale, at 0x%x", chunk))
	case first != 0:
		return nil, tocDump(data, loc, fmt.Sprintf("its image starts in the second slot, at 0x%x", first))
	}
	if loc.format == FS4 && len(loc.offsets) > 1 {
		return nil, badFormat(loc.offsets[1], "second image signature (%s)", hexList(loc.offsets))
	}
	if rest := data[img.End:]; !allBytes(rest, 0xff) {
		img.warn(fmt.Sprintf("0x%x bytes follow the image that do not belong to it.", len(rest)))
	}
	return img, nil
}

func tocDump(data []byte, loc location, reason string) error {
	flash, _ := parseTOCFlash(data, loc) // only adds to the message
	return &RawDumpError{Reason: reason, Flash: flash}
}

// tocChunk reads the slot size from the header of the image at start, in bytes;
// 0 means that there is only one place for an image.
func tocChunk(data []byte, format Format, start int64) (int64, error) {
	r := newTOCReader(data, format, start)
	if format == FS3 {
		if err := r.fs3Header(); err != nil {
			return 0, err
		}
		return r.img.Chunk, nil
	}
	ptr, err := r.pointers()
	if err != nil {
		return 0, err
	}
	if err := r.toolsArea(int64(ptr[ptrTools])); err != nil {
		return 0, err
	}
	return r.img.Chunk, nil
}

// hasTail looks for a signature whose first word may have been erased.
func hasTail(data []byte, format Format, off int64) bool {
	return off+magicLen <= int64(len(data)) && string(data[off+4:off+magicLen]) == magicOf(format)[4:]
}

// parseTOCFlash reads the content of a whole flash: a slot at its start, and a
// second one at the slot size. The data of the device lies at the end, outside
// of both.
func parseTOCFlash(data []byte, loc location) (*Flash, error) {
	chunk, err := tocChunk(data, loc.format, loc.first())
	if err != nil {
		return nil, err
	}
	f := &Flash{Size: int64(len(data)), Chunk: chunk, ActiveSlot: -1}
	f.setSlot(readTOCSlot(data, loc.format, chunk, 0))
	if chunk != 0 && 2*chunk <= f.Size {
		f.setSlot(readTOCSlot(data, loc.format, chunk, 1))
	}
	return f, f.choose()
}

func readTOCSlot(data []byte, format Format, chunk int64, number int) Slot {
	s := Slot{Number: number, Start: int64(number) * chunk}
	head := data[s.Start:]
	switch {
	case string(head[:magicLen]) == magicOf(format):
		s.State = SlotValid
	case binary.BigEndian.Uint32(head) == 0 && hasTail(data, format, s.Start):
		s.State = SlotInvalidated
		data = append([]byte(nil), data...)
		binary.BigEndian.PutUint32(data[s.Start:], magicWord)
	case allBytes(head[:min(tocSectorBytes, len(head))], 0xff):
		s.State = SlotEmpty
		return s
	default:
		s.State = SlotUnfinished
		return s
	}
	s.Image, s.Err = parseTOC(data, format, s.Start)
	if s.Err == nil && s.Image.Chunk != chunk {
		s.Image, s.Err = nil, badFormat(s.Start, "the image in slot %d is made for slots of 0x%x bytes, the flash has 0x%x",
			number, s.Image.Chunk, chunk)
	}
	return s
}
