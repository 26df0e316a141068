package card

import (
	"errors"
	"fmt"
)

// Container formats.
const (
	FS2 = "FS2"
	FS3 = "FS3"
	FS4 = "FS4"
)

// Section types of FS3 and FS4 that mean something to the tool.
const (
	tocMain  = 0x03
	tocPCI   = 0x02
	tocInfo  = 0x10
	tocCfg   = 0x12
	tocROM   = 0x18
	tocINI   = 0x30
	tocSign  = 0xa0
	tocKeys  = 0xa1
	tocMfg   = 0xe0
	tocDev   = 0xe1
	tocNV    = 0xe6
	tocEnd   = 0xff
	tocLimit = 63 // entries of one table
)

var tocNames = map[byte]string{
	0x01: "BOOT_CODE", tocPCI: "PCI_CODE", tocMain: "MAIN_CODE", tocInfo: "IMAGE_INFO", tocCfg: "FW_MAIN_CFG",
	0x11:   "FW_BOOT_CFG",
	tocROM: "ROM_CODE", 0x20: "RESET_INFO", tocINI: "DBG_FW_INI", tocSign: "IMAGE_SIGNATURE_256",
	tocKeys: "PUBLIC_KEYS_2048",
	tocMfg:  "MFG_INFO", tocDev: "DEV_INFO", 0xe2: "NV_DATA", 0xe3: "VPD_R0", 0xe4: "NV_DATA", tocNV: "NV_DATA",
}

// Where the checksum of a section is.
const (
	crcEntry   = 0 // in its entry of the table
	crcNone    = 1
	crcSection = 2 // in its last dword
)

const tableHead = 32 // bytes of a table's header, and of each entry

var (
	magic4     = []byte{0x4d, 0x54, 0x46, 0x57, 0xab, 0xcd, 0xef, 0x00, 0xfa, 0xde, 0x12, 0x34, 0x56, 0x78, 0xde, 0xad}
	itocMagic  = []byte("ITOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00")
	dtocMagic  = []byte("DTOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00")
	devInfo    = []byte("mDevInfo\x23\x42\xca\xfa\xba\xca\xfe\x00")
	errBadCRC  = &CRCError{}
	errNoTable = errors.New("No valid ITOC was found.")
)

// Range is a block of GUIDs or MACs that a card owns.
type Range struct {
	Base        uint64
	Count, Step byte
}

// Section is one entry of a table of contents with its content.
type Section struct {
	Kind    byte
	Addr    uint32 // in the slot; of device data in the flash
	Device  bool
	Data    []byte
	mode    byte
	entry   [tableHead]byte
	entryAt uint32 // logical, or absolute in the table of device data of FS4
}

// TOC is what an image of FS3 or FS4 has besides what FS2 has too.
type TOC struct {
	Log      uint // log2 of the slot size
	Table    uint32
	Second   bool // the first copy of the table is dead
	BootAt   uint32
	BootSize uint32
	Sections []Section
	Size     uint32 // of the flash or file

	OrigPSID, OrigPRS          string
	GUID, MAC                  Range // of DEV_INFO
	OrigGUID, OrigMAC          Range // of MFG_INFO
	Override                   bool  // GUIDs may be set
	ImageVSD, Part, Text       string
	Flags                      uint16
	SecurityVersion            uint32
	signed, keys, mfg, hasInfo bool
	devs                       int
	pieces                     []piece
}

// piece is a part of the image as it was read: the tool makes files out of them.
type piece struct {
	at   uint32
	data []byte
}

// reader gives n bytes at a physical address, or fewer at the end.
type reader func(addr uint32, n int) []byte

// tocParser reads one image.
type tocParser struct {
	img   *Image
	t     *TOC
	read  reader
	start uint32
}

func (p *tocParser) phys(a uint32) uint32 { return p.start + a }

// get reads a part of the image, or of the device data.
func (p *tocParser) get(a uint32, n int, absolute bool, what string) ([]byte, error) {
	at := p.phys(a)
	if absolute {
		at = a
	}
	b := p.read(at, n)
	if len(b) < n {
		return nil, &TOCReadError{What: what, Size: n, Addr: at, Physical: !absolute, Limit: p.t.Size}
	}
	p.t.pieces = append(p.t.pieces, piece{a, b})
	return b, nil
}

// TOCReadError says that an image ends too early.
type TOCReadError struct {
	What     string
	Size     int
	Addr     uint32
	Physical bool
	Limit    uint32
}

