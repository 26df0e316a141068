package fwimage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// variant is a changed image with the verdict that it must get.
type variant struct {
	name    string
	data    []byte
	want    string // see errorKind; "" if it must be accepted
	text    string // part of the error or, if accepted, of a warning
	differs string // the intended difference from mstflint 4.21, as in doc.go
	hangs   bool   // mstflint does not end
}

// errorKind names the type of an error of this package.
func errorKind(err error) string {
	var refused *Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &refused):
		return err.Error()
	case refused.Problem == NotAnImage:
		return "not an image"
	case refused.Problem == NoHardware:
		return "no hardware"
	case refused.Problem == WrongCRC:
		return "CRC " + refused.Of
	case refused.Problem == Unsupported:
		return "unsupported " + refused.Of
	}
	return string(refused.Problem)
}

// subject is the image that most variants are made from.
type subject struct {
	t    testing.TB
	data []byte
	img  *Image
}

func newSubject(t testing.TB) *subject {
	data := build(t, synth.Options{
		GUIDs: unique(), Chunk: 0x80000, VSD: "hello",
		ROMs: []synth.ROM{
			{Product: synth.ProductUEFI, Major: 14, Minor: 11, Sub: 49, CPU: 1},
			{Product: synth.ProductPXE, Major: 3, Minor: 4, Sub: 752},
		},
	})
	img, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return &subject{t: t, data: data, img: img}
}

// section finds the first section of a kind.
func (s *subject) section(kind uint32) section {
	for _, sec := range s.img.sections {
		if sec.kind == kind {
			return sec
		}
	}
	s.t.Fatalf("no section of kind %d", kind)
	return section{}
}

// tagAt is the offset of a tag of the info section.
func (s *subject) tagAt(id byte) int {
	sec := s.section(kindInfo)
	for off := sec.offset + sectionHeader; off < sec.end()-4; {
		w := binary.BigEndian.Uint32(s.data[off:])
		if byte(w>>24) == id {
			return int(off)
		}
		off += 4 + int64(w&0xffffff)
	}
	s.t.Fatalf("no tag %d", id)
	return 0
}

// with is the image with a word changed at off and all CRCs made right.
func (s *subject) with(off int64, words ...uint32) []byte {
	return editedImage(s.t, s.data, true, func(p []byte) {
		for i, w := range words {
			binary.BigEndian.PutUint32(p[int(off)+4*i:], w)
		}
	})
}

// withTag changes words of a tag; word 0 is its header.
func (s *subject) withTag(id byte, word int, words ...uint32) []byte {
	return s.with(int64(s.tagAt(id)+4*word), words...)
}

// withNext changes the next pointer of a section, keeping its CRC and the
// image CRC right in the order in which a tool that ignores the change reads.
func (s *subject) withNext(sec section, next uint32) []byte {
	p := bytes.Clone(s.data)
	binary.BigEndian.PutUint32(p[sec.offset+12:], next)
	binary.BigEndian.PutUint32(p[sec.end()-4:], sectionCRC(p[sec.offset:sec.end()-4]))
	p[0x22], p[0x23] = 0xff, 0xff
	binary.BigEndian.PutUint16(p[0x22:], uint16(sectionCRC(p)))
	return p
}

// shortTag splits the last word of a tag off into an unknown tag.
func (s *subject) shortTag(id byte) []byte {
	off := s.tagAt(id)
	n := int(binary.BigEndian.Uint32(s.data[off:]) & 0xffffff)
	return editedImage(s.t, s.data, true, func(p []byte) {
		binary.BigEndian.PutUint32(p[off:], uint32(id)<<24|uint32(n-4))
		binary.BigEndian.PutUint32(p[off+n:], 99<<24)
	})
}

// padTo appends erased flash.
func padTo(data []byte, n int) []byte {
	return append(bytes.Clone(data), bytes.Repeat([]byte{0xff}, n-len(data))...)
}

func variants(t testing.TB) []variant {
	s := newSubject(t)
	return append(append(append(append(s.builtVariants(), s.tags()...), s.structure()...), s.files()...), tocVariants(t)...)
}

