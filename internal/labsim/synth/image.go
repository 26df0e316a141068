package synth

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Section types in the order of a real image.
const (
	typeDDR      = 1
	typeConfig   = 2
	typeJump     = 3
	typeROM      = 5
	typeGUID     = 6
	typeFWConfig = 9
	typeInfo     = 10

	headerBytes   = 0x38
	maxDDR        = 1 << 20 // filler per section
	lastNext      = 0xff000000
	blankGUIDsCRC = 0xffff
)

// FS2 builds a contiguous image.
func FS2(o Options) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &builder{o: o, image: make([]byte, headerBytes)}
	b.boot(0x50, 20)
	b.boot(0x60, 24)
	b.section(typeConfig, b.filler(128))
	if len(o.ROMs) > 0 {
		b.section(typeROM, b.rom())
	}
	guidPtr := b.section(typeGUID, b.guids())
	infoPtr := b.section(typeInfo, b.info())
	b.section(typeDDR, b.filler(512))
	for rest := o.Payload &^ 3; rest > 0; rest -= maxDDR {
		b.section(typeDDR, b.filler(min(rest, maxDDR)))
	}
	b.section(typeConfig, b.filler(96))
	b.section(typeJump, b.filler(96))
	b.section(typeFWConfig, b.ini())
	b.put(b.lastHeader+12, lastNext)
	b.header(infoPtr, guidPtr)
	if err := Reseal(b.image); err != nil {
		return nil, err
	}
	if o.NoMIC {
		b.put(0x20, 0)
	}
	return b.image, nil
}

type builder struct {
	o          Options
	image      []byte
	lastHeader int
	counter    uint32
}

func (b *builder) put(off int, v uint32) { binary.BigEndian.PutUint32(b.image[off:], v) }

func words(ws ...uint32) []byte {
	var p []byte
	for _, w := range ws {
		p = binary.BigEndian.AppendUint32(p, w)
	}
	return p
}

// filler stands in for code; it never looks like a signature.
func (b *builder) filler(n int) []byte {
	p := make([]byte, 0, n)
	for len(p) < n {
		b.counter++
		p = binary.BigEndian.AppendUint32(p, (b.counter+uint32(b.o.Seed))*2654435761)
	}
	return p[:n]
}

func (b *builder) boot(first uint32, n int) {
	b.image = append(b.image, words(first, uint32(n))...)
	b.image = append(b.image, b.filler(4*n+4)...)
	b.image = append(b.image, words(0)...)
}

// section appends a section and returns the address of its data.
func (b *builder) section(kind uint32, data []byte) int {
	off := len(b.image)
	if b.lastHeader != 0 {
		b.put(b.lastHeader+12, uint32(off))
	}
	b.lastHeader = off
	b.image = append(b.image, words(kind, uint32(len(data)/4), 0, 0)...)
	b.image = append(b.image, data...)
	crc := uint32(0)
	if kind == typeGUID && b.o.Blank {
		crc = blankGUIDsCRC
	}
	b.image = append(b.image, words(crc)...)
	return off + 16
}

func (b *builder) guids() []byte {
	g, n := b.o.GUIDs, 6
	if b.o.OldGUID {
		n = 4
	}
	if b.o.Blank {
		return bytes.Repeat([]byte{0xff}, 8*n)
	}
	var p []byte
	for _, v := range []uint64{uint64(g.Node), uint64(g.Port1), uint64(g.Port2), uint64(g.SystemImage), uint64(g.MAC1),
		uint64(g.MAC2)}[:n] {
		p = binary.BigEndian.AppendUint64(p, v)
	}
	return p
}

func (b *builder) header(infoPtr, guidPtr int) {
	copy(b.image, "MTFW\x8c\xdf\xd0\x00\xde\xad\x92\x70\x41\x54\xbe\xef")
	b.put(0x24, 4)
	failsafe := uint32(0)
	if b.o.Chunk != 0 {
		bits, _ := chunkBits(b.o.Chunk)
		failsafe = 8 | bits
	}
	b.put(0x28, balance(failsafe))
	b.put(0x2c, balance(uint32(infoPtr)))
	b.put(0x30, uint32(len(b.image)))
	b.put(0x34, uint32(guidPtr))
}

