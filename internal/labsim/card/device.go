package card

import (
	"bytes"
	"cmp"
	"fmt"
)

// own is what a card's device data say.
type own struct {
	psid      string // that it was made with
	guid, mac Range
	locked    bool // the GUIDs may not be set
}

func (o own) mfgInfo() []byte {
	b := make([]byte, 320)
	copy(b[:16], o.psid)
	b[28] = 1
	if !o.locked {
		b[31] = 1
	}
	o.guid.put(b[32:])
	o.mac.put(b[48:])
	return b
}

func (o own) devInfo() []byte {
	b := make([]byte, 512)
	copy(b, devInfo)
	b[18] = 2
	o.guid.put(b[32:])
	o.mac.put(b[48:])
	put32(b, 108, 0x15b3)
	return b
}

// sections are the device data, which lie at the end of the flash.
func (o own) sections(format string) (list []Section) {
	add := func(kind byte, data []byte, back uint32, mode byte) {
		list = append(list, Section{Kind: kind, Addr: FlashSize - back, Device: true, Data: data, mode: mode})
	}
	if format == FS3 {
		add(tocNV, blank(0x1000), 0x6000, crcEntry)
		add(tocDev, o.devInfo(), 0x3000, crcEntry)
		add(tocMfg, o.mfgInfo(), 0x1000, crcEntry)
	} else {
		dev := o.devInfo()
		sealDev(dev)
		add(tocNV, blank(0x1000), 0x8000, crcNone)
		add(tocDev, dev, 0x5000, crcSection)
		add(tocDev, blank(512), 0x4000, crcSection)
		add(tocMfg, o.mfgInfo(), 0x3000, crcEntry)
	}
	for i := range list {
		list[i].seal(format)
	}
	return list
}

// sealDev stores the checksum that device information of FS4 carries itself.
func sealDev(d []byte) { put32(d, 508, uint32(crc16(d[:508]))) }

// seal makes the entry of a section.
func (s *Section) seal(format string) {
	e := append32(nil, uint32(s.Kind)<<24|uint32(len(s.Data)), 0, 0, 0, 0, s.Addr, 0, 0)
	if s.mode == crcEntry {
		put32(e, 24, uint32(crc16(s.Data)))
	}
	switch {
	case format == FS4:
		e[25] = s.mode
	case s.Device:
		e[25] = 2
	default:
		e[20] |= 0x80
		e[25] = s.mode
	}
	put32(e, 28, uint32(crc16(e[:28])))
	copy(s.entry[:], e)
}

// installTOC puts an image into the flash of a new card, with the card's own device
// data at the end, and optionally an older image, dead, into the other slot.
func (f *Flash) installTOC(c Config) error {
	img, err := Parse(c.Image)
	if err != nil {
		return fmt.Errorf("card: image: %w", err)
	}
	o := own{psid: cmp.Or(c.OrigPSID, img.PSID), guid: Range{c.GUIDs[0], 4, 1}, mac: Range{c.MACs[0], 4, 1},
		locked: c.LockGUIDs}
	b := blank(FlashSize)
	if len(c.Previous) > 0 {
		old, err := Parse(c.Previous)
		if err != nil {
			return fmt.Errorf("card: earlier image: %w", err)
		}
		old.place(b, 1<<old.TOC.Log, o)
		put32(b, 1<<old.TOC.Log, 0)
	}
	img.place(b, 0, o)
	for a := uint32(0); a < FlashSize; a += SectorSize {
		if s := b[a : a+SectorSize]; !isErased(s) {
			f.sectors[a/SectorSize] = append([]byte{}, s...)
		}
	}
	return nil
}

// place puts the image into one slot of a card's flash, whose device data are the
// card's own.
func (i *Image) place(b []byte, start uint32, o own) {
	slot := b[start:]
	copy(slot, i.flat(i.TOC.Table+0x1000))
	for _, s := range i.TOC.Sections {
		if !s.Device {
			copy(slot[s.Addr:], s.Data)
		}
	}
	table := append([]byte{}, dtocMagic...)
	table = append32(table, 1, 0, 0, 0)
	put32(table, 28, uint32(crc16(table[:28])))
	for _, s := range o.sections(i.Format) {
		copy(b[s.Addr:], s.Data)
		table = append(table, s.entry[:]...)
		for _, old := range i.TOC.Sections {
			if i.Format == FS3 && old.Kind == s.Kind {
				copy(slot[old.entryAt:], s.entry[:])
			}
		}
	}
	if i.Format == FS4 {
		copy(b[FlashSize-0x1000:], table)
	}
}

// blank is erased flash.
func blank(size int) []byte { return bytes.Repeat([]byte{0xff}, size) }

func isErased(b []byte) bool { return len(bytes.Trim(b, "\xff")) == 0 }