// builtVariants are images that a tool would make so.
func (s *subject) builtVariants() []variant {
	t := s.t
	blank := build(t, synth.Options{Blank: true})
	return []variant{
		{name: "as it is", data: s.data},
		{name: "blank GUIDs", data: blank, differs: "blank GUIDs"},
		{name: "blank GUIDs and image CRC", data: editedImage(t, blank, false, func(p []byte) { p[0x22], p[0x23] = 0xff, 0xff }),
			text: "GUIDs are blank", differs: "blank GUIDs"},
		{name: "blank GUIDs, wrong image CRC", data: editedImage(t, blank, false, func(p []byte) { p[0x23] ^= 1 }),
			want: "CRC Full Image"},
		{name: "no MACs", data: build(t, synth.Options{OldGUID: true})},
		{name: "no image CRC", data: build(t, synth.Options{NoMIC: true}), text: "no CRC over its header"},
		{name: "only the necessary tags", data: build(t, synth.Options{BareInfo: true})},
		{name: "no PSID", data: build(t, synth.Options{NoPSID: true, HWIDs: []ib.HWID{{ID: 0xabc}}})},
		{name: "PSID of 16 characters", data: build(t, synth.Options{PSID: "MT_9090111019abc"})},
		{name: "no hardware ids", data: build(t, synth.Options{HWIDs: []ib.HWID{}}), want: "no hardware", text: "which chips",
			differs: "hardware ids"},
		{name: "200 hardware ids", data: build(t, synth.Options{HWIDs: make201()[:200]})},
		{name: "201 hardware ids", data: build(t, synth.Options{HWIDs: make201()}), want: "malformed",
			text: "201 hardware ids", differs: "hardware ids"},
		{name: "VSD of another vendor", data: build(t, synth.Options{VSDVendor: 0x103c})},
		{name: "device type of another chip", data: build(t, synth.Options{DeviceType: 4099})},
		{name: "ROM of another device",
			data: build(t, synth.Options{ROMs: []synth.ROM{{Product: synth.ProductPXE, DeviceID: 4099}}})},
		{name: "several large sections", data: build(t, synth.Options{Payload: 3 << 20})},
		{name: "longer than a chunk", data: build(t, synth.Options{Payload: 3 << 20, Chunk: 1 << 16})},
		{name: "release date that is none", data: build(t, synth.Options{ReleaseDate: "2017-13-99"})},
	}
}

func make201() []ib.HWID {
	ids := make([]ib.HWID, 201)
	for i := range ids {
		ids[i] = ib.HWID{ID: 0x1f7, Rev: uint8(i)}
	}
	return ids
}

