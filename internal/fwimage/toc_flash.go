package fwimage

import (
	"fmt"
)

// parseTOC reads and verifies the image at the start of data.
func parseTOC(data []byte, format Format) (*Image, error) {
	r := newTOCReader(data, format, 0)
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
	if first := loc.first(); first != 0 {
		if err := checkSlot(data, loc.format, first); err != nil {
			return nil, err
		}
		return nil, rawDump(fmt.Sprintf("its image starts in the second slot, at 0x%x", first))
	}
	img, err := parseTOC(data, loc.format)
	if err != nil {
		return nil, err
	}
	if img.Chunk != 0 && hasTail(data, loc.format, img.Chunk) {
		return nil, rawDump(fmt.Sprintf("there is a second image, valid or stale, at 0x%x", img.Chunk))
	}
	if loc.format == FS4 && len(loc.offsets) > 1 {
		return nil, badFormat(loc.offsets[1], "second image signature (%s)", hexList(loc.offsets))
	}
	if rest := data[img.End:]; !allBytes(rest, 0xff) {
		img.warn(fmt.Sprintf("0x%x bytes follow the image that do not belong to it.", len(rest)))
	}
	return img, nil
}

// checkSlot reads the slot size from the header of the image at start, which must be its place.
func checkSlot(data []byte, format Format, start int64) error {
	r := newTOCReader(data, format, start)
	if format == FS3 {
		return r.fs3Header()
	}
	ptr, err := r.pointers()
	if err != nil {
		return err
	}
	return r.toolsArea(int64(ptr[ptrTools]))
}

// hasTail looks for a signature whose first word may have been erased.
func hasTail(data []byte, format Format, off int64) bool {
	return off+magicLen <= int64(len(data)) && string(data[off+4:off+magicLen]) == magicOf(format)[4:]
}
