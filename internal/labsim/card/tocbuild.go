package card

import "fmt"

// TOCSpec describes a synthetic image of FS3 or FS4. PSIDs must begin with MT_9:
// see Spec.
type TOCSpec struct {
	Format    string // FS3 or FS4
	PSID      string
	OrigPSID  string // default PSID
	Version   [3]uint16
	Product   string
	Date      uint32 // BCD yyyymmdd
	Device    uint16 // PCI device id
	HWIDs     []uint32
	PRS, Part string
	GUID, MAC Range // of the device data; zero in files for distribution
	VSD       string
	Flags     uint16 // of the image information; 0x8000 secure, 0x4000 signed, 0x0100 the firmware controls updates
	Signed    bool   // with the sections of a signature, which make Flags count
	LockGUIDs bool
	ROMDevice uint16 // what the expansion ROM is for; default Device
	Layout    byte   // version of the flash's layout, FS4
	Log       uint   // log2 of the slot size, default 20
	Code      int    // bytes of made-up code
	Size      uint32
}

// Flags of image information.
const (
	FlagSecure     = 0x8000
	FlagSigned     = 0x4000
	FlagControlled = 0x0100
)

// tocLayout is an image to be laid out in a flash or file.
type tocLayout struct {
	format        string
	log           uint
	size, start   uint32
	layoutVersion byte
	second        uint32 // security version
	sections      []Section
}

// BuildTOC makes an image that the vendor's tool calls bootable. Every byte is made
// up but the format's own constants.
func BuildTOC(s TOCSpec) []byte {
	if s.Log == 0 {
		s.Log = 20
	}
	if s.OrigPSID == "" {
		s.OrigPSID = s.PSID
	}
	if s.Size == 0 {
		s.Size = 1 << s.Log
		if s.Format == FS4 {
			s.Size = FlashSize // the table of device data is at the end of the flash
		}
	}
	if s.ROMDevice == 0 {
		s.ROMDevice = s.Device
	}
	l := tocLayout{format: s.Format, log: s.Log, size: s.Size, layoutVersion: s.Layout}
	l.add(tocMain, filler(0x200, 21), crcEntry)
	l.add(tocPCI, filler(0x100, 22), crcEntry)
	for left, n := s.Code, uint32(0); left > 0; n++ {
		size := min(left, 0x10000)
		l.add(tocMain, filler(size&^3, n+31), crcEntry)
		left -= size
	}
	l.add(tocInfo, s.info(), crcEntry)
	l.add(tocCfg, filler(0x100, 23), crcEntry)
	l.add(tocROM, romData(s.ROMDevice), crcEntry)
	l.add(tocINI, configData(Spec{PSID: s.PSID, Version: s.Version}), crcEntry)
	if s.Signed {
		l.add(tocSign, filler(320, 24), crcNone)
		l.add(tocKeys, filler(0x220, 25), crcEntry)
	}
	l.device(s.devInfo(), s.mfgInfo())
	b := make([]byte, s.Size)
	for i := range b {
		b[i] = 0xff
	}
	l.write(b)
	return b
}

// add puts a section of the firmware behind the last one.
func (l *tocLayout) add(kind byte, data []byte, mode byte) {
	at := uint32(0x3000)
	if l.format == FS4 {
		at = 0x4000
	}
	if n := len(l.sections); n > 0 {
		last := l.sections[n-1]
		at = (last.Addr + uint32(len(last.Data)) + 0xff) &^ 0xff
	}
	l.sections = append(l.sections, Section{Kind: kind, Addr: at, Data: data, mode: mode})
}

// device adds what belongs to the card and lies at the end of the flash.
func (l *tocLayout) device(dev, mfg []byte) {
	blank := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0xff
		}
		return b
	}
	add := func(kind byte, data []byte, back uint32, mode byte) {
		l.sections = append(l.sections, Section{Kind: kind, Addr: l.size - back, Device: true, Data: data, mode: mode})
	}
	if l.format == FS3 {
		add(tocNV, blank(0x1000), 0x6000, crcEntry)
		add(tocDev, dev, 0x3000, crcEntry)
		add(tocMfg, mfg, 0x1000, crcEntry)
		return
	}
	add(tocNV, blank(0x1000), 0x8000, crcNone)
	sealDev(dev)
	add(tocDev, dev, 0x5000, crcSection)
	add(tocDev, blank(512), 0x4000, crcSection)
	add(tocMfg, mfg, 0x3000, crcEntry)
}

// sealDev stores the checksum that device information of FS4 carries itself.
func sealDev(d []byte) { put32(d, 508, uint32(crc16(d[:508]))) }

// write lays everything out in the bytes of a flash or file.
func (l *tocLayout) write(b []byte) {
	slot := b[l.start:]
	table := uint32(0x1000)
	if l.format == FS3 {
		clear(slot[:0x38])
		copy(slot, magic)
		copy(slot[0x24:], []byte{3, byte(l.log), 1, 1})
		copy(slot[0x38:], bootBlock(0x80000033, 32))
	} else {
		table = 0x2000
		l.head4(slot)
	}
	l.table(slot[table:], itocMagic, func(s *Section) bool { return l.format == FS3 || !s.Device })
	if l.format == FS4 {
		l.table(b[l.size-0x1000:], dtocMagic, func(s *Section) bool { return s.Device })
	}
	for _, s := range l.sections {
		if s.Device {
			copy(b[s.Addr:], s.Data)
		} else {
			copy(slot[s.Addr:], s.Data)
		}
	}
}