// tags are changes of the info section.
func (s *subject) tags() []variant {
	vs := []variant{
		{name: "PSID with escape sequence", data: s.withTag(tagPSID, 3, 0x1b5b336d), want: "malformed", text: `\x1b[3m`,
			differs: "PSID text"},
		{name: "PSID with bytes behind its end", data: s.withTag(tagPSID, 4, 0x00004100), want: "malformed",
			text: "invalid PSID", differs: "PSID text"},
		{name: "version 0.0.0", data: s.withTag(tagVersion, 1, 0, 0), want: "malformed", text: "firmware version",
			differs: "no version"},
		{name: "version missing", data: s.withTag(tagVersion, 0, 99<<24|8), want: "malformed", text: "firmware version",
			differs: "no version"},
		{name: "hardware ids missing", data: s.withTag(tagHWIDs, 0, 99<<24|4), want: "no hardware", text: "which chips",
			differs: "hardware ids"},
		{name: "PSID missing", data: s.withTag(tagPSID, 0, 99<<24|16)},
		{name: "PSID twice", data: s.withTag(tagProduct, 0, tagPSID<<24|16, 0x4d545f39), want: "malformed",
			text: "second tag 4", differs: "repeated or resized tag"},
		{name: "VSD missing", data: s.withTag(tagVSD, 0, 99<<24|vsdBytes)},
		{name: "early end tag", data: s.withTag(tagPRSName, 0, 0xff000010), want: "malformed", text: "too early"},
		{name: "end tag with a length", data: s.with(s.section(kindInfo).end()-8, 0xff000004), want: "malformed",
			text: "no room for any"},
		{name: "end tag with an odd length", data: s.with(s.section(kindInfo).end()-8, 0xff000002), want: "malformed",
			text: "no room for any"},
		{name: "no end tag", data: s.with(s.section(kindInfo).end()-8, 99<<24)},
		{name: "tag of odd length", data: s.withTag(tagPRSName, 0, tagPRSName<<24|0x11), want: "malformed", text: "tag 20"},
		{name: "tag longer than the section", data: s.withTag(tagPRSName, 0, tagPRSName<<24|0x1010), want: "malformed",
			text: "tag 20"},
		{name: "short configuration sectors", data: s.shortTag(tagConfigSectors), want: "malformed",
			text: "configuration sectors", differs: "repeated or resized tag"},
	}
	for id, n := range tagBytes {
		vs = append(vs, variant{
			name: fmt.Sprintf("short tag %d", id), data: s.shortTag(byte(id)),
			want: "malformed", text: fmt.Sprintf("tag %d has %d bytes instead of %d", id, n-4,
				n), differs: "repeated or resized tag",
		})
	}
	return vs
}

// structure are changes of header, pointers and sections.
func (s *subject) structure() []variant {
	t := s.t
	guid, ddr, last := s.section(kindGUID), s.section(1), s.section(9)
	macs := guid.offset + sectionHeader + 4*guidEntry
	return []variant{
		{name: "MAC with multicast bit", data: s.with(macs, 0x0000011d)},
		{name: "MAC of 57 bits", data: s.with(macs, 0x0100e41d)},
		{name: "GUIDs and MACs of ones",
			data: editedImage(t, s.data, true, func(p []byte) { copy(p[guid.offset+16:], bytes.Repeat([]byte{0xff}, 48)) })},
		{name: "GUIDs and MACs of zeros", data: editedImage(t, s.data, true, func(p []byte) { clear(p[guid.offset+16:][:48]) })},
		{name: "blank CRC on a GUID", data: editedImage(t, s.data, false,
			func(p []byte) { copy(p[guid.end()-4:], "\x00\x00\xff\xff") }), want: "CRC GUID"},
		{name: "GUID pointer elsewhere", data: s.with(offGUIDPtr, uint32(guid.offset)+sectionHeader+4), want: "malformed",
			text: "section GUID is at", differs: "header pointers"},
		{name: "info pointer elsewhere",
			data: s.with(offInfoPtr, balance(uint32(s.section(kindInfo).offset)+sectionHeader+4)), want: "malformed",
			text: "Image Info is at", differs: "header pointers"},
		{name: "info pointer without checksum", data: s.with(offInfoPtr, uint32(s.section(kindInfo).offset)+sectionHeader),
			want: "malformed", text: "wrong checksum in the pointer"},
		{name: "failsafe word without checksum", data: s.with(offFailsafe, 0xb), want: "malformed", text: "failsafe word"},
		{name: "chunk without failsafe bit", data: s.with(offFailsafe, balance(3))},
		{name: "length larger than the file", data: s.with(offLength, uint32(len(s.data)+4)), want: "truncated",
			differs: "header length"},
		{name: "length smaller than the image", data: s.with(offLength, uint32(len(s.data)-4))},
		{name: "length smaller, no image CRC",
			data: editedImage(t, build(t, synth.Options{NoMIC: true}), false,
				func(p []byte) { p[offLength+3] -= 4 }), want: "malformed", text: "says that the image has",
			differs: "header length"},
		{name: "two info sections", data: s.with(ddr.offset, kindInfo), want: "malformed", text: "second section Image Info"},
		{name: "two GUID sections", data: s.with(ddr.offset, kindGUID), want: "malformed", text: "second section GUID",
			differs: "necessary sections"},
		{name: "no GUID section", data: s.with(guid.offset, 7), want: "malformed", text: "no section GUID",
			differs: "necessary sections"},
		{name: "no info section", data: s.with(s.section(kindInfo).offset, 7), want: "malformed",
			text: "no section Image Info", differs: "necessary sections"},
		{name: "unknown section", data: s.with(ddr.offset, 99)},
		{name: "last pointer 0", data: s.with(last.offset+12, 0)},
		{name: "next pointer behind the file", data: s.withNext(last, 0x100000), want: "truncated"},
		{name: "next pointer back", data: s.withNext(last, 0x108), want: "malformed", text: "next section at 0x108",
			hangs: true},
		{name: "next pointer to itself", data: s.withNext(last, uint32(last.offset)), want: "malformed", text: "next section",
			hangs: true},
		{name: "chain that ends early", data: s.with(s.section(3).offset+12, lastSection), text: "do not belong to it"},
		{name: "boot block of 3 words", data: editedImage(t, s.data, false, func(p []byte) { p[0x3f] = 3 }), want: "malformed",
			text: "boot block of 3 words"},
		{name: "boot block of 16 million words", data: editedImage(t, s.data, false, func(p []byte) { p[0x3d] = 0xff }),
			want: "malformed", text: "boot block of"},
		{name: "section of 4 GiB", data: editedImage(t, s.data, false, func(p []byte) { p[ddr.offset+4] = 0x40 }),
			want: "malformed", text: "section DDR of 0x1"},
		{name: "ROM with another start", data: s.with(s.section(kindROM).offset+sectionHeader, 0)},
	}
}

