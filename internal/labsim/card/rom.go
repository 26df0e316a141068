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
