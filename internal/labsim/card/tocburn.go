package card

import "errors"

// pageSize is what the serial flash programs at once, blockSize the larger of its
// two erase sizes. A burn of FS3 and FS4 erases blocks; what changes a part in
// place erases one sector (mstflint 4.21, traced).
const (
	pageSize  = 256
	blockSize = 64 << 10
	piecesOf  = 4096 // bytes that the tool hands to the flash at once
)

// WriteError is a failure to write, in the tool's words.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "Flash write failed: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// tocWriter writes into one slot as the tool does.
type tocWriter struct {
	flash    *Flash
	start    uint32
	block    uint32 // erased last, in the slot's addresses; ^0: none
	done     int
	total    int
	progress func(percent int) error
}

// write puts data at an address of the slot, piece by piece, and erases each
// block before its first byte.
func (w *tocWriter) write(at uint32, data []byte) error {
	shown := -1
	for off := 0; off < len(data); {
		n := min(len(data)-off, piecesOf)
		if err := w.piece(at+uint32(off), data[off:off+n]); err != nil {
			return err
		}
		off += n
		if percent := (w.done + off) * 100 / w.total; percent != shown {
			shown = percent
			if err := w.progress(percent); err != nil {
				return err
			}
		}
	}
	w.done += len(data)
	return nil
}

func (w *tocWriter) piece(at uint32, data []byte) error {
	for len(data) > 0 {
		n := min(blockSize-int(at%blockSize), len(data))
		if block := at &^ (blockSize - 1); block != w.block {
			w.block = block
			if err := w.flash.EraseBlock(w.start + block); err != nil {
				return &WriteError{err}
			}
		}
		if err := w.flash.program(w.start+at, data[:n]); err != nil {
			return &WriteError{err}
		}
		at, data = at+uint32(n), data[n:]
	}
	return nil
}

// program writes pages, leaving out those that stay erased, and reads back.
func (f *Flash) program(at uint32, data []byte) error {
	for off := 0; off < len(data); {
		a := at + uint32(off)
		n := min(pageSize-int(a%pageSize), len(data)-off)
		if page := data[off : off+n]; !isErased(page) {
			if err := f.Program(a, page); err != nil {
				return err
			}
		}
		off += n
	}
	if string(f.Read(at, len(data))) != string(data) {
		return &VerifyError{Addr: at, Size: len(data)}
	}
	return nil
}

// modify changes a part in place: the sector is read, erased and written again.
func (f *Flash) modify(at uint32, data []byte) error {
	sector := at &^ (SectorSize - 1)
	b := f.Read(sector, SectorSize)
	copy(b[at-sector:], data)
	if err := f.Erase(sector); err != nil {
		return err
	}
	return f.program(sector, b)
}

// WriteTOC burns an image of FS3 or FS4 beside the one in flash, in the order of
// mstflint 4.21 without the firmware's help: head and table without signature, the
// sections, the signature, then zeros over the old one's. Device data stay where
// they are.
func (c *Card) WriteTOC(img *Image, progress func(percent int) error) error {
	now, err := c.Flash.Active()
	if err != nil {
		return err
	}
	defer c.Flash.startWriting()()
	w := &tocWriter{flash: c.Flash, block: ^uint32(0), progress: progress}
	if now.Start == 0 {
		w.start = 1 << img.TOC.Log
	}
	head := img.flat(img.TOC.Table + 0x1000)
	if img.Format == FS3 {
		adoptDeviceData(head, img, now)
	}
	w.total = len(head) - len(magic)
	for _, s := range img.TOC.Sections {
		if !s.Device {
			w.total += len(s.Data)
		}
	}
	if err := w.write(uint32(len(magic)), head[len(magic):]); err != nil {
		return err
	}
	for _, s := range img.TOC.Sections {
		if s.Device {
			continue
		}
		if err := w.write(s.Addr, s.Data); err != nil {
			return err
		}
	}
	return w.finish(img, now, head[:len(magic)])
}

func (w *tocWriter) finish(img, now *Image, signature []byte) error {
	if img.Format == FS3 {
		if err := w.flash.Program(w.start, signature); err != nil {
			return &WriteError{err}
		}
	} else {
		if err := w.flash.modify(w.start, signature); err != nil {
			return &WriteError{err}
		}
		if err := w.progress((w.done + len(signature)) * 100 / w.total); err != nil {
			return err
		}
	}
	return w.flash.Program(now.Start, make([]byte, 4))
}

// adoptDeviceData points the image's table to the device data of the card.
func adoptDeviceData(head []byte, img, now *Image) {
	for _, s := range img.TOC.Sections {
		if !s.Device {
			continue
		}
		for _, own := range now.TOC.Sections {
			if own.Kind == s.Kind {
				copy(head[s.entryAt:], own.entry[:])
			}
		}
	}
}

// Errors of SetUID.
var (
	ErrGUIDsLocked = errors.New("guids override is not set, cannot set device guids")
	errNoSecond    = errors.New("FAILED")
)

// SetUID rewrites the card's GUIDs and MACs, given as functions of those it has, in
// its device data. step is told when each part is done.
func (c *Card) SetUID(guid, mac func(uint64) uint64, step func(string)) error {
	img, err := c.Flash.Active()
	if err != nil {
		return err
	}
	if !img.TOC.Override {
		return ErrGUIDsLocked
	}
	var used, spare *Section
	for i := range img.TOC.Sections {
		s := &img.TOC.Sections[i]
		switch {
		case s.Kind != tocDev:
		case used == nil && string(s.Data[:16]) == string(devInfo):
			used = s
		default:
			spare = s
		}
	}
	if used == nil || img.Format == FS4 && spare == nil {
		return errNoSecond
	}
	data := append([]byte{}, used.Data...)
	g, m := img.TOC.GUID, img.TOC.MAC
	g.Base, m.Base = guid(g.Base), mac(m.Base)
	g.put(data[32:])
	m.put(data[48:])
	if img.Format == FS4 {
		sealDev(data)
		return c.swapDevInfo(used, spare, data, step)
	}
	return c.replaceDevInfo(img, used, data, step)
}

// swapDevInfo is FS4's way: the other copy is written, then this one dies.
func (c *Card) swapDevInfo(used, spare *Section, data []byte, step func(string)) error {
	if err := c.Flash.modify(spare.Addr, data); err != nil {
		return &WriteError{err}
	}
	step("GUID")
	if err := c.Flash.modify(used.Addr, make([]byte, 4)); err != nil {
		return &WriteError{err}
	}
	return nil
}

// replaceDevInfo is FS3's way: in place, and the table moves to its other place.
func (c *Card) replaceDevInfo(img *Image, used *Section, data []byte, step func(string)) error {
	if err := c.Flash.modify(used.Addr, data); err != nil {
		return &WriteError{err}
	}
	step("GUID")
	used.Data = data
	used.seal(FS3)
	table := append([]byte{}, img.flat(img.TOC.Table + tableHead)[img.TOC.Table:]...)
	for _, s := range img.TOC.Sections {
		table = append(table, s.entry[:]...)
	}
	for range tableHead {
		table = append(table, 0xff)
	}
	now, next := img.Start+img.TOC.Table, img.Start+img.TOC.Table+0x1000
	if img.TOC.Second {
		next = now - 0x1000
	}
	if err := c.Flash.modify(next, table); err != nil {
		return &WriteError{err}
	}
	step("ITOC")
	if err := c.Flash.modify(now, make([]byte, 4)); err != nil {
		return &WriteError{err}
	}
	step("signature")
	return nil
}
