package card

import (
	"bytes"
	"crypto/md5" // the tool's identity-free digest is an MD5
	"fmt"
	"slices"
	"strings"
)

// pointerCRC is the checksum of the hardware pointers of FS4: the polynomial of
// the others in its reflected form, over the address and two zero bytes, with its
// bytes swapped.
func pointerCRC(data []byte) uint16 {
	c := uint16(0)
	for _, b := range append(append([]byte{}, data...), 0, 0) {
		c ^= uint16(b)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xd008
			} else {
				c >>= 1
			}
		}
	}
	return c<<8 | c>>8
}

// formatOf tells what a signature is of.
func formatOf(head []byte) string {
	switch {
	case bytes.Equal(head[:16], magic4):
		return FS4
	case head[formatWord] == 3:
		return FS3
	}
	return FS2
}

func parseTOCFile(format string, data []byte, start uint32) (*Image, error) {
	img, err := parseTOC(format, func(addr uint32, n int) []byte {
		if uint64(addr)+uint64(n) > uint64(len(data)) {
			return nil
		}
		return data[addr : addr+uint32(n)]
	}, uint32(len(data)), start)
	if err == nil {
		err = img.sound(needed)
	}
	return img, err
}

// content takes the fields that the tool prints out of a section.
func (p *tocParser) content(s Section) {
	img, t, d := p.img, p.t, s.Data
	switch s.Kind {
	case tocInfo:
		if len(d) >= 1024 {
			img.imageInfo(d)
		}
	case tocROM:
		img.ROMs = parseROM(d)
	case tocSign:
		t.signed = true
	case tocKeys:
		t.keys = true
	case tocMfg:
		if len(d) >= 320 {
			t.OrigPSID, t.Override = cstring(d[:16]), d[31]&1 == 1
			t.OrigGUID, t.OrigMAC = rangeOf(d[32:]), rangeOf(d[48:])
			if d[29] == 1 {
				t.OrigPRS = cstring(d[96:192])
			}
		}
	case tocDev:
		if len(d) >= 512 {
			t.devs++
			t.GUID, t.MAC = rangeOf(d[32:]), rangeOf(d[48:])
			img.VSD = cstring(d[112:320])
		}
	}
}

func (i *Image) imageInfo(d []byte) {
	t := i.TOC
	t.hasInfo, t.Flags = true, uint16(d[2])<<8|uint16(d[3])
	half := func(off int) uint16 { return uint16(d[off])<<8 | uint16(d[off+1]) }
	i.Version = [3]uint16{half(4), half(8), half(10)}
	i.Date = be32(d, 16)
	i.MIC, i.HasMIC = [3]uint16{half(20), half(24), half(26)}, half(20)|half(24)|half(26) != 0
	i.Device = half(28)
	i.PSID = cstring(d[36:52])
	i.Vendor = half(54)
	t.ImageVSD = cstring(d[56:264])
	for k := range uint32(4) {
		i.HWIDs = append(i.HWIDs, be32(d, 280+4*k))
	}
	i.Product = cstring(d[448:464])
	if d[1] >= 2 {
		t.Text, t.Part, i.PRS = cstring(d[464:720]), cstring(d[832:896]), cstring(d[896:992])
	}
}

func rangeOf(d []byte) Range { return Range{Base: be64(d, 8), Count: d[3], Step: d[2]} }

func (r Range) put(d []byte) {
	copy(d, append32([]byte{0, 0, r.Step, r.Count}, 0, uint32(r.Base>>32), uint32(r.Base)))
}

// finishTOC gives the values that depend on more than one section. The chips
// number the ports of a card from its base on.
func (i *Image) finishTOC() {
	t := i.TOC
	g, m := t.GUID.Base, t.MAC.Base
	i.GUIDs, i.MACs = [4]uint64{g, g, g + 1, g}, [2]uint64{m, m + 1}
	i.HWIDs = slices.DeleteFunc(i.HWIDs, func(id uint32) bool { return id == 0 })
	if i.Device == 0 && len(i.HWIDs) > 0 {
		i.Device = map[uint16]uint16{0x209: 0x1013, 0x20d: 0x1017}[uint16(i.HWIDs[0])]
	}
}