func (l *tocLayout) head4(slot []byte) {
	clear(slot[:0x540])
	copy(slot, magic4)
	slot[0x10] = 1
	for i, v := range map[uint32]uint32{1: 0x1000, 2: 0x2000, 3: 0x500, 13: l.second} {
		put32(slot, 0x18+8*i, v)
	}
	for i := range uint32(16) {
		off := 0x18 + 8*i
		put32(slot, off+4, uint32(pointerCRC(slot[off:off+4])))
	}
	copy(slot[0x504:], []byte{0, byte(l.log), 1, 0})
	put32(slot, 0x53c, uint32(crc16(slot[0x500:0x53c])))
	copy(slot[0x1000:], bootBlock(0x80000033, 32))
}

// table writes a table of contents with the sections that belong in it.
func (l *tocLayout) table(b, signature []byte, in func(*Section) bool) {
	copy(b, signature)
	copy(b[16:], append32(nil, 1, 0, 0, 0))
	b[16] = l.layoutVersion
	put32(b, 28, uint32(crc16(b[:28])))
	at := uint32(tableHead)
	for i := range l.sections {
		if s := &l.sections[i]; in(s) {
			s.seal(l.format)
			at += uint32(copy(b[at:], s.entry[:]))
		}
	}
}

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

func (s TOCSpec) info() []byte {
	b := make([]byte, 1024)
	b[1] = 3
	put32(b, 0, 3<<16|uint32(s.Flags))
	put32(b, 4, uint32(s.Version[0])<<16)
	put32(b, 8, uint32(s.Version[1])<<16|uint32(s.Version[2]))
	put32(b, 12, 0x00301500)
	put32(b, 16, s.Date)
	put32(b, 20, 2<<16)
	put32(b, 28, uint32(s.Device)<<16|0x15b3)
	copy(b[36:52], s.PSID)
	put32(b, 52, 0x15b3)
	put32(b, 264, uint32(s.Log))
	for i, id := range s.HWIDs {
		put32(b, uint32(280+4*i), id)
	}
	copy(b[448:464], s.Product)
	copy(b[832:896], s.Part)
	copy(b[896:992], s.PRS)
	return b
}

func (s TOCSpec) mfgInfo() []byte {
	b := make([]byte, 320)
	copy(b[:16], s.OrigPSID)
	b[28] = 1
	if !s.LockGUIDs {
		b[31] = 1
	}
	s.GUID.put(b[32:])
	s.MAC.put(b[48:])
	return b
}

func (s TOCSpec) devInfo() []byte {
	b := make([]byte, 512)
	copy(b, devInfo)
	b[18] = 2
	s.GUID.put(b[32:])
	s.MAC.put(b[48:])
	put32(b, 108, 0x15b3)
	copy(b[112:320], s.VSD)
	return b
}

// installTOC puts an image into the flash of a new card, with the card's own device
// data at the end, and optionally an older image, dead, into the other slot.
func (f *Flash) installTOC(c Config) error {
	img, err := Parse(c.Image)
	if err != nil {
		return fmt.Errorf("card: image: %w", err)
	}
	guid, mac := Range{c.GUIDs[0], 4, 1}, Range{c.MACs[0], 4, 1}
	own := TOCSpec{OrigPSID: c.OrigPSID, GUID: guid, MAC: mac, LockGUIDs: c.LockGUIDs}
	if own.OrigPSID == "" {
		own.OrigPSID = img.PSID
	}
	b := make([]byte, FlashSize)
	for i := range b {
		b[i] = 0xff
	}
	if len(c.Previous) > 0 {
		old, err := Parse(c.Previous)
		if err != nil {
			return fmt.Errorf("card: earlier image: %w", err)
		}
		old.layout(own, 1<<old.TOC.Log).write(b)
		put32(b, 1<<old.TOC.Log, 0)
	}
	img.layout(own, 0).write(b)
	for a := uint32(0); a < FlashSize; a += SectorSize {
		if s := b[a : a+SectorSize]; !erased(s) {
			f.sectors[a/SectorSize] = append([]byte{}, s...)
		}
	}
	return nil
}

// layout is the image as it lies in the flash of a card with its own device data.
func (i *Image) layout(own TOCSpec, start uint32) *tocLayout {
	l := &tocLayout{format: i.Format, log: i.TOC.Log, size: FlashSize, start: start, second: i.TOC.SecurityVersion}
	for _, s := range i.TOC.Sections {
		if !s.Device {
			l.sections = append(l.sections, s)
		}
	}
	l.device(own.devInfo(), own.mfgInfo())
	return l
}

func erased(b []byte) bool {
	for _, v := range b {
		if v != 0xff {
			return false
		}
	}
	return true
}
