package card

import (
	"bytes"
	"crypto/md5" // the tool's identity-free digest is an MD5
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ErrNoImage says that no signature was found.
var ErrNoImage = errors.New("No valid image found")

// Image is an image as the tool reads it: of FS2 in logical (contiguous) addresses,
// of FS3 and FS4 with what its table of contents names.
type Image struct {
	Format string
	Data   []byte // of FS2
	Start  uint32 // physical address of its slot; 0 for a file
	TOC    *TOC   // of FS3 and FS4

	GUIDs    [4]uint64
	MACs     [2]uint64
	Blank    bool // blank GUIDs: all ones and an unset CRC
	Version  [3]uint16
	Date     uint32
	Device   uint16
	PSID     string
	VSD      string
	Product  string
	Vendor   uint16
	HWIDs    []uint32
	MIC      [3]uint16
	HasMIC   bool
	PRS      string
	Sectors  uint32 // configuration area
	CfgPad   uint32
	ROMs     []ROM
	Checks   []Check
	End      uint32
	guidData uint32
	vsdAt    uint32
	infoAt   uint32
	romAt    uint32
	sections []uint32 // of FS2, where each begins
}

// Check is one line of a verification.
type Check struct {
	Name      string
	From, To  uint32
	Bad       bool
	BlankCRC  bool
	Ignored   bool   // the section has no CRC
	Want, Got uint32 // of a bad CRC: computed and stored
	ReadError string
}

// Failsafe says whether the image is for the two-slot layout.
func (i *Image) Failsafe() bool { return i.TOC != nil || be32(i.Data, 0x28)&8 != 0 }

// Chunk is the stripe size of a failsafe image.
func (i *Image) Chunk() uint32 {
	if i.TOC != nil {
		return 1 << i.TOC.Log
	}
	return 1 << (16 + be32(i.Data, 0x28)&7)
}

// Firmware is what a card that boots this image runs.
func (i *Image) Firmware() Firmware {
	return Firmware{Loaded: true, Version: i.Version, PSID: i.PSID, Device: i.Device, VPI: isVPI(i.PSID), GUIDs: i.GUIDs,
		MACs: i.MACs}
}

// isVPI tells InfiniBand capable firmware from Ethernet-only firmware by the
// parameter set in the PSID: sets ending in 023, and 033 on ConnectX-4, belong to EN
// boards.
func isVPI(psid string) bool {
	psid = strings.TrimRight(psid, "\x00")
	return !strings.HasSuffix(psid, "023") && !strings.HasSuffix(psid, "033")
}

// Parse reads an image file. The error of a broken file carries the text that
// the vendor's tool prints.
func Parse(data []byte) (*Image, error) {
	if len(data)%4 != 0 {
		return nil, &AlignError{}
	}
	if len(data) < formatWord+4 {
		return nil, &FormatError{}
	}
	start := findMagic(data)
	if start < 0 {
		return nil, ErrNoImage
	}
	if format := formatOf(data[start:]); format != FS2 {
		return parseTOCFile(format, data, uint32(start))
	}
	img, err := parseAt(data[start:])
	if err == nil {
		err = img.sound(nil)
	}
	return img, err
}

// formatWord is where the tool looks for an image's format; a file that ends
// before it has none.
const formatWord = 0x24

// FormatError says that a file is too short to have a format.
type FormatError struct{}

func (*FormatError) Error() string { return "Invalid Firmware Format (found FS Gen 1)" }

// AlignError says that the length is no multiple of 4.
type AlignError struct{}

func (*AlignError) Error() string { return "Image size should be 4-bytes aligned" }

// CRCError says that a section's CRC is wrong.
type CRCError struct{}

func (*CRCError) Error() string { return "Bad CRC." }

var slots = []int{0, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000, 0x400000, 0x800000, 0x1000000}

func findMagic(data []byte) int {
	for _, off := range slots {
		if off+0x38 <= len(data) && (bytes.Equal(data[off:off+16], magic) || bytes.Equal(data[off:off+16], magic4)) {
			return off
		}
	}
	return -1
}

func parseAt(data []byte) (*Image, error) {
	i := &Image{Format: FS2, Data: data}
	if err := i.walk(); err != nil {
		return i, err
	}
	i.Data = data[:i.End]
	return i, nil
}

// quickSections are those whose CRCs the tool looks at when it only queries a
// flash; of a file, and to verify, it looks at all.
var quickSections = map[string]bool{sectionNames[secGUID]: true, sectionNames[secInfo]: true}

// sound returns an error if a CRC is wrong in one of the sections, nil meaning in
// any.
func (i *Image) sound(only map[string]bool) error {
	for _, c := range i.Checks {
		if c.Bad && c.Name != "Full Image" && (only == nil || only[c.Name]) {
			return &CRCError{}
		}
	}
	return nil
}

// read returns length bytes at off or fails as the tool does: at the first dword
// outside.
func (i *Image) read(off, length uint32, name string) ([]byte, error) {
	if uint64(off)+uint64(length) <= uint64(len(i.Data)) {
		return i.Data[off : off+length], nil
	}
	c := Check{Name: name, From: off, To: off + length - 1, Bad: true}
	// The tool reads a block's last dword, its CRC, first.
	c.ReadError = fmt.Sprintf("read error (Reading 0x4 bytes from  address 0x%x is out of image limits (0x%x bytes))",
		off+length-4, len(i.Data))
	i.Checks = append(i.Checks, c)
	return nil, &ReadError{Check: c}
}

// ReadError says that the image is cut short.
type ReadError struct{ Check Check }

func (e *ReadError) Error() string { return e.Check.Line() }

// Line is the verification line of a check without its end.
func (c Check) Line() string {
	if c.Bad && c.ReadError == "" && !c.BlankCRC {
		return fmt.Sprintf("     /0x%08x-0x%08x (0x%06x)/ (%s) /0x%08x/ - wrong CRC (exp:0x%x, act:0x%x)",
			c.From, c.To, c.To-c.From+1, c.Name, c.From, c.Want, c.Got)
	}
	s := fmt.Sprintf("     /0x%08x-0x%08x (0x%06x)/ (%s)", c.From, c.To, c.To-c.From+1, c.Name)
	switch {
	case c.ReadError != "":
		return s + " - " + c.ReadError
	case c.BlankCRC:
		return s + " - BLANK CRC (0xffff)"
	case c.Ignored:
		return s + " - CRC IGNORED"
	}
	return s + " - OK"
}

// maxSections is more than an image has. A guest can chain as many as there are bytes.
const maxSections = 64

func (i *Image) walk() error {
	off := uint32(0x38)
	for off == 0x38 || off+4 <= uint32(len(i.Data)) && (be32(i.Data, off) < 1 || be32(i.Data, off) > 12) {
		head, err := i.read(off, 8, "BOOT2")
		if err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(head[4:])
		if n < 4 || n > 1<<20 {
			return errors.New("(null)")
		}
		block, err := i.read(off, (n+4)*4, "BOOT2")
		if err != nil {
			return err
		}
		i.check("BOOT2", off, block)
		off += (n + 4) * 4
	}
	seen := map[uint32]bool{}
	for off != 0 && off>>24 != 0xff {
		if seen[off] || len(seen) >= maxSections {
			return errors.New("section chain loops")
		}
		seen[off] = true
		next, err := i.section(off)
		if err != nil {
			return err
		}
		off = next
	}
	return i.whole()
}

// check appends the verdict over a block whose last dword is its CRC.
func (i *Image) check(name string, off uint32, block []byte) bool {
	n := uint32(len(block)) - 4
	want, got := uint32(crc16(block[:n])), be32(block, n)
	c := Check{Name: name, From: off, To: off + n + 3, Want: want, Got: got, Bad: want != got}
	i.Checks = append(i.Checks, c)
	i.End = max(i.End, off+n+4) // a chain may go back, even into the header
	return !c.Bad
}

func (i *Image) section(off uint32) (next uint32, err error) {
	head, err := i.read(off, 16, "SECTION")
	if err != nil {
		return 0, err
	}
	kind, size := be32(head, 0), be32(head, 4)*4
	name := sectionNames[kind]
	if name == "" {
		name = fmt.Sprintf("UNKNOWN (%d)", kind)
	}
	if size > 4<<20 {
		return 0, errors.New("(null)")
	}
	block, err := i.read(off, 16+size+4, name)
	if err != nil {
		return 0, err
	}
	good := i.check(name, off, block)
	i.sections = append(i.sections, off)
	data := block[16 : 16+size]
	switch kind {
	case secGUID:
		i.guids(off, data, block)
	case secROM:
		i.romAt = off
		i.ROMs = parseROM(data)
	case secInfo:
		i.infoAt = off
		if good {
			i.info(off+16, data)
		}
	}
	return be32(head, 12), nil
}

func (i *Image) guids(off uint32, data, block []byte) {
	i.guidData = off + 16
	for n := range i.GUIDs {
		if len(data) >= 8*(n+1) {
			i.GUIDs[n] = be64(data, uint32(8*n))
		}
	}
	for n := range i.MACs {
		if len(data) >= 8*(n+5) {
			i.MACs[n] = be64(data, uint32(8*(n+4)))
		}
	}
	if i.GUIDs[0] == ^uint64(0) && be32(block, uint32(len(block))-4) == 0xffff {
		i.Blank = true
		last := &i.Checks[len(i.Checks)-1]
		last.Bad, last.BlankCRC = false, true
	}
}

func (i *Image) info(base uint32, data []byte) {
	for off := uint32(0); off+4 <= uint32(len(data)); {
		tag, size := be32(data, off)>>24, be32(data, off)&0xffffff
		if tag == 0xff || off+4+size > uint32(len(data)) {
			return
		}
		i.tag(tag, base+off+4, data[off+4:off+4+size])
		off += 4 + size
	}
}

// tagSizes are how many bytes of a tag are read; a shorter one says nothing.
var tagSizes = map[uint32]int{1: 8, 2: 8, 3: 4, 8: 4, 11: 8, 19: 8}

func (i *Image) tag(tag, at uint32, d []byte) {
	if len(d) < tagSizes[tag] {
		return
	}
	switch tag {
	case 1:
		i.Version = [3]uint16{uint16(be32(d, 0) >> 16), uint16(be32(d, 4) >> 16), uint16(be32(d, 4))}
	case 2:
		i.Date = be32(d, 4)
	case 3:
		i.Device = uint16(be32(d, 0))
	case 4:
		i.PSID = cstring(d)
	case 5:
		i.VSD, i.vsdAt = cstring(d), at
	case 7:
		i.Product = cstring(d)
	case 8:
		i.Vendor = uint16(be32(d, 0))
	case 10:
		for n := uint32(0); n+4 <= uint32(len(d)); n += 4 {
			i.HWIDs = append(i.HWIDs, be32(d, n))
		}
	case 11:
		i.MIC, i.HasMIC = [3]uint16{uint16(be32(d, 0) >> 16), uint16(be32(d, 4) >> 16), uint16(be32(d, 4))}, true
	case 19:
		i.Sectors, i.CfgPad = be32(d, 0), be32(d, 4)
	case 20:
		i.PRS = cstring(d)
	}
}

func cstring(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// whole checks the CRC over the image; the tool looks at it only when the image
// has a MIC version, and a mismatch does not fail its verification.
func (i *Image) whole() error {
	if !i.HasMIC || i.End > uint32(len(i.Data)) {
		return nil
	}
	b := append([]byte{}, i.Data[:i.End]...)
	stored := be32(b, 0x20) & 0xffff
	put32(b, 0x20, be32(b, 0x20)|0xffff)
	want := uint32(crc16(b))
	c := Check{Name: "Full Image", From: 0, To: i.End - 1, Want: want, Got: stored, Bad: want != stored}
	if i.Blank && stored == 0xffff {
		c.Bad, c.BlankCRC = false, true
	}
	i.Checks = append(i.Checks, c)
	return nil
}

// Verify returns why a card would not boot the image, or nil.
func (i *Image) Verify() error {
	if i.Blank {
		return errors.New("BLANK GUIDS")
	}
	return i.sound(nil)
}

// Checksum is the digest without identity: GUIDs, VSD and the CRCs that depend on
// them are masked. The bytes are printed in reverse order.
func (i *Image) Checksum() string {
	if i.TOC != nil {
		return i.tocChecksum()
	}
	b := append([]byte{}, i.Data[:i.End]...)
	mask := func(off, n uint32) {
		for k := off; k < off+n && k < uint32(len(b)); k++ {
			b[k] = 0xff
		}
	}
	mask(0x20, 4)
	mask(i.guidData-16, 0x44)
	mask(i.vsdAt, 208)
	mask(i.infoAt+16+be32(i.Data, i.infoAt+4)*4, 4)
	sum := md5.Sum(b)
	var s strings.Builder
	for n := len(sum) - 1; n >= 0; n-- {
		fmt.Fprintf(&s, "%02x", sum[n])
	}
	return s.String()
}
