package fwimage

import (
	"fmt"
)

// parseFS2File reads a file that should be an image. Images are contiguous even
// if they are made for two slots; only the content of a flash is striped.
func parseFS2File(data []byte, loc location) (*Image, error) {
	if first := loc.first(); first != 0 {
		return nil, notAtStart(data, loc)
	}
	img, err := parseFS2(data)
	if err != nil {
		if striped(data) {
			return nil, rawDump("the image in it is striped over the chunks of a slot")
		}
		return nil, err
	}
	if reason := dumpReason(data, img); reason != "" {
		return nil, rawDump(reason)
	}
	img.Warnings = append(img.Warnings, describeTrailer(data, img)...)
	return img, nil
}

// notAtStart explains a signature that is not at the start of the file. With
// such a file mstflint 4.21 reports what it finds at the start, the stale
// image, and calls it bootable.
func notAtStart(data []byte, loc location) error {
	first := loc.first()
	if first+headerFS2 > int64(len(data)) {
		return truncated("header", first, first+headerFS2, int64(len(data)))
	}
	chunk, err := failsafeChunk(data[first:])
	if err != nil {
		return err
	}
	if chunk != first {
		return badFormat(first, "the image starts here; an FS2 image starts at 0, or in the second slot of a flash at its "+
			"chunk size (0x%x)", chunk)
	}
	return rawDump(fmt.Sprintf("its image starts in the second slot, at 0x%x", first))
}

// dumpReason tells a flash whose first slot can be read like a contiguous
// image from an image, or returns "".
func dumpReason(data []byte, img *Image) string {
	if !img.Failsafe || img.End > img.Chunk || int64(len(data)) <= img.Chunk {
		return ""
	}
	at := data[img.Chunk:]
	if len(at) >= magicLen && string(at[4:magicLen]) == magicFS23[4:] {
		return fmt.Sprintf("there is a second image, valid or stale, at 0x%x", img.Chunk)
	}
	if isFlashSize(data, img.Chunk) && !allBytes(data[img.End:], 0xff) {
		return fmt.Sprintf("it has the size of a flash and more content behind the image, which ends at 0x%x", img.End)
	}
	return ""
}

func isFlashSize(data []byte, chunk int64) bool {
	n := int64(len(data))
	return n >= 2*chunk && n&(n-1) == 0
}

// describeTrailer describes what follows the image in its file. mstflint ignores it.
func describeTrailer(data []byte, img *Image) []string {
	rest := data[img.End:]
	switch {
	case len(rest) == 0:
		return nil
	case !allBytes(rest, 0xff):
		return []string{fmt.Sprintf("0x%x bytes follow the image that do not belong to it.", len(rest))}
	case img.Failsafe && isFlashSize(data, img.Chunk):
		return []string{"The file has the size of a flash: it may be a raw dump whose second slot is erased. The image in " +
			"it is complete."}
	}
	return nil
}

// striped reports whether data, which begin with an image, are a flash whose first slot holds
// it. An image longer than a chunk continues behind a chunk of the other slot.
func striped(data []byte) bool {
	if len(data) < headerFS2 {
		return false
	}
	chunk, err := failsafeChunk(data)
	if err != nil || chunk == 0 || int64(len(data))%(2*chunk) != 0 {
		return false
	}
	image := make([]byte, 0, len(data)/2)
	for off := int64(0); off < int64(len(data)); off += 2 * chunk {
		image = append(image, data[off:off+chunk]...)
	}
	_, err = parseFS2(image)
	return err == nil
}

// parseFS2 reads the contiguous image at the start of data and verifies it.
// What follows the image is not looked at.
func parseFS2(data []byte) (*Image, error) {
	r := &fs2Reader{data: data, img: &Image{Format: FS2}}
	for _, step := range []func() error{
		r.header, r.bootBlocks, r.chain, r.infoSection, r.guidSection, r.pointers, r.imageCRC, r.romSections,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.img.Checksum = r.checksum()
	return r.img, nil
}
