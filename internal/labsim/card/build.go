package card

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"slices"
)

// Section types of FS2.
const (
	secDDR      = 1
	secConfig   = 2
	secJump     = 3
	secROM      = 5
	secGUID     = 6
	secFWConfig = 9
	secInfo     = 10
)

var sectionNames = map[uint32]string{
	1: "DDR", 2: "Configuration", 3: "Jump addresses", 4: "EMT Service", 5: "ROM", 6: "GUID", 7: "BOARD ID",
	8: "User Data", 9: "FW Configuration", 10: "Image Info", 11: "DDRZ", 12: "Hash File",
}

var magic = []byte{0x4d, 0x54, 0x46, 0x57, 0x8c, 0xdf, 0xd0, 0x00, 0xde, 0xad, 0x92, 0x70, 0x41, 0x54, 0xbe, 0xef}

// Spec describes a synthetic FS2 image. PSIDs must begin with MT_9: an image
// with valid CRCs and a real board's PSID could brick that board.
type Spec struct {
	PSID     string
	Version  [3]uint16
	Product  string
	Date     uint32 // BCD yyyymmdd
	Device   uint16 // PCI device id
	HWIDs    []uint32
	VSD      string
	PRS      string
	GUIDs    [4]uint64
	MACs     [2]uint64
	Failsafe bool
	ChunkLog uint // log2 of the stripe, default 19 (0x80000)
	Code     int  // bytes of made-up code
}

// PlaceholderGUIDs and PlaceholderMACs are the identity of a distribution file.
var (
	PlaceholderGUIDs = [4]uint64{0x0002c9000100d050, 0x0002c9000100d051, 0x0002c9000100d052, 0x0002c9000100d050}
	PlaceholderMACs  = [2]uint64{0x0002c9000001, 0x0002c9000002}
	BlankGUIDs       = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
)

// Build makes an image that the vendor's tool calls bootable. Every byte is made
// up but the format's own constants.
func Build(s Spec) []byte {
	if s.ChunkLog == 0 {
		s.ChunkLog = 19
	}
	head := make([]byte, 0x38)
	copy(head, magic)
	put32(head, 0x24, 4)
	chain := &chainBuilder{out: slices.Concat(head, bootBlock(0xb0070001, 20), bootBlock(0xb0070002, 24))}
	chain.add(secConfig, filler(0x80, 7))
	chain.add(secROM, romData(s.Device))
	guidAt := chain.add(secGUID, guidData(s.GUIDs, s.MACs))
	infoAt := chain.add(secInfo, infoData(s))
	for left, n := s.Code, uint32(0); left > 0; n++ {
		size := min(left, 0x10000-20)
		chain.add(secDDR, filler(size&^3, n+11))
		left -= size
	}
	chain.add(secConfig, filler(0x60, 3))
	chain.add(secJump, filler(0x60, 5))
	chain.add(secFWConfig, configData(s))
	b := chain.finish()
	if s.Failsafe {
		put32(b, 0x28, checkByte(8|uint32(s.ChunkLog-16)))
	}
	put32(b, 0x2c, checkByte(infoAt))
	put32(b, 0x30, uint32(len(b)))
	put32(b, 0x34, guidAt)
	sealImage(b)
	return b
}

// checkByte sets the top byte so that the four bytes sum to 0.
func checkByte(v uint32) uint32 {
	sum := byte(v) + byte(v>>8) + byte(v>>16)
	return v&0xffffff | uint32(-sum)<<24
}

// sealImage stores the CRC over the whole image.
func sealImage(b []byte) {
	put32(b, 0x20, be32(b, 0x20)&0xff000000|0xffff)
	put32(b, 0x20, be32(b, 0x20)&0xff000000|uint32(crc16(b)))
}

func bootBlock(first uint32, dwords int) []byte {
	b := append32(nil, first, uint32(dwords))
	b = append(b, filler((dwords+1)*4, first&7)...)
	return append32(b, uint32(crc16(b)))
}

// filler is arithmetic noise in place of code.
func filler(size int, seed uint32) []byte {
	b := make([]byte, 0, size)
	x := seed*2654435761 + 1
	for len(b) < size {
		x = x*1664525 + 1013904223
		b = append32(b, x)
	}
	return b[:size]
}

// chainBuilder appends sections and links each to the next.
type chainBuilder struct {
	out  []byte
	last uint32
}

func (c *chainBuilder) add(kind uint32, data []byte) (dataAt uint32) {
	c.seal(uint32(len(c.out)))
	c.last = uint32(len(c.out))
	c.out = append32(c.out, kind, uint32(len(data)/4), 0, 0)
	c.out = append(c.out, data...)
	c.out = append32(c.out, 0)
	return c.last + 16
}

func (c *chainBuilder) seal(next uint32) {
	if c.last == 0 {
		return
	}
	put32(c.out, c.last+12, next)
	sealSection(c.out, c.last)
}

func (c *chainBuilder) finish() []byte {
	c.seal(0xff000000)
	return c.out
}

// sealSection stores the CRC of the section whose header is at off.
func sealSection(b []byte, off uint32) {
	end := off + 16 + be32(b, off+4)*4
	put32(b, end, uint32(crc16(b[off:end])))
}

func guidData(guids [4]uint64, macs [2]uint64) []byte {
	var b []byte
	for _, g := range append(append([]uint64{}, guids[:]...), macs[:]...) {
		b = binary.BigEndian.AppendUint64(b, g)
	}
	return b
}

func infoData(s Spec) []byte {
	var b []byte
	tag := func(id uint32, data []byte) {
		b = append32(b, id<<24|uint32(len(data)))
		b = append(b, data...)
	}
	version := func(v [3]uint16) []byte {
		return append32(nil, uint32(v[0])<<16, uint32(v[1])<<16|uint32(v[2]))
	}
	tag(0, append32(nil, 1))
	tag(1, version(s.Version))
	tag(2, append32(nil, 0x00120000, s.Date))
	tag(3, append32(nil, uint32(s.Device)))
	tag(4, padded(s.PSID, 16))
	tag(5, padded(s.VSD, 208))
	tag(7, padded(s.Product, 16))
	tag(8, append32(nil, 0x15b3))
	tag(10, append32(nil, s.HWIDs...))
	tag(11, version([3]uint16{2, 0, 0}))
	tag(19, append32(nil, 1, 0))
	tag(20, padded(s.PRS, (len(s.PRS)+4)&^3))
	return append32(b, 0xff000000)
}

func padded(s string, size int) []byte {
	b := make([]byte, size)
	copy(b, s)
	return b
}

// romData is a PCI expansion ROM with one PXE component and a valid byte sum.
func romData(device uint16) []byte {
	b := make([]byte, 512)
	b[0], b[1], b[2] = 0x55, 0xaa, 1
	at := copy(b[0x40:], "mlxsign:") + 0x40
	binary.LittleEndian.PutUint32(b[at:], 0x10<<16|3)
	binary.LittleEndian.PutUint32(b[at+4:], 4<<16|752)
	binary.LittleEndian.PutUint32(b[at+8:], uint32(device)<<16|0xff)
	var sum byte
	for _, v := range b {
		sum += v
	}
	b[511] -= sum
	return b
}

func configData(s Spec) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = fmt.Fprintf(w, "; synthetic configuration, no vendor text\n[image_info]\npsid = %s\nfw_version = %d.%d.%d\n",
		s.PSID, s.Version[0], s.Version[1], s.Version[2])
	_ = w.Close()
	for z.Len()%4 != 0 {
		z.WriteByte(0)
	}
	return z.Bytes()
}