func (e *TOCReadError) Error() string {
	space := ""
	if e.Physical {
		space = "physical "
	}
	return fmt.Sprintf("%s - read error (Reading 0x%x bytes from %saddress 0x%x is out of image limits (0x%x bytes))\n",
		e.What, e.Size, space+" ", e.Addr, e.Limit)
}

// check appends the verdict on a part.
func (p *tocParser) check(name string, at uint32, size int, want, got uint32) bool {
	c := Check{Name: name, From: at, To: at + uint32(size) - 1, Want: want, Got: got, Bad: want != got}
	p.img.Checks = append(p.img.Checks, c)
	return !c.Bad
}

// parseTOC reads an image of FS3 or FS4 that starts at an address of a flash or
// file of a size. Like the tool's query it notices damage only where it needs the
// content; Verify notices all.
func parseTOC(format string, read reader, size, start uint32) (*Image, error) {
	img := &Image{Format: format, Start: start, TOC: &TOC{Size: size}}
	p := &tocParser{img: img, t: img.TOC, read: read, start: start}
	walk := p.fs3
	if format == FS4 {
		walk = p.fs4
	}
	err := walk()
	img.finishTOC()
	return img, err
}

// boot checks the second boot block.
func (p *tocParser) boot(at uint32) error {
	head, err := p.get(at, 8, false, "BOOT2")
	if err != nil {
		return err
	}
	n := be32(head, 4)
	if n < 4 || n > 1<<20 {
		return errors.New("(null)")
	}
	p.t.BootAt, p.t.BootSize = at, (n+4)*4
	b, err := p.get(at, int(p.t.BootSize), false, "BOOT2")
	if err != nil {
		return err
	}
	p.check("BOOT2", p.phys(at), len(b), uint32(crc16(b[:len(b)-4])), be32(b, uint32(len(b))-4))
	return nil
}

func (p *tocParser) fs3() error {
	head, err := p.get(0, 0x38, false, "Image header")
	if err != nil {
		return err
	}
	p.t.Log = uint(head[0x25])
	if p.t.Log == 0 {
		p.t.Log = 21
	}
	if v := [2]byte{head[0x26], head[0x27]}; v != [2]byte{0, 0} && (v[0] != 1 || v[1] < 1) {
		return fmt.Errorf("Unsupported binary version (%d.%d)", v[0], v[1])
	}
	if err := p.boot(0x38); err != nil {
		return err
	}
	at := (0x38 + p.t.BootSize + 0xfff) &^ 0xfff
	for ; uint64(p.phys(at)) < uint64(p.t.Size); at += 0x1000 {
		b, err := p.get(at, tableHead, false, "TOC Header")
		if err != nil {
			return err
		}
		if string(b[:16]) != string(itocMagic) {
			p.t.Second = true
			continue
		}
		p.check("ITOC_HEADER", p.phys(at), tableHead, uint32(crc16(b[:28])), be32(b, 28)&0xffff)
		p.t.Table = at
		return p.table(at, false)
	}
	return errNoTable
}

func (p *tocParser) fs4() error {
	head, err := p.get(0, 0x98, false, "HW Arava Pointers")
	if err != nil {
		return err
	}
	var pointers [16]uint32
	for i := range pointers {
		off := uint32(0x18 + 8*i)
		pointers[i] = be32(head, off)
		if !p.check("HW_POINTERS", p.phys(off), 8, uint32(pointerCRC(head[off:off+4])), be32(head, off+4)&0xffff) {
			return errBadCRC
		}
	}
	tools, err := p.get(pointers[3], 64, false, "Tools Area")
	if err != nil {
		return err
	}
	if !p.check("TOOLS_AREA", p.phys(pointers[3]), 64, uint32(crc16(tools[:60])), be32(tools, 60)&0xffff) {
		return errBadCRC
	}
	p.t.Log, p.t.SecurityVersion = uint(be32(tools, 4)>>16), pointers[13]
	if _, err = p.get(0, int(pointers[1]), false, "All Before Boot2"); err != nil {
		return err
	}
	if err = p.boot(pointers[1]); err != nil {
		return err
	}
	at := pointers[2]
	found, err := p.tableHeader(at, false)
	if err == nil && !found {
		at, p.t.Second = at+0x1000, true
		found, err = p.tableHeader(at, false)
	}
	if err != nil {
		return err
	}
	if !found {
		return errors.New("No valid ITOC Header was found.")
	}
	p.t.Table = at
	if err := p.table(at, false); err != nil {
		return err
	}
	return p.deviceTable()
}

