package fwimage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// searchOffsets are the only places where an image may start; mstflint 4.21
// looks at these, newer ones also at the last.
var searchOffsets = []int64{
	0, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000, 0x400000, 0x800000, 0x1000000, 0x2000000,
}

const (
	magicFS23 = "MTFW\x8c\xdf\xd0\x00\xde\xad\x92\x70\x41\x54\xbe\xef"
	magicFS4  = "MTFW\xab\xcd\xef\x00\xfa\xde\x12\x34\x56\x78\xde\xad"
	magicLen  = 16

	// A byte behind the signature tells the formats apart that share one.
	formatByteFS23 = 0x24
	formatByteFS4  = 0x10
)

// location is where the signatures of a file are, lowest first.
type location struct {
	format  Format
	offsets []int64
}

func (l location) first() int64 { return l.offsets[0] }

func locate(data []byte) (location, error) {
	fs4, fs23 := findMagic(data, magicFS4), findMagic(data, magicFS23)
	switch {
	case len(fs4) > 0:
		// The newer format wins, as in mstflint.
		f, err := formatFS4(data, fs4[0])
		return location{format: f, offsets: fs4}, err
	case len(fs23) == 0:
		return location{}, noSignature(data)
	}
	at := fs23[0] + formatByteFS23
	if at >= int64(len(data)) {
		return location{}, truncated("header", fs23[0], fs23[0]+headerFS2, int64(len(data)))
	}
	if data[at] == 3 {
		return location{format: FS3, offsets: fs23}, nil
	}
	if len(fs23) > 2 {
		return location{}, badFormat(fs23[2], "third image signature (%s): at most two belong into a flash", hexList(fs23))
	}
	return location{format: FS2, offsets: fs23}, nil
}

func formatFS4(data []byte, start int64) (Format, error) {
	at := start + formatByteFS4
	if at >= int64(len(data)) {
		return "", truncated("header", start, at+1, int64(len(data)))
	}
	switch v := data[at]; v {
	case 1:
		return FS4, nil
	case 2:
		return FS5, nil
	default:
		return "", badFormat(at, "unknown format version %d behind an FS4 signature", v)
	}
}

func findMagic(data []byte, magic string) []int64 {
	var found []int64
	for _, off := range searchOffsets {
		if off+magicLen <= int64(len(data)) && bytes.HasPrefix(data[off:], []byte(magic)) {
			found = append(found, off)
		}
	}
	return found
}

// hasErasedMagic reports whether an image was invalidated at off: the last
// step of a burn zeroes the first word of the image in the other slot.
func hasErasedMagic(data []byte, off int64) bool {
	if off+magicLen > int64(len(data)) || binary.BigEndian.Uint32(data[off:]) != 0 {
		return false
	}
	tail := string(data[off+4 : off+magicLen])
	return tail == magicFS23[4:] || tail == magicFS4[4:]
}

func hexList(offsets []int64) string {
	var s []string
	for _, o := range offsets {
		s = append(s, fmt.Sprintf("0x%x", o))
	}
	return strings.Join(s, ", ")
}

// noSignature explains a file without any image signature.
func noSignature(data []byte) error {
	if allBytes(data, 0xff) || allBytes(data, 0) {
		return notAnImage(KindErased, "every byte is the same: there is no firmware in it")
	}
	for _, off := range searchOffsets {
		if hasErasedMagic(data, off) {
			return notAnImage(KindInvalidated, "nothing in it would boot; use another backup or image")
		}
	}
	return notAnImage(KindUnknown, "no signature of a firmware image was found at any place where one may be")
}
