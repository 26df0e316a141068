package card

import "bytes"

// imageOf reads what a sender has sent: an image file up to its last section, without its
// signature and without the entries of device data, which the firmware fills in (mstflint
// 4.21, traced). It gives the image and the bytes of it that belong into flash.
func (c *Card) imageOf(sent []byte, running *Image) (*Image, []byte, error) {
	raw := append([]byte{}, sent...)
	if len(raw) < 0x100 || running == nil {
		return nil, nil, ErrNoImage
	}
	format := c.Chip.Format
	signature := magic
	if format == FS4 {
		signature = magic4
	}
	copy(raw, signature)
	if format == FS3 {
		fillDeviceEntries(raw, running)
	}
	img, err := parseTOC(format, func(addr uint32, n int) []byte {
		if uint64(addr)+uint64(n) <= uint64(len(raw)) {
			return raw[addr : addr+uint32(n)]
		}
		return c.Flash.Read(addr, n)
	}, FlashSize, 0)
	return img, raw, err
}

// fillDeviceEntries puts the card's own entries of device data where the sender left ones.
func fillDeviceEntries(raw []byte, running *Image) {
	at := bytes.Index(raw, itocMagic)
	if at < 0 {
		return
	}
	for _, s := range running.TOC.Sections {
		for n := at + tableHead; s.Device && n+tableHead <= len(raw) && n < at+tocLimit*tableHead; n += tableHead {
			if isErased(raw[n : n+tableHead]) {
				copy(raw[n:], s.entry[:])
				break
			}
		}
	}
}

// stage writes an image into the slot that does not hold the running one.
func (c *Card) stage(img *Image, raw []byte) error {
	running := c.booted()
	defer c.Flash.startWriting()()
	if c.staged() != nil {
		// One that waits for a reset is about to be erased: the running one has to boot again.
		if err := c.Flash.modify(running.Start, raw[:len(magic)]); err != nil {
			return err
		}
	}
	w := &tocWriter{flash: c.Flash, block: ^uint32(0), progress: func(int) error { return nil }, total: len(raw)}
	if running.Start == 0 {
		w.start = 1 << img.TOC.Log
	}
	if err := w.write(uint32(len(magic)), raw[len(magic):]); err != nil {
		return err
	}
	if err := w.finish(img, running, raw[:len(magic)]); err != nil {
		return err
	}
	staged, err := c.Flash.At(w.start)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = staged
	return nil
}

// Component is what a tool sends of an image: all up to the last section of the firmware,
// with ones in place of the signature and of the entries of device data (mstflint 4.21,
// traced).
func (i *Image) Component() []byte {
	end := uint32(0)
	for _, s := range i.TOC.Sections {
		if !s.Device {
			end = max(end, s.Addr+uint32(len(s.Data)))
		}
	}
	b := i.flat(end)
	copy(b, blank(len(magic)))
	for _, s := range i.TOC.Sections {
		if s.Device && i.Format == FS3 {
			copy(b[s.entryAt:], blank(tableHead))
		}
	}
	return b
}