// balance sets the top byte so that the four bytes add up to zero.
func balance(w uint32) uint32 { return w | uint32(-byte(w>>16)-byte(w>>8)-byte(w))<<24 }

// files are images with something before or behind them, and no images.
func (s *subject) files() []variant {
	d := s.data
	return []variant{
		{name: "padded with ff", data: padTo(d, 0x2000)},
		{name: "padded to the size of a flash", data: padTo(d, 0x200000), text: "size of a flash"},
		{name: "followed by zeros", data: append(bytes.Clone(d), make([]byte, 4096)...), text: "0x1000 bytes follow"},
		{name: "followed by text", data: append(bytes.Clone(d), "abcd"...), text: "0x4 bytes follow"},
		{name: "followed by one byte", data: append(bytes.Clone(d), 0xff), want: "malformed", text: "multiple of 4"},
		{name: "moved to 0x1000", data: append(padTo(nil, 0x1000), d...), want: "not an image"},
		{name: "moved to 0x10000", data: append(padTo(nil, 0x10000), d...), want: "malformed", text: "the image starts here"},
		{name: "moved to its chunk size", data: append(padTo(nil, 0x80000), d...), want: "raw dump"},
		{name: "a second one at the chunk size", data: append(padTo(d, 0x80000), d...), want: "raw dump",
			differs: "raw dump"},
		{name: "configuration behind it in a flash", data: append(padTo(d, 0x1ffffc), "conf"...), want: "raw dump",
			text: "more content", differs: "raw dump"},
		{name: "a second one at 0x10000", data: append(padTo(d, 0x10000), d...), text: "do not belong"},
		{name: "three of them", data: append(padTo(append(padTo(d, 0x10000), d...), 0x20000), d...), want: "malformed",
			text: "third image signature"},
		{name: "empty", data: nil, want: "not an image"},
		{name: "one header word", data: d[:4], want: "not an image"},
		{name: "signature only", data: d[:16], want: "truncated"},
		{name: "erased flash", data: padTo(nil, 0x1000), want: "not an image", text: "erased"},
		{name: "signature erased", data: editedImage(s.t, d, false, func(p []byte) { clear(p[:4]) }), want: "not an image",
			text: "signature was erased"},
		{name: "text", data: []byte(strings.Repeat("[image_info]\n", 4)), want: "not an image", text: "configuration"},
	}
}