// Security is what the tool calls the image's security attributes, and whether
// the running firmware of a card with it writes the flash itself.
func (i *Image) Security() (attributes string, firmwareControls bool) {
	t := i.TOC
	if !t.signed || !t.keys || t.Flags&0x100 == 0 {
		return "N/A", false
	}
	attributes = "N/A"
	switch {
	case t.Flags&0x8000 != 0:
		attributes = "secure-fw"
	case t.Flags&0x4000 != 0:
		attributes = "signed-fw"
	}
	if t.Flags&0x2000 != 0 && attributes != "N/A" {
		attributes += ", debug"
	}
	return attributes, true
}

// needed are the sections whose damage the tool's query notices.
var needed = map[string]bool{
	"IMAGE_INFO": true, "MFG_INFO": true, "DEV_INFO": true, "ROM_CODE": true, "ITOC_HEADER": true, "DTOC_HEADER": true,
	"HW_POINTERS": true, "TOOLS_AREA": true, "IMAGE_SIGNATURE_256": true, "PUBLIC_KEYS_2048": true,
}

// tocChecksum is the digest of all but the device data.
func (i *Image) tocChecksum() string {
	t := i.TOC
	flat := i.flat(t.Table + tableHead)
	b := append([]byte{}, flat[:0x38+t.BootSize]...)
	b = append(b, flat[t.Table:t.Table+tableHead]...)
	for _, s := range t.Sections {
		if !s.Device {
			b = append(append(b, s.entry[:]...), s.Data...)
		}
	}
	sum := md5.Sum(b)
	var text strings.Builder
	for n := len(sum) - 1; n >= 0; n-- {
		fmt.Fprintf(&text, "%02x", sum[n])
	}
	return text.String()
}

// flat is the image as the tool keeps it: what it has read at its place in the
// slot, ones in between.
func (i *Image) flat(size uint32) []byte {
	b := make([]byte, size)
	for k := range b {
		b[k] = 0xff
	}
	for _, p := range i.TOC.pieces {
		if p.at < size {
			copy(b[p.at:], p.data)
		}
	}
	return b
}

// last is where the sections end: of FS3 all of them, of FS4 those of the
// firmware, by their place in the flash.
func (i *Image) last() uint32 {
	end := uint32(0)
	for _, s := range i.TOC.Sections {
		at := s.Addr + uint32(len(s.Data))
		if s.Device && i.Format == FS4 {
			continue
		}
		if !s.Device {
			at += i.Start
		}
		end = max(end, at)
	}
	return end
}

// File is what reading the image off a card gives. FS3 ends with its last
// section; FS4 is as long as the flash, with zeros between firmware and device
// data.
func (i *Image) File() []byte {
	if i.TOC == nil {
		return i.Data[:i.End]
	}
	if i.Format == FS3 {
		return i.flat(i.last())
	}
	all, first := i.flat(i.TOC.Size), i.TOC.Size
	for _, s := range i.TOC.Sections {
		if s.Device {
			first = min(first, s.Addr)
		}
	}
	clear(all[i.last():first])
	return all
}

// QueryReads are the sizes of what the tool's query reads and tells: sections, and of
// FS4 the entries of its tables. A damaged one ends FS4's table.
func (i *Image) QueryReads() []int {
	var sizes []int
	device := false
	for _, s := range i.TOC.Sections {
		if i.Format == FS4 {
			if s.Device && !device {
				sizes, device = append(sizes, tableHead), true // the end of the first table
				if i.firmwareDamaged() {
					return sizes
				}
			}
			sizes = append(sizes, tableHead)
		}
		switch s.Kind {
		case tocInfo, tocROM, tocMfg, tocDev, tocSign, tocKeys:
			sizes = append(sizes, len(s.Data))
		}
	}
	if i.Format == FS4 {
		sizes = append(sizes, tableHead)
	}
	return sizes
}

// firmwareDamaged says whether a query of FS4 ends before the device data.
func (i *Image) firmwareDamaged() bool {
	for _, c := range i.Checks {
		if c.Name == "DTOC_HEADER" {
			return false
		}
		if c.Bad && needed[c.Name] {
			return true
		}
	}
	return true
}

// InfoIsNinth says whether the ninth section is the image information.
func (i *Image) InfoIsNinth() bool {
	return len(i.TOC.Sections) > 8 && i.TOC.Sections[8].Kind == tocInfo
}

// ROMDevice is the PCI device id that the expansion ROM is for; 0 without one.
func (i *Image) ROMDevice() uint16 {
	for _, r := range i.ROMs {
		return r.Device
	}
	return 0
}
