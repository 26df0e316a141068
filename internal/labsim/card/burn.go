package card

import (
	"fmt"
	"maps"
)

// New makes a card as delivered: the image in slot 0 with the card's identity,
// and optionally an older one, dead, in slot 1.
func New(c Config) (*Card, error) {
	if c.Fixed != nil {
		return &Card{Chip: c.Chip, Rev: c.Rev, Flash: &Flash{sectors: map[uint32][]byte{}}, fixed: c.Fixed}, nil
	}
	img, err := Parse(c.Image)
	if err != nil {
		return nil, fmt.Errorf("card: image: %w", err)
	}
	if most := len(NV{}.LinkType); c.Functions > most {
		return nil, fmt.Errorf("card: %d functions; at most %d", c.Functions, most)
	}
	card := &Card{Chip: c.Chip, Rev: c.Rev, Functions: max(1, c.Functions), Flash: &Flash{sectors: map[uint32][]byte{}},
		next: c.Stored, settings: maps.Clone(c.Settings)}
	if img.TOC != nil {
		return card, card.Flash.installTOC(c)
	}
	if len(c.Previous) > 0 {
		card.Flash.load(split(c.Previous), 1<<(16+be32(c.Previous, 0x28)&7), true)
	}
	card.Flash.load(shareWith(img.WithIdentity(c.GUIDs, c.MACs, ""), img.Data), 0, false)
	return card, nil
}

// split cuts an image into sectors.
func split(image []byte) [][]byte {
	var list [][]byte
	for a := 0; a < len(image); a += SectorSize {
		list = append(list, image[a:min(a+SectorSize, len(image))])
	}
	return list
}

// shareWith cuts an image into sectors, taking those of base that are equal, so
// that cards with the same firmware share memory.
func shareWith(image, base []byte) [][]byte {
	list := split(image)
	for i, s := range split(base) {
		if i < len(list) && string(s) == string(list[i]) {
			list[i] = s
		}
	}
	// A slice of the patched copy would keep all of it alive.
	for i := range list {
		if a := i * SectorSize; a >= len(base) || &list[i][0] != &base[a] {
			list[i] = append([]byte{}, list[i]...)
		}
	}
	return list
}

// WithIdentity returns the image's bytes with GUIDs, MACs and VSD replaced and
// every CRC that depends on them recomputed.
func (i *Image) WithIdentity(guids [4]uint64, macs [2]uint64, vsd string) []byte {
	b := append([]byte{}, i.Data[:i.End]...)
	copy(b[i.guidData:], guidData(guids, macs))
	sealSection(b, i.guidData-16)
	if i.vsdAt != 0 {
		copy(b[i.vsdAt:i.vsdAt+208], padText(vsd, 208))
		sealSection(b, i.infoAt)
	}
	sealImage(b)
	return b
}

// MaxFailsafe is the largest image the two-slot layout takes: half of the flash
// minus the configuration area.
func (i *Image) MaxFailsafe() uint32 { return FlashSize/2 - min(i.Sectors*SectorSize, 0x10000) }

// FitsChip says whether the image lists the chip's id and revision.
func (c *Card) FitsChip(i *Image) bool {
	for _, id := range i.HWIDs {
		if id == 0 {
			return false
		}
		if id == uint32(c.Rev)<<16|uint32(c.Chip.HWID) {
			return true
		}
	}
	return false
}

// Write burns a prepared image in the failsafe order of mstflint 4.21: the other
// slot from byte 16 on, then its signature, then zeros over the first dword of
// every other image. progress gets the percentage after each piece, 0 while there
// is none, and may return an error to stop, as a signal does.
func (c *Card) Write(image []byte, progress func(percent int) error) error {
	defer c.Flash.startWriting()()
	start, chunk := uint32(0), uint32(1)<<(16+be32(image, 0x28)&7)
	failsafe := be32(image, 0x28)&8 != 0
	others, percent := c.Flash.Starts(), 0
	if failsafe && len(others) > 0 && others[0] == 0 {
		start = chunk
	}
	for a := uint32(0); a < uint32(len(image)); a += SectorSize {
		p := start + a
		if failsafe {
			p = stripe(a, chunk, start)
		}
		if err := c.writeSector(image, a, p); err != nil {
			return err
		}
		if err := progress(percentAfter(a+SectorSize, uint32(len(image)), &percent)); err != nil {
			return err
		}
	}
	if err := c.Flash.Program(start, image[:16]); err != nil {
		return err
	}
	for _, old := range others {
		if old == start {
			continue
		}
		if err := c.Flash.Program(old, make([]byte, 4)); err != nil {
			return err
		}
	}
	return nil
}

// percentAfter is the progress that the tool shows when written bytes are in
// flash. Its pieces of 4096 bytes begin behind the signature, at byte 16, and the
// last, shorter one is not shown.
func percentAfter(written, size uint32, last *int) int {
	if written+uint32(len(magic)) <= size {
		*last = int(uint64(written) * 100 / uint64(size))
	}
	return *last
}

// writeSector erases and programs one sector and reads it back. The signature of
// the first one is left out.
func (c *Card) writeSector(image []byte, a, p uint32) error {
	if err := c.Flash.Erase(p); err != nil {
		return err
	}
	data := image[a:min(int(a)+SectorSize, len(image))]
	if a == 0 {
		data, p = data[16:], p+16
	}
	if err := c.Flash.Program(p, data); err != nil {
		return err
	}
	if string(c.Flash.Read(p, len(data))) != string(data) {
		return &VerifyError{Addr: p, Size: len(data)}
	}
	return nil
}

// VerifyError says that flash reads back otherwise than written.
type VerifyError struct {
	Addr uint32
	Size int
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("Flash write of %d bytes to address physical 0x%x failed: MFE_VERIFY_ERROR", e.Size, e.Addr)
}

// PatchBlank writes GUIDs over a blank GUID section in place, as sg does on a
// blank card: not failsafe.
func (c *Card) PatchBlank(i *Image, guids [4]uint64, macs [2]uint64) error {
	b := i.WithIdentity(guids, macs, i.VSD)
	chunk := i.Chunk()
	for a := uint32(0); a < uint32(len(b)); a += SectorSize {
		end := min(a+SectorSize, uint32(len(b)))
		if string(b[a:end]) == string(i.Data[a:end]) {
			continue
		}
		p := i.Start + a
		if i.Failsafe() {
			p = stripe(a, chunk, i.Start)
		}
		if err := c.Flash.Erase(p); err != nil {
			return err
		}
		if err := c.Flash.Program(p, b[a:end]); err != nil {
			return err
		}
	}
	return nil
}

// GUIDsFromBase returns node, port 1, port 2 and system GUID; the addition wraps
// silently, as the tool's does.
func GUIDsFromBase(g uint64) [4]uint64 { return [4]uint64{g, g + 1, g + 2, g + 3} }

// GUIDFromMAC inserts 0300 into a MAC, the vendor's convention.
func GUIDFromMAC(mac uint64) uint64 { return mac>>24<<40 | 0x0300<<24 | mac&0xffffff }
