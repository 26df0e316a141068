package card

import (
	"maps"
	"testing"
)

// seal2 stores the CRC of each section of an image of FS2, as far as they can be followed.
func seal2(b []byte) {
	seen, off := map[uint32]bool{}, uint32(0x38)
	for range 2 { // boot blocks
		if uint64(off)+8 <= uint64(len(b)) {
			off += (be32(b, off+4) + 4) * 4
		}
	}
	for ; !seen[off] && uint64(off)+20 <= uint64(len(b)); off = be32(b, off+12) {
		seen[off] = true
		if end := uint64(off) + 16 + uint64(be32(b, off+4))*4; end+4 <= uint64(len(b)) {
			put32(b, uint32(end), uint32(crc16(b[off:end])))
		}
	}
}

// sealTable stores the CRC of each entry of a table of contents, and of what it names.
func sealTable(b []byte, at uint32) {
	for at += tableHead; at+tableHead <= uint32(len(b)) && b[at] != tocEnd; at += tableHead {
		e := b[at : at+tableHead]
		from, size := be32(e, 20)&0x7ffffffc, be32(e, 0)&0xfffffc
		if e[25] == crcEntry && uint64(from)+uint64(size) <= uint64(len(b)) {
			put32(e, 24, uint32(crc16(b[from:from+size])))
		}
		put32(e, 28, uint32(crc16(e[:28])))
	}
}

// fuzzed is a flash that a guest changes: where it does so, and what makes it right again.
type fuzzed struct {
	sectors map[uint32][]byte
	at      uint32
	seal    func([]byte)
}

func fuzzedFlash(f *testing.F, chip Chip, image []byte, at func(*Image) uint32, seal func([]byte, *Image)) fuzzed {
	f.Helper()
	c, err := New(Config{Chip: chip, Image: image, GUIDs: testGUIDs, MACs: testMACs})
	if err != nil {
		f.Fatal(err)
	}
	img, err := c.Flash.Bootable()
	if err != nil {
		f.Fatal(err)
	}
	return fuzzed{c.Flash.sectors, at(img), func(b []byte) { seal(b, img) }}
}

// fuzzedSize is how much of a flash is changed: all but device data.
const fuzzedSize = 0x8000

// FuzzBootable boots what a guest has written into its flash. CRCs are right, since a wrong
// one would end the reading.
func FuzzBootable(f *testing.F) {
	pro := proSpec("", "p", current, 0x20170905)
	pro.Code, pro.Failsafe, pro.Device, pro.HWIDs = 0x100, false, 0, []uint32{0xfff}
	cx4 := CX4Spec(PSIDCX4, current)
	cx4.Code = 0x100
	cx5 := cx4
	cx5.Format, cx5.PSID, cx5.Device, cx5.HWIDs = FS4, PSIDCX5, 0x1017, []uint32{0x20d}
	table := func(i *Image) uint32 { return i.TOC.Table + tableHead }
	flashes := []fuzzed{
		fuzzedFlash(f, ConnectX3Pro, Build(pro), func(i *Image) uint32 { return i.infoAt },
			func(b []byte, _ *Image) { seal2(b) }),
		fuzzedFlash(f, ConnectX4, BuildTOC(cx4), table, func(b []byte, i *Image) { sealTable(b, i.TOC.Table) }),
		fuzzedFlash(f, ConnectX5, BuildTOC(cx5), table, func(b []byte, i *Image) { sealTable(b, i.TOC.Table) }),
	}
	f.Add(byte(0), int16(0), append32(nil, secInfo, 1, 0, 0xff000000, 1<<24))             // a version of no bytes
	f.Add(byte(0), int16(0), append32(nil, secInfo, 2, 0, 0xff000000, 11<<24|4, 0x20000)) // half of one
	f.Add(byte(0), int16(0), append32(nil, secInfo, 3, 0, 12, 11<<24|8, 0x20000, 0))      // back into the header
	f.Add(byte(1), int16(0), append32(nil, tocInfo<<24|1024, 0, 0, 0, 0, 0x80001000, 0, 0))
	f.Add(byte(2), int16(0), append32(nil, tocInfo<<24, 0, 0, 0, 0, 0, crcSection<<16, 0)) // shorter than its CRC
	f.Fuzz(func(t *testing.T, kind byte, off int16, patch []byte) {
		base := flashes[int(kind)%len(flashes)]
		flash := &Flash{sectors: maps.Clone(base.sectors)}
		b := flash.Read(0, fuzzedSize)
		copy(b[min(max(0, int(base.at)+int(off)), len(b)):], patch)
		base.seal(b)
		for a := uint32(0); a < fuzzedSize; a += SectorSize {
			flash.sectors[a/SectorSize] = b[a : a+SectorSize]
		}
		if img, err := flash.Bootable(); err == nil {
			_, _, _ = img.Firmware(), img.Chunk(), img.Failsafe()
		}
	})
}