// deviceTable reads the table of device data of FS4, which is in the last sector
// of the flash or file.
func (p *tocParser) deviceTable() error {
	at := p.t.Size - 0x1000
	found, err := p.tableHeader(at, true)
	if err != nil {
		return err
	}
	if !found {
		return errors.New("No valid DTOC Header was found.")
	}
	if err := p.table(at, true); err != nil {
		return err
	}
	switch {
	case p.t.devs == 0:
		return errors.New(`No "DEV_INFO" info section.`)
	case p.t.devs > 1:
		return errors.New(`Two "DEV_INFO" info sections.`)
	}
	return nil
}

// tableHeader checks the header of a table of FS4.
func (p *tocParser) tableHeader(at uint32, device bool) (bool, error) {
	b, err := p.get(at, tableHead, device, "TOC Header")
	if err != nil {
		return false, err
	}
	want, name, where := itocMagic, "ITOC_HEADER", p.phys(at)
	if device {
		want, name, where = dtocMagic, "DTOC_HEADER", at
	}
	if string(b[:16]) != string(want) {
		return false, nil
	}
	return p.check(name, where, tableHead, uint32(crc16(b[:28])), be32(b, 28)&0xffff), nil
}

// table reads the entries of a table and their sections.
func (p *tocParser) table(at uint32, device bool) error {
	for n := uint32(0); ; n++ {
		e, err := p.get(at+tableHead*(n+1), tableHead, device, "TOC Entry")
		if err != nil {
			return err
		}
		if e[0] == tocEnd {
			break
		}
		if n+1 >= tocLimit {
			return errors.New("Internal error: number of ITOCs is greater than allowed")
		}
		if want, got := uint32(crc16(e[:28])), be32(e, 28)&0xffff; want != got {
			name := map[bool]string{false: "Itoc"}[p.img.Format == FS4]
			if p.img.Format == FS4 {
				name = map[bool]string{false: "IToc", true: "DToc"}[device]
			}
			return fmt.Errorf("Bad %s Entry CRC. Expected: 0x%x , Actual: 0x%x", name, got, want)
		}
		if err := p.section(e, at+tableHead*(n+1), device); err != nil {
			return err
		}
	}
	if (p.img.Format == FS3 || device) && !p.t.mfg {
		return errors.New(`No "MFG_INFO" info section.`)
	}
	return nil
}

// section reads what an entry names.
func (p *tocParser) section(e []byte, entryAt uint32, device bool) error {
	s := Section{Kind: e[0], Addr: be32(e, 20) & 0x7ffffffc, Device: device, entryAt: entryAt}
	copy(s.entry[:], e)
	size := be32(e, 0) & 0xfffffc
	if p.img.Format == FS3 {
		s.Device = e[25]&2 != 0
		s.mode = e[25] & 1
		device = e[20]&0x80 == 0
	} else {
		s.mode = e[25] & 7
	}
	b, err := p.get(s.Addr, int(size), device, "Section")
	if err != nil {
		return err
	}
	s.Data = b
	p.t.Sections = append(p.t.Sections, s)
	if s.Kind == tocMfg {
		p.t.mfg = true
	}
	blank := p.img.Format == FS4 && s.Kind == tocDev && string(b[:min(16, len(b))]) != string(devInfo)
	if blank {
		return nil // the other copy
	}
	where := p.phys(s.Addr)
	if device {
		where = s.Addr
	}
	good := true
	switch s.mode {
	case crcNone:
		p.img.Checks = append(p.img.Checks, Check{Name: tocName(s.Kind), From: where, To: where + size - 1, Ignored: true})
	case crcSection:
		if size < 4 {
			return fmt.Errorf("%s is shorter than its CRC", tocName(s.Kind))
		}
		good = p.check(tocName(s.Kind), where, len(b), uint32(crc16(b[:size-4])), be32(b, size-4)&0xffff)
	default:
		good = p.check(tocName(s.Kind), where, len(b), uint32(crc16(b)), be32(e, 24)&0xffff)
	}
	if good {
		p.content(s)
	}
	return nil
}

func tocName(kind byte) string {
	if name := tocNames[kind]; name != "" {
		return name
	}
	return fmt.Sprintf("UNKNOWN:0x%x", kind)
}
