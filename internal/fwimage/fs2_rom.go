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

	romPXE  = 0x10
	romUEFI = 0x11
)

var romTypes = map[uint16]string{romPXE: "PXE", romUEFI: "UEFI", 0x12: "CLP", 0x13: "NVMe"}

var romCPUs = map[byte]string{1: "AMD64", 2: "AARCH64", 3: "AMD64,AARCH64", 4: "IA32"}

// romSections runs behind the info section, which the ROM must agree with.
func (r *fs2Reader) romSections() error {
	for _, s := range r.roms {
		r.img.readROM(r.data[s.offset+sectionHeader : s.end()-4])
	}
	return nil
}

// readROM lists the components of an expansion ROM. A strange one only gives a warning:
// the card boots its firmware without a ROM.
func (img *Image) readROM(data []byte) {
	if len(data) < 3 || data[0] != 0x55 || data[1] != 0xaa {
		img.warn("The ROM section does not begin like an expansion ROM (55 aa).")
		return
	}
	rest, hasUEFI, before := data, false, len(img.ROMs)
	for len(img.ROMs) < maxROMs {
		_, desc, found := bytes.Cut(rest, []byte(romSignature))
		if !found || len(desc) < romDescBytes {
			break
		}
		rom, product := parseROM(desc)
		hasUEFI = hasUEFI || product == romUEFI
		img.ROMs = append(img.ROMs, rom)
		rest = desc[romDescBytes:]
	}
	if len(img.ROMs) == before {
		img.warn("The ROM section describes no component.")
	}
	img.romDevices(img.ROMs[before:])
	if !hasUEFI {
		img.legacyROM(data)
	}
}

// romDevices compares the device of the components with that of the image. If they
// differ, a burn asks a question.
func (img *Image) romDevices(roms []ROM) {
	for _, rom := range roms {
		if img.DeviceType != 0 && rom.DeviceID != img.DeviceType {
			img.warn(fmt.Sprintf("ROM component %s is for PCI device id %d, the image for %d.", rom.Type, rom.DeviceID,
				img.DeviceType))
		}
	}
}

// legacyROM checks the length and checksum of a ROM for BIOS boot.
func (img *Image) legacyROM(data []byte) {
	n := int(data[2]) * 512
	if n == 0 || n > len(data) {
		img.warn(fmt.Sprintf("The ROM states %d bytes, its section has %d.", n, len(data)))
		return
	}
	var sum byte
	for _, b := range data[:n] {
		sum += b
	}
	if sum != 0 {
		img.warn("The checksum of the ROM is wrong.")
	}
}

// parseROM reads the three words behind the signature. Unlike everything else
// in an image they are little-endian, as usual in a PCI ROM.
func parseROM(desc []byte) (rom ROM, product uint16) {
	w0 := binary.LittleEndian.Uint32(desc)
	w1 := binary.LittleEndian.Uint32(desc[4:])
	w2 := binary.LittleEndian.Uint32(desc[8:])
	product = uint16(w0 >> 16)
	name, ok := romTypes[product]
	if !ok {
		name = fmt.Sprintf("0x%x", product)
	}
	return ROM{
		Type:     name,
		Version:  fmt.Sprintf("%d.%d.%d", w0&0xff, w1>>16&0xff, w1&0xffff),
		CPU:      romCPUs[byte(w2>>8&0xf)],
		DeviceID: uint16(w2 >> 16),
	}, product
}
