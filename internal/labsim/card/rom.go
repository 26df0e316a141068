package card

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// ROM is one expansion ROM component.
type ROM struct {
	Type, Version, CPU string
	Device             uint16
}

var romProducts = map[uint32]string{0x10: "PXE", 0x11: "UEFI", 0x12: "CLP", 0x13: "NVMe"}

func parseROM(data []byte) []ROM {
	var list []ROM
	for off := 0; ; {
		n := bytes.Index(data[off:], []byte("mlxsign:"))
		if n < 0 || off+n+20 > len(data) {
			return list
		}
		at := off + n + 8
		w0, w1, w2 := binary.LittleEndian.Uint32(data[at:]), binary.LittleEndian.Uint32(data[at+4:]),
			binary.LittleEndian.Uint32(data[at+8:])
		r := ROM{Type: romProducts[w0>>16], Version: fmt.Sprintf("%d.%d.%d", w0&0xff, w1>>16&0xff, w1&0xffff)}
		r.CPU = map[uint32]string{1: "AMD64", 2: "AARCH64", 3: "AMD64,AARCH64", 4: "IA32"}[w2>>8&0xf]
		r.Device = uint16(w2 >> 16)
		list = append(list, r)
		off = at + 12
	}
}

// VersionText formats a firmware version as the tool does.
func VersionText(v [3]uint16) string {
	if v[1] > 99 {
		return fmt.Sprintf("%d.%04d.%04d", v[0], v[1], v[2])
	}
	return fmt.Sprintf("%d.%d.%04d", v[0], v[1], v[2])
}

// WithROMOf is this image of FS2 with the expansion ROM of another one in place of its own. Where it
// has none the ROM becomes the second section, as the vendor's tool has it.
func (i *Image) WithROMOf(other *Image) (*Image, error) {
	size := 16 + be32(other.Data, other.romAt+4)*4 + 4
	rom := other.Data[other.romAt : other.romAt+size]
	b := append([]byte{}, i.Data[:i.sections[0]]...)
	var at []int
	for n, off := range i.sections {
		kind, length := be32(i.Data, off), 16+be32(i.Data, off+4)*4+4
		if kind == secROM || n == 1 && i.romAt == 0 {
			at = append(at, len(b))
			b = append(b, rom...)
		}
		if kind == secROM {
			continue
		}
		at = append(at, len(b))
		switch data := uint32(len(b) + 16); kind {
		case secGUID:
			put32(b, 0x34, data)
		case secInfo:
			put32(b, 0x2c, data|uint32(-byte(data>>16)-byte(data>>8)-byte(data))<<24)
		}
		b = append(b, i.Data[off:off+length]...)
	}
	for n, off := range at {
		next := uint32(0xff000000)
		if n+1 < len(at) {
			next = uint32(at[n+1])
		}
		put32(b, uint32(off)+12, next)
		sealSection(b, uint32(off))
	}
	put32(b, 0x30, uint32(len(b)))
	sealImage(b)
	return Parse(b)
}