// balance sets the top byte so that the four bytes add up to zero.
func balance(w uint32) uint32 {
	return w | uint32(-byte(w>>16)-byte(w>>8)-byte(w))<<24
}

func tag(id uint32, data []byte) []byte {
	return append(words(id<<24|uint32(len(data))), data...)
}

func pad(s string, n int) []byte { return append([]byte(s), make([]byte, n-len(s))...) }

func (b *builder) info() []byte {
	o := b.o
	version := func(major, minor, sub uint16) []byte {
		return words(uint32(major)<<16, uint32(minor)<<16|uint32(sub))
	}
	hwids := []byte{}
	for _, hw := range o.HWIDs {
		hwids = append(hwids, words(uint32(hw.Rev)<<16|uint32(hw.ID))...)
	}
	var p []byte
	if !o.BareInfo {
		p = append(p, tag(0, words(1))...)
	}
	p = append(p, tag(1, version(o.Version.Major, o.Version.Minor, o.Version.Sub))...)
	if !o.BareInfo {
		p = append(p, tag(2, words(0x120000, bcd(o.ReleaseDate)))...)
		p = append(p, tag(3, words(uint32(o.DeviceType)))...)
	}
	if !o.NoPSID {
		p = append(p, tag(4, pad(o.PSID, 16))...)
	}
	if !o.BareInfo {
		p = append(p, tag(5, pad(o.VSD, 208))...)
		p = append(p, tag(7, pad(o.ProductVersion, 16))...)
		p = append(p, tag(8, words(uint32(o.VSDVendor)))...)
	}
	p = append(p, tag(10, hwids)...)
	if !o.NoMIC {
		p = append(p, tag(11, version(2, 0, 0))...)
	}
	if !o.BareInfo {
		p = append(p, tag(19, words(o.ConfigSectors, 0))...)
		p = append(p, tag(20, pad(o.PRSName, (len(o.PRSName)+4)&^3))...)
	}
	return append(p, words(0xff000000)...)
}

// bcd turns "2017-09-05" into 0x20170905.
func bcd(date string) uint32 {
	v, err := strconv.ParseUint(strings.ReplaceAll(date, "-", ""), 16, 32)
	if err != nil {
		return 0 // a date that is none is a case to test
	}
	return uint32(v)
}

// rom builds one expansion ROM with all components. Without a UEFI component
// its bytes must add up to zero.
func (b *builder) rom() []byte {
	size := 512 * (1 + len(b.o.ROMs)/8)
	p := make([]byte, size)
	p[0], p[1], p[2] = 0x55, 0xaa, byte(size/512)
	at := 64
	for _, r := range b.o.ROMs {
		device := r.DeviceID
		if device == 0 {
			device = b.o.DeviceType
		}
		at += copy(p[at:], "mlxsign:")
		binary.LittleEndian.PutUint32(p[at:], uint32(r.Product)<<16|uint32(r.Major))
		binary.LittleEndian.PutUint32(p[at+4:], uint32(r.Minor)<<16|uint32(r.Sub))
		binary.LittleEndian.PutUint32(p[at+8:], uint32(device)<<16|uint32(r.CPU)<<8|0xff)
		at += 32
	}
	var sum byte
	for _, c := range p {
		sum += c
	}
	p[len(p)-1] = -sum
	return p
}

// ini is what `mstflint dc` prints.
func (b *builder) ini() []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	fmt.Fprintf(w, ";; synthetic image, no vendor content\n[image_info]\npsid = %s\nname = %s\n", b.o.PSID, b.o.PRSName)
	w.Close() //nolint:errcheck // a bytes.Buffer takes everything
	return pad(z.String(), (z.Len()+3)&^3)
}
