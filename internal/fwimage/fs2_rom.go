package fwimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

const (
	// romSignature stands before the description of each component.
	romSignature = "mlxsign:"
	romDescBytes = 12
	// maxROMs bounds the list; real ROMs have up to three components.
	maxROMs = 16
)

var romTypes = map[uint16]string{0x10: "PXE", 0x11: "UEFI", 0x12: "CLP", 0x13: "NVMe"}

var romCPUs = map[byte]string{1: "AMD64", 2: "AARCH64", 3: "AMD64,AARCH64", 4: "IA32"}

// romSections runs behind the info section, which the ROM must agree with.
func (r *fs2Reader) romSections() error {
	for _, s := range r.roms {
		r.img.readROM(r.data[s.offset+sectionHeader : s.end()-4])
	}
	return nil
}

// readROM lists the components of an expansion ROM. It refuses none: the card boots its firmware without a ROM.
func (img *Image) readROM(data []byte) {
	if len(data) < 3 || data[0] != 0x55 || data[1] != 0xaa {
		return
	}
	for len(img.ROMs) < maxROMs {
		_, desc, found := bytes.Cut(data, []byte(romSignature))
		if !found || len(desc) < romDescBytes {
			return
		}
		img.ROMs = append(img.ROMs, parseROM(desc))
		data = desc[romDescBytes:]
	}
}

// parseROM reads the three words behind the signature. Unlike everything else
// in an image they are little-endian, as usual in a PCI ROM.
func parseROM(desc []byte) ROM {
	w0 := binary.LittleEndian.Uint32(desc)
	w1 := binary.LittleEndian.Uint32(desc[4:])
	w2 := binary.LittleEndian.Uint32(desc[8:])
	product := uint16(w0 >> 16)
	name, ok := romTypes[product]
	if !ok {
		name = fmt.Sprintf("0x%x", product)
	}
	return ROM{
		Type:     name,
		Version:  fmt.Sprintf("%d.%d.%d", w0&0xff, w1>>16&0xff, w1&0xffff),
		CPU:      romCPUs[byte(w2>>8&0xf)],
		DeviceID: uint16(w2 >> 16),
	}
}
