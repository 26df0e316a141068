package fwimage

import (
	"encoding/binary"
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
		// An image longer than a chunk cannot be read across the chunks of
		// the other slot.
		if flash, flashErr := parseFS2Flash(data, loc); flashErr == nil && flash.Chunk != 0 {
			return nil, &RawDumpError{Reason: "the image in it is striped over the chunks of a slot", Flash: flash}
		}
		return nil, err
	}
	if reason := dumpReason(data, img); reason != "" {
		flash, _ := parseFS2Flash(data, loc) // only adds to the message
		return nil, &RawDumpError{Reason: reason, Flash: flash}
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
		return &TruncatedError{What: "header", Offset: first, Need: first + headerFS2, Have: int64(len(data))}
	}
	chunk, err := failsafeChunk(data[first:])
	if err != nil {
		return err
	}
	if chunk != first {
		return badFormat(first, "the image starts here; an FS2 image starts at 0, or in the second slot of a flash at its "+
			"chunk size (0x%x)", chunk)
	}
	flash, _ := parseFS2Flash(data, loc) // only adds to the message
	return &RawDumpError{Reason: fmt.Sprintf("its image starts in the second slot, at 0x%x", first), Flash: flash}
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

// parseFS2Flash reads the content of a whole flash. It returns the flash
// together with an error if the slots are recognisable but the image that
// boots is damaged.
func parseFS2Flash(data []byte, loc location) (*Flash, error) {
	first := loc.first()
	if first+headerFS2 > int64(len(data)) {
		return nil, &TruncatedError{What: "header", Offset: first, Need: first + headerFS2, Have: int64(len(data))}
	}
	chunk, err := failsafeChunk(data[first:])
	if err != nil {
		return nil, err
	}
	f := &Flash{Size: int64(len(data)), Chunk: chunk, ActiveSlot: -1}
	switch {
	case first != 0 && first != chunk:
		return nil, badFormat(first, "the image starts here; an FS2 image starts at 0 or at its chunk size (0x%x)", chunk)
	case chunk == 0:
		img, err := parseFS2(data)
		f.setSlot(Slot{State: SlotValid, Image: img, Err: err})
	case int64(len(data))%(2*chunk) != 0:
		return nil, badFormat(int64(len(data)), "a flash with two slots of chunks of 0x%x bytes has a multiple of 0x%x bytes",
			chunk, 2*chunk)
	default:
		for n := range 2 {
			f.setSlot(readSlot(data, chunk, n))
		}
	}
	return f, f.choose()
}

func (f *Flash) setSlot(s Slot) { f.Slots = append(f.Slots, s) }

// choose makes the valid slot at the lower address the active one, as the tool
// and the chip do.
func (f *Flash) choose() error {
	for i := range f.Slots {
		s := &f.Slots[i]
		if s.State != SlotValid {
			continue
		}
		if f.ActiveSlot >= 0 {
			f.Warnings = append(f.Warnings,
				"Both slots hold an image with a signature: a burn was interrupted before its last step.")
			continue
		}
		s.State, f.ActiveSlot, f.Active = SlotActive, s.Number, s.Image
	}
	if f.ActiveSlot < 0 {
		return &NotAnImageError{Kind: KindInvalidated, Advice: "neither slot of the flash holds an image with a signature"}
	}
	if err := f.Slots[f.ActiveSlot].Err; err != nil {
		return fmt.Errorf("slot %d: %w", f.ActiveSlot, err)
	}
	return nil
}

// readSlot reads one slot of a flash with two.
func readSlot(data []byte, chunk int64, number int) Slot {
	s := Slot{Number: number, Start: int64(number) * chunk}
	head := data[s.Start:]
	switch {
	case string(head[:magicLen]) == magicFS23:
		s.State = SlotValid
	case hasErasedMagic(data, s.Start):
		s.State = SlotInvalidated
	case allBytes(head[:chunk], 0xff):
		s.State = SlotEmpty
		return s
	default:
		s.State = SlotUnfinished
		return s
	}
	image := destripe(data, chunk, number)
	// The stale image is whole but for the word that the burn has zeroed.
	binary.BigEndian.PutUint32(image, magicWord)
	own, err := failsafeChunk(image)
	if err == nil && own != chunk {
		err = badFormat(offFailsafe, "the image in slot %d is made for chunks of 0x%x bytes, the flash has 0x%x", number, own,
			chunk)
	}
	if err == nil {
		s.Image, err = parseFS2(image)
	}
	if err != nil {
		s.Image, s.Err = nil, err
		return s
	}
	s.Image.Start, s.Image.Striped = s.Start, true
	return s
}

// magicWord is the first word of every signature, "MTFW".
const magicWord = 0x4d544657

// destripe gathers the chunks of a slot: slot 0 owns the even ones, slot 1 the
// odd ones.
func destripe(data []byte, chunk int64, number int) []byte {
	image := make([]byte, 0, len(data)/2)
	for off := int64(number) * chunk; off < int64(len(data)); off += 2 * chunk {
		image = append(image, data[off:off+chunk]...)
	}
	return image
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
