package fwimage

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse_verdicts(t *testing.T) {
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) {
			img, err := parse(v.data)
			if got := errorKind(err); got != v.want {
				t.Fatalf("got %q (%v), want %q", got, err, v.want)
			}
			if err != nil {
				if img != nil || !strings.Contains(err.Error(), v.text) {
					t.Errorf("error %q does not contain %q, or an image came with it", err, v.text)
				}
				return
			}
			all := strings.Join(img.Warnings, "\n")
			if !strings.Contains(all, v.text) || v.text == "" && all != "" {
				t.Errorf("warnings %q, want %q", img.Warnings, v.text)
			}
		})
	}
}

// Every single bit of an image is under a checksum.
func TestParse_finds_every_changed_byte(t *testing.T) {
	s := newSubject(t)
	for off := range s.data {
		for _, mask := range []byte{0x01, 0x80} {
			p := editedImage(t, s.data, false, func(p []byte) { p[off] ^= mask })
			if img, err := parse(p); err == nil || img != nil {
				t.Errorf("byte 0x%x xor %02x was accepted", off, mask)
			}
		}
	}
}

func TestParse_finds_every_truncation(t *testing.T) {
	s := newSubject(t)
	for n := range s.data {
		if _, err := parse(s.data[:n]); err == nil {
			t.Errorf("accepted when cut to 0x%x bytes", n)
		}
	}
	cut := s.section(kindInfo)
	_, err := parse(s.data[:cut.offset+0x20])
	if want := fmt.Sprintf("truncated image: Image Info at 0x%x ends at 0x%x, but only 0x%x bytes are there", cut.offset,
		cut.end(), cut.offset+0x20); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestParse_says_where_the_CRC_is_wrong(t *testing.T) {
	s := newSubject(t)
	ddr := s.section(1)
	_, err := parse(editedImage(t, s.data, false, func(p []byte) { p[ddr.offset+0x40] ^= 1 }))
	if says := fmt.Sprintf("wrong CRC in DDR at 0x%x: ", ddr.offset); errorKind(err) != "CRC DDR" ||
		!strings.Contains(err.Error(), says) {
		t.Errorf("got %v", err)
	}
}
