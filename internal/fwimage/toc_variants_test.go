package fwimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// tocOptions describe the image that most FS3 and FS4 variants are made from.
func tocOptions() synth.TOCOptions {
	return synth.TOCOptions{
		PSID: "MT_9140110023", Size: 1 << 16, VSD: "device", ImageVSD: "image", Description: "Synthetic board",
		GUID: synth.Range{Base: 0xec0d9a0300c40000, Count: 16}, MAC: synth.Range{Base: 0xec0d9ac40000, Count: 16},
		ROMs: []synth.ROM{
			{Product: synth.ProductUEFI, Major: 14, Minor: 21, Sub: 17, CPU: 3},
			{Product: synth.ProductPXE, Major: 3, Minor: 6, Sub: 102, CPU: 1},
		},
	}
}

func buildTOC(t testing.TB, format Format, change func(o *synth.TOCOptions)) []byte {
	t.Helper()
	o := tocOptions()
	if change != nil {
		change(&o)
	}
	builder := synth.FS3
	if format == FS4 {
		builder = synth.FS4
	}
	data, err := builder(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// tocSubject is an FS3 or FS4 image with all that its reader knows of it.
type tocSubject struct {
	t      testing.TB
	format Format
	data   []byte
	r      *tocReader
	device []tocEntry // of FS4
}

func newTOCSubject(t testing.TB, format Format, change func(o *synth.TOCOptions)) *tocSubject {
	s := &tocSubject{t: t, format: format, data: buildTOC(t, format, change)}
	s.r = newTOCReader(s.data, format, 0)
	read := s.r.readFS3
	if format == FS4 {
		read = s.r.readFS4
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if format == FS4 {
		var err error
		if s.device, err = s.r.table(int64(len(s.data))-tocSectorBytes, true); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// all are the entries of both tables.
func (s *tocSubject) all() []tocEntry {
	return append(append([]tocEntry{}, s.r.entries...), s.device...)
}

// entry is the n-th entry of a kind.
func (s *tocSubject) entry(kind uint8) tocEntry {
	for _, e := range s.all() {
		if e.kind == kind {
			return e
		}
	}
	s.t.Fatalf("no entry %x", kind)
	return tocEntry{}
}

// with is the image with a change and all CRCs made right.
func (s *tocSubject) with(change func(p []byte)) []byte {
	return editedImage(s.t, s.data, true, change)
}

// raw is the image with a change only.
func (s *tocSubject) raw(change func(p []byte)) []byte {
	return editedImage(s.t, s.data, false, change)
}

// in changes bytes of the first section of a kind.
func (s *tocSubject) in(kind uint8, off int64, b ...byte) []byte {
	return s.with(func(p []byte) { copy(p[s.entry(kind).addr+off:], b) })
}

// inEntry changes bytes of the entry of the first section of a kind.
func (s *tocSubject) inEntry(kind uint8, off int64, b ...byte) []byte {
	return s.with(func(p []byte) { copy(p[s.entry(kind).at+off:], b) })
}

func putWord(p []byte, off int64, v uint32) { binary.BigEndian.PutUint32(p[off:], v) }

// grow repeats the second entry of the table until it has n.
func (s *tocSubject) grow(n int) []byte {
	return s.with(func(p []byte) {
		second := bytes.Clone(p[s.r.entries[1].at:][:tocEntryBytes])
		for i := len(s.r.entries); i < n; i++ {
			copy(p[s.r.tableAt+tocHeaderBytes+int64(i)*tocEntryBytes:], second)
		}
	})
}

func tocVariants(t testing.TB) []variant {
	var all []variant
	for _, format := range []Format{FS3, FS4} {
		s := newTOCSubject(t, format, nil)
		vs := append(append(append(s.builtVariants(), s.infos()...), s.tables()...), s.files()...)
		if format == FS4 {
			vs = append(vs, s.onlyFS4()...)
		} else {
			vs = append(vs, s.onlyFS3()...)
		}
		for _, v := range vs {
			v.name = string(format) + " " + v.name
			all = append(all, v)
		}
	}
	return all
}

// builtVariants are images that a tool would make so.
func (s *tocSubject) builtVariants() []variant {
	with := func(change func(o *synth.TOCOptions)) []byte { return buildTOC(s.t, s.format, change) }
	return []variant{
		{name: "as it is", data: s.data},
		{name: "PSID of 16 characters", data: with(func(o *synth.TOCOptions) { o.PSID = "MT_9140110023abc" })},
		{name: "Connect-IB layout", data: with(func(o *synth.TOCOptions) { o.PerPort = true })},
		{name: "all chips known", data: with(func(o *synth.TOCOptions) { o.HWIDs = []ib.HWID{{ID: 0x21e}, {ID: 0x220}, {ID: 0x25b}, {ID: 0x256}} })},
		{name: "for ConnectX-3", data: with(func(o *synth.TOCOptions) { o.HWIDs = []ib.HWID{{ID: 0x1f5, Rev: 1}}; o.ROMs = nil })},
		{name: "unknown chip", data: with(func(o *synth.TOCOptions) { o.HWIDs = []ib.HWID{{ID: 0x999}} }), want: "malformed",
			text: "0x999 rev 0"},
		{name: "unknown second chip", data: with(func(o *synth.TOCOptions) { o.HWIDs = []ib.HWID{s.r.img.HWIDs[0], {ID: 0x999}} })},
		{name: "no chips", data: with(func(o *synth.TOCOptions) { o.HWIDs = []ib.HWID{} }), want: "no hardware",
			text: "which chips"},
		{name: "ROM of another device", data: with(func(o *synth.TOCOptions) { o.ROMs[0].DeviceID = 99 })},
		{name: "signed", data: with(func(o *synth.TOCOptions) { o.Signature, o.Flags = true, 0xc100 })},
		{name: "code flagged as encrypted", data: with(func(o *synth.TOCOptions) { o.Flags = 8 }), text: "encrypted"},
		{name: "second table", data: with(func(o *synth.TOCOptions) { o.SecondTable = true })},
		{name: "multicast MAC", data: with(func(o *synth.TOCOptions) { o.MAC.Base = 0x010000000001 })},
		{name: "MAC of 57 bits", data: with(func(o *synth.TOCOptions) { o.MAC.Base = 1 << 56 })},
		{name: "GUID of ones", data: with(func(o *synth.TOCOptions) { o.GUID.Base, o.MAC.Base = ^uint64(0), 1<<48-1 })},
		{name: "release date that is none", data: with(func(o *synth.TOCOptions) { o.ReleaseDate = "2020-99-99" })},
		{name: "no ITOC", data: with(func(o *synth.TOCOptions) { o.NoTable = true }),
			want: map[Format]string{FS3: "malformed", FS4: "encrypted"}[s.format]},
		{name: "in the second slot", data: with(func(o *synth.TOCOptions) { o.Second, o.Size = true, 1<<18 }),
			want: "raw dump", text: "second slot", differs: map[Format]string{FS3: "raw dump"}[s.format]},
		{name: "large", data: with(func(o *synth.TOCOptions) { o.Payload, o.Size, o.SlotBits = 3<<20, 4<<20, 22 })},
	}
}

// infos are changes of the sections that describe image and card.
func (s *tocSubject) infos() []variant {
	vs := []variant{
		{name: "PSID with escape sequence", data: s.in(tocImageInfo, 44, 0x1b, '[', '3', 'm'), want: "malformed",
			text: `\x1b[3m`, differs: "PSID text"},
		{name: "PSID with bytes behind its end", data: s.in(tocImageInfo, 51, 'A'), want: "malformed", text: "invalid PSID",
			differs: "PSID text"},
		{name: "version 0.0.0", data: s.in(tocImageInfo, 4, 0, 0, 0, 0, 0, 0, 0, 0), want: "malformed",
			text: "firmware version", differs: "no version"},
		{name: "texts with escape sequences", data: s.in(tocImageInfo, 448, 0x1b, '[', '3', 'm')},
		{name: "IMAGE_INFO 1.0", data: s.in(tocImageInfo, 0, 1), want: "malformed", text: "unknown version 1.3"},
		{name: "MFG_INFO 2", data: s.in(tocMfgInfo, 28, 2), want: "malformed", text: "MFG_INFO of unknown version 2"},
		{name: "MFG_INFO 0", data: s.in(tocMfgInfo, 28, 0)},
		{name: "MFG_INFO without PSID", data: s.in(tocMfgInfo, 0, make([]byte, 16)...)},
		{name: "DEV_INFO 3", data: s.in(tocDevInfo, 18, 3), want: "malformed", text: "DEV_INFO of unknown version 3"},
		{name: "DEV_INFO 258", data: s.in(tocDevInfo, 17, 1), want: "malformed", text: "DEV_INFO of unknown version 258"},
		{name: "DEV_INFO 1", data: s.in(tocDevInfo, 18, 1)},
		{name: "keys in DEV_INFO", data: s.in(tocDevInfo, 352, 1, 2, 3, 4)},
	}
	for minor := range byte(5) {
		vs = append(vs, variant{name: fmt.Sprintf("IMAGE_INFO 0.%d", minor), data: s.in(tocImageInfo, 1, minor)})
	}
	return vs
}

// tables are changes of the tables of contents.
func (s *tocSubject) tables() []variant {
	mode := byte(crcNone)
	last := s.r.entries[len(s.r.entries)-1]
	vs := []variant{
		{name: "unknown section", data: s.inEntry(0x12, 0, 0x77)},
		{name: "no IMAGE_INFO", data: s.inEntry(tocImageInfo, 0, 0x77), want: "malformed", text: "no section IMAGE_INFO",
			differs: "necessary sections"},
		{name: "second IMAGE_INFO", data: s.inEntry(0x12, 0, s.data[s.entry(tocImageInfo).at:][:tocEntryBytes]...),
			want: "malformed", text: "second section IMAGE_INFO", differs: "necessary sections"},
		{name: "no MFG_INFO", data: s.inEntry(tocMfgInfo, 0, 0x77), want: "malformed", text: "no section MFG_INFO"},
		{name: "empty section", data: s.inEntry(0x12, 0, 0xe3, 0, 0, 0)},
		{name: "section without CRC", data: s.inEntry(0x12, 25, mode), text: "carry no CRC"},
		{name: "damaged section without CRC",
			data: editedImage(s.t, s.inEntry(0x12, 25, mode), false,
				func(p []byte) { p[s.entry(0x12).addr] ^= 1 }), text: "carry no CRC"},
		{name: "section behind the file", data: s.raw(func(p []byte) {
			e := p[s.entry(0x12).at:][:tocEntryBytes]
			putWord(e, 20, word(e, 5)+0x100000)
			binary.BigEndian.PutUint16(e[30:], uint16(sectionCRC(e[:28])))
		}), want: "truncated"},
		{name: "section of 16 MiB", data: s.raw(func(p []byte) {
			e := p[s.entry(0x12).at:][:tocEntryBytes]
			copy(e[1:], "\xff\xff\xfc")
			binary.BigEndian.PutUint16(e[30:], uint16(sectionCRC(e[:28])))
		}), want: "truncated"},
		{name: "short IMAGE_INFO", data: s.inEntry(tocImageInfo, 2, 0x03, 0xfc), want: "malformed",
			text: "IMAGE_INFO of 0x3fc bytes", differs: "section length"},
		{name: "flags above the CRC of an entry", data: s.raw(func(p []byte) { p[s.entry(0x12).at+28] = 0xff })},
		{name: "flags above the CRC of the table", data: s.raw(func(p []byte) { p[s.r.tableAt+28] = 0xff })},
		{name: "reserved words of an entry", data: s.inEntry(0x12, 4, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)},
		{name: "compressed section", data: s.inEntry(0x12, 4, 0x80)},
		{name: "other version of the table", data: s.with(func(p []byte) { p[s.r.tableAt+19] = 7 })},
		// mstflint looks at each section alone, and so does this package: every byte
		// is under the checksum of both.
		{name: "two sections at one place", data: s.with(func(p []byte) {
			copy(p[s.entry(0x12).at+1:][:27], bytes.Clone(p[s.r.entries[1].at+1:][:27]))
		})},
		{name: "section over the table", data: s.with(func(p []byte) {
			putWord(p, s.entry(0x12).at+20, word(p[s.entry(0x12).at:], 5)&0x80000000|uint32(s.r.tableAt))
			p[s.entry(0x12).at+25] |= byte(crcNone)
		}), text: "carry no CRC"},
		{name: "63 entries", data: s.grow(63)},
		{name: "damaged CRC of an entry", data: s.raw(func(p []byte) { p[last.at+31] ^= 1 }),
			want: "CRC entry of a table of contents"},
		{name: "damaged CRC of the table", data: s.raw(func(p []byte) { p[s.r.tableAt+31] ^= 1 }), want: "CRC ITOC_HEADER"},
		{name: "damaged CRC of the table, second good", data: s.raw(func(p []byte) {
			copy(p[s.r.tableAt+tocSectorBytes:], bytes.Clone(p[s.r.tableAt:s.r.tableAt+0x400]))
			p[s.r.tableAt+31] ^= 1
		}), want: map[Format]string{FS3: "CRC ITOC_HEADER"}[s.format]},
		{name: "damaged entry, second table good", data: s.raw(func(p []byte) {
			copy(p[s.r.tableAt+tocSectorBytes:], bytes.Clone(p[s.r.tableAt:s.r.tableAt+0x400]))
			p[last.at+31] ^= 1
		}), want: "CRC entry of a table of contents"},
		{name: "no end of the table", data: s.raw(func(p []byte) {
			e := bytes.Clone(p[s.r.entries[1].at:][:tocEntryBytes])
			for i := range maxTOCEntries + 1 {
				copy(p[s.r.tableAt+tocHeaderBytes+int64(i)*tocEntryBytes:], e)
			}
		}), want: "malformed", text: "more than 63 entries"},
	}
	for _, v := range [][2]byte{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {1, 255}, {2, 0}} {
		at, least := int64(0x26), byte(1)
		if s.format == FS4 {
			at, least = 0x506, 0
		}
		vs = append(vs, variant{
			name: fmt.Sprintf("binary version %d.%d", v[0], v[1]), data: s.with(func(p []byte) { copy(p[at:], v[:]) }),
			want: map[bool]string{false: "malformed"}[v == [2]byte{} || v[0] == 1 && v[1] >= least],
		})
	}
	return vs
}

// files are images with something before or behind them.
func (s *tocSubject) files() []variant {
	t, d := s.t, s.data
	stale := buildTOC(t, s.format, func(o *synth.TOCOptions) { o.Size = 1 << 18 })
	young := buildTOC(t, s.format, func(o *synth.TOCOptions) { o.Size, o.Second = 1<<18, true; o.Seed = 1 })
	both := append(bytes.Clone(stale[:1<<17]), young[1<<17:]...)
	fs4 := map[Format]string{FS4: "malformed"}[s.format]
	return []variant{
		{name: "cut", data: d[:len(d)/2], want: map[Format]string{FS3: "truncated", FS4: "malformed"}[s.format]},
		{name: "cut to the signature", data: d[:16], want: "truncated"},
		{name: "cut to the header", data: d[:0x38], want: "truncated"},
		{name: "one sector more", data: padTo(d, len(d)+0x1000), want: fs4,
			text: map[Format]string{FS4: "another length"}[s.format]},
		{name: "one word more", data: padTo(d, len(d)+4), want: fs4},
		{name: "one byte more", data: padTo(d, len(d)+1), want: "malformed", text: "multiple of 4"},
		{name: "text behind", data: append(bytes.Clone(d), "abcd"...), want: fs4,
			text: map[Format]string{FS3: "do not belong"}[s.format]},
		{name: "moved to 0x10000", data: append(padTo(nil, 0x10000), d...), want: "malformed", text: "the image starts here"},
		{name: "moved to 0x1000", data: append(padTo(nil, 0x1000), d...), want: "not an image"},
		{name: "signature erased", data: s.raw(func(p []byte) { clear(p[:4]) }), want: "not an image",
			text: "signature was erased"},
		{name: "flash with two images", data: both, want: "raw dump", text: "second image, valid or stale",
			differs: map[Format]string{FS3: "raw dump"}[s.format]},
		{name: "flash after a burn", data: editedImage(t, both, false, func(p []byte) { clear(p[:4]) }), want: "raw dump",
			text: "starts in the second slot", differs: "raw dump"},
		{name: "flash after two burns", data: editedImage(t, both, false, func(p []byte) { clear(p[1<<17:][:4]) }),
			want: "raw dump", text: "a second image", differs: "raw dump"},
		{name: "second signature elsewhere", data: editedImage(t, stale, false, func(p []byte) { copy(p[0x10000:], p[:16]) }),
			want: fs4, text: map[Format]string{FS4: "second image signature"}[s.format]},
	}
}

func (s *tocSubject) onlyFS3() []variant {
	slot := func(bits byte) []byte { return s.with(func(p []byte) { p[0x25] = bits }) }
	return []variant{
		{name: "no DEV_INFO", data: s.inEntry(tocDevInfo, 0, 0x77)},
		{name: "second DEV_INFO", data: s.with(func(p []byte) {
			copy(p[s.entry(0xe6).at:], bytes.Clone(p[s.entry(tocDevInfo).at:][:tocEntryBytes]))
		}), want: "malformed", text: "second section DEV_INFO", differs: "necessary sections"},
		{name: "DEV_INFO without signature", data: s.in(tocDevInfo, 0, 'x')},
		{name: "firmware flagged as device data", data: s.inEntry(0x12, 25, 2)},
		{name: "device data with relative address", data: s.inEntry(tocDevInfo, 20, 0x80)},
		{name: "firmware with absolute address", data: s.inEntry(0x12, 20, 0)},
		{name: "slots of the default size", data: slot(0)},
		{name: "slots of 64 KiB", data: slot(16)},
		{name: "slots of 1 GiB", data: slot(30)},
		{name: "slots of 2^31 bytes", data: s.raw(func(p []byte) { p[0x25] = 31 }), want: "malformed",
			text: "slots of 2 to the power of 31"},
		{name: "slots of 2^200 bytes", data: s.raw(func(p []byte) { p[0x25] = 200 }), want: "malformed", text: "200"},
		{name: "slots of 4 KiB", data: s.raw(func(p []byte) { p[0x25] = 12 }), want: "truncated"},
		{name: "bytes in the header", data: s.raw(func(p []byte) { p[0x14], p[0x30] = 1, 2 })},
		{name: "boot block of 3 words", data: s.raw(func(p []byte) { putWord(p, 0x3c, 3) }), want: "malformed",
			text: "boot block of 3 words"},
		{name: "boot block of 16 million words", data: s.raw(func(p []byte) { putWord(p, 0x3c, 1<<24) }), want: "malformed"},
		{name: "boot block longer than the file", data: s.raw(func(p []byte) { putWord(p, 0x3c, 1<<19) }), want: "truncated"},
		{name: "upper bits of the CRC of the boot block", data: s.raw(func(p []byte) { p[0x38+0x90-4] = 1 }),
			want: "CRC BOOT2"},
	}
}

func (s *tocSubject) onlyFS4() []variant {
	t, size := s.t, int64(len(s.data))
	with := func(change func(o *synth.TOCOptions)) []byte { return buildTOC(t, FS4, change) }
	hashed := with(func(o *synth.TOCOptions) { o.Hashes = true })
	pointer := func(i int64, v uint32) []byte {
		return s.raw(func(p []byte) {
			putWord(p, 0x18+8*i, v)
			putWord(p, 0x1c+8*i, uint32(pointerCRC(p[0x18+8*i:])))
		})
	}
	dev2 := s.device[2]
	noLine := with(func(o *synth.TOCOptions) { o.LineCRC = true })
	return []variant{
		{name: "hashes", data: hashed},
		{name: "damaged hashes", data: editedImage(t, hashed, false, func(p []byte) { p[0x1900] ^= 1 }), want: "CRC HASHES_TABLE"},
		{name: "damaged header of the hashes", data: editedImage(t, hashed, false, func(p []byte) { p[0x1800] ^= 1 }),
			want: "CRC HASHES_TABLE header"},
		{name: "hashes of 64 KiB each", data: editedImage(t, hashed, false, func(p []byte) { p[0x1810], p[0x1811] = 0xff, 0xff }),
			want: "truncated"},
		{name: "hashes of another size", data: editedImage(t, hashed, true, func(p []byte) { p[0x1811] = 32 })},
		{name: "check words in the code", data: noLine},
		{name: "damaged code with check words", data: editedImage(t, noLine, false, func(p []byte) { p[0x4000] ^= 1 }),
			want: "CRC MAIN_CODE"},
		{name: "encrypted code", data: with(func(o *synth.TOCOptions) { o.Encrypted = true }), want: "encrypted",
			text: "MAIN_CODE", differs: "encrypted code"},
		{name: "CRC inside a section", data: s.inEntry(0x12, 25, byte(crcInSection))},
		{name: "damaged CRC inside a section",
			data: editedImage(t, s.inEntry(0x12, 25, byte(crcInSection)), false,
				func(p []byte) { p[s.entry(0x12).addr+0xff] ^= 1 }), want: "CRC FW_MAIN_CFG"},
		{name: "CRC nowhere known", data: s.inEntry(0x12, 25, 3), want: "malformed", text: "unknown place (3)",
			differs: "place of the CRC"},
		{name: "flag of an encrypted section", data: s.inEntry(0x12, 24, 0x80)},
		{name: "other DEV_INFO", data: s.with(func(p []byte) {
			copy(p[dev2.addr:], bytes.Clone(p[s.entry(tocDevInfo).addr:][:512]))
			clear(p[s.entry(tocDevInfo).addr:][:4])
		})},
		{name: "both DEV_INFO", data: s.with(func(p []byte) {
			copy(p[dev2.addr:], bytes.Clone(p[s.entry(tocDevInfo).addr:][:512]))
		}), want: "malformed", text: "second section DEV_INFO"},
		{name: "neither DEV_INFO", data: s.with(func(p []byte) { clear(p[s.entry(tocDevInfo).addr:][:4]) }),
			want: "malformed", text: "no section DEV_INFO"},
		{name: "damaged DEV_INFO", data: s.raw(func(p []byte) { p[s.entry(tocDevInfo).addr+200] ^= 1 }),
			want: "CRC DEV_INFO"},
		{name: "damaged unused DEV_INFO", data: s.raw(func(p []byte) { p[dev2.addr+200] ^= 1 })},
		{name: "no DTOC", data: s.raw(func(p []byte) { p[size-0x1000] ^= 1 }), want: "malformed",
			text: "no table of device data"},
		{name: "damaged DTOC", data: s.raw(func(p []byte) { p[size-0x1000+20] ^= 1 }), want: "CRC DTOC_HEADER"},
		{name: "no ITOC signatures", data: s.raw(func(p []byte) { p[s.r.tableAt] ^= 1 }), want: "encrypted",
			text: "table of contents"},
		{name: "unused pointer", data: s.raw(func(p []byte) { copy(p[0x18:], "\xff\xff\xff\xff\x12\x34\x56\x78") })},
		{name: "unused pointer to the tools area", data: s.raw(func(p []byte) { copy(p[0x30:], "\xff\xff\xff\xff") }),
			want: "CRC TOOLS_AREA"},
		{name: "upper bits of the CRC of a pointer", data: s.raw(func(p []byte) { p[0x24] = 1 }), want: "CRC HW_POINTERS"},
		{name: "boot block behind the file", data: pointer(1, 0x100000), want: "truncated"},
		{name: "boot block far behind the file", data: pointer(1, 0xfffffff0), want: "truncated"},
		{name: "table behind the file", data: pointer(2, 0x100000), want: "truncated"},
		{name: "tools area behind the file", data: pointer(3, 0xfffffff0), want: "truncated"},
		{name: "hashes behind the file", data: pointer(15, 0x100000), want: "truncated"},
		{name: "pointer that overflows", data: editedImage(t, hashed, false, func(p []byte) {
			putWord(p, 0x90, 0x80001800)
			putWord(p, 0x94, uint32(pointerCRC(p[0x90:])))
		}), want: "truncated", differs: "address overflow"},
		{name: "pointer to an odd address", data: pointer(3, 0x502), want: "malformed", text: "no multiple of 4"},
		{name: "pointer to an odd table", data: pointer(2, 0x2001), want: "malformed", text: "pointer 2 is 0x2001"},
		{name: "security version", data: pointer(13, 7)},
		{name: "pointer that is not read", data: pointer(4, 0x12345678)},
		{name: "slots of no size", data: s.with(func(p []byte) { p[0x505] = 0 })},
		{name: "slots of 2^31 bytes", data: s.with(func(p []byte) { p[0x504], p[0x505] = 0, 30 })},
		{name: "bytes between pointers and tools area", data: s.raw(func(p []byte) { p[0x200] = 1 })},
		{name: "format version 2", data: s.raw(func(p []byte) { p[0x10] = 2 }), want: "unsupported FS5", text: "FS5"},
		{name: "format version 9", data: s.raw(func(p []byte) { p[0x10] = 9 }), want: "malformed", text: "format version 9"},
		{name: "flash smaller than a sector", data: s.data[:0x800], want: "truncated"},
	}
}

// tocChangedBytes flips a bit at every place of interest of both formats.
func tocChangedBytes(t testing.TB) []variant {
	var vs []variant
	for _, format := range []Format{FS3, FS4} {
		s := newTOCSubject(t, format, func(o *synth.TOCOptions) { o.Hashes = format == FS4 })
		add := func(what string, off int64) {
			vs = append(vs, variant{
				name: fmt.Sprintf("%s %s, byte 0x%x", format, what, off), want: "?",
				data: s.raw(func(p []byte) { p[off] ^= 0x10 }),
			})
		}
		span := func(what string, from, n int64) {
			for off := range n {
				add(what, from+off)
			}
		}
		span("header", 0, headerTOC)
		if format == FS4 {
			span("pointers", headerTOC, 0x98-headerTOC)
			span("tools area", 0x500, toolsBytes)
			span("DTOC", int64(len(s.data))-tocSectorBytes, tocHeaderBytes)
		}
		span("boot block", s.r.bootAt, 16)
		add("boot block", s.r.bootAt+s.r.bootBytes/2)
		span("boot block", s.r.bootAt+s.r.bootBytes-4, 4)
		span("table", s.r.tableAt, tocHeaderBytes)
		for _, e := range s.all() {
			for _, off := range []int64{0, 1, 2, 3, 4, 8, 12, 16, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31} {
				add("entry of "+e.name(), e.at+off)
			}
			for _, off := range []int64{0, 1, e.size / 2, e.size - 4, e.size - 1} {
				add(e.name(), e.addr+off)
			}
		}
	}
	return vs
}

func TestTOC_names_follow_the_tool(t *testing.T) {
	if got := strings.Join([]string{tocSectionName(0x03), tocSectionName(0xe1), tocSectionName(0x77)},
		" "); got != "MAIN_CODE DEV_INFO UNKNOWN" {
		t.Error(got)
	}
}
