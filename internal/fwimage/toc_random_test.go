package fwimage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// randomChanges is how many images of each format the comparison makes; more
// on demand, to look for differences that nobody has thought of.
func randomChanges() int {
	if n, err := strconv.Atoi(os.Getenv("FWIMAGE_RANDOM_IMAGES")); err == nil {
		return n
	}
	return 100
}

// interestingBytes are the bytes whose change is not only a wrong CRC: headers,
// tables, and the sections that are looked into.
func (s *tocSubject) interestingBytes() []int64 {
	var all []int64
	span := func(from, n int64) {
		for off := range n {
			all = append(all, from+off)
		}
	}
	span(0, 0x98)
	span(s.r.bootAt, 8)
	span(s.r.tableAt, tocHeaderBytes)
	for range 4 { // weight
		for _, e := range s.all() {
			span(e.at, tocEntryBytes-2)
		}
	}
	span(s.entry(tocImageInfo).addr, 60)
	span(s.entry(tocImageInfo).addr+264, 40)
	span(s.entry(tocMfgInfo).addr, 48)
	span(s.entry(tocDevInfo).addr, 48)
	if s.format == FS4 {
		span(0x500, toolsBytes)
		span(0x1800, 32)
		span(int64(len(s.data))-tocSectorBytes, tocHeaderBytes)
	}
	return all
}

// interestingBytes are the same of FS2.
func (s *subject) interestingBytes() []int64 {
	var all []int64
	span := func(from, n int64) {
		for off := range n {
			all = append(all, from+off)
		}
	}
	span(0, headerFS2+8)
	for _, sec := range s.img.sections {
		span(sec.offset, sectionHeader)
		if sec.kind == kindInfo || sec.kind == kindGUID {
			span(sec.offset+sectionHeader, sec.size-sectionHeader-4)
		}
	}
	return all
}

// randomImages changes one or two bytes and makes all CRCs right again where
// that is still possible. What mstflint does with memory that it does not own
// cannot be compared; such images are left out.
func randomImages(t testing.TB) []variant {
	rnd := rand.New(rand.NewPCG(3, 4))
	old := newSubject(t)
	vs := randomOf(t, rnd, FS2, old.data, old.interestingBytes())
	for _, format := range []Format{FS3, FS4} {
		s := newTOCSubject(t, format, func(o *synth.TOCOptions) { o.Hashes = format == FS4 })
		vs = append(vs, randomOf(t, rnd, format, s.data, s.interestingBytes())...)
	}
	return vs
}

func randomOf(t testing.TB, rnd *rand.Rand, format Format, image []byte, places []int64) []variant {
	var vs []variant
	for i := range randomChanges() {
		var what string
		p := editedImage(t, image, false, func(p []byte) {
			for range 1 + rnd.IntN(2) {
				off := places[rnd.IntN(len(places))]
				old := p[off]
				switch rnd.IntN(3) {
				case 0:
					p[off] ^= 1 << rnd.IntN(8)
				case 1:
					p[off] = byte(rnd.IntN(4))
				default:
					p[off] = byte(rnd.Uint32())
				}
				what += fmt.Sprintf(" 0x%x: %02x to %02x", off, old, p[off])
			}
			_ = synth.Reseal(p) // if the change leaves a way to
		})
		vs = append(vs, variant{name: fmt.Sprintf("%s random %d,%s", format, i, what), data: p})
	}
	return vs
}

// isIntended tells by its message whether an error is one of the intended
// differences, each of which has a variant of its own.
func isIntended(err error) bool {
	for _, part := range []string{
		"invalid PSID", "firmware version", "no section IMAGE_INFO", "second section", "its content needs",
		"unknown place", "encrypted or damaged image", "HASHES_TABLE at 0x8",
		"no section GUID", "no section Image Info", "image at 0x0 ends at", "wrong CRC in Full Image", "which chips",
		"bytes between two sections",
		"bytes instead of", "second tag", "does not fit into the info section", "section GUID is at", "Image Info is at",
	} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

func TestParse_agrees_with_mstflint_on_random_changes(t *testing.T) {
	m := newTool(t)
	same, differ := 0, 0
	for _, v := range randomImages(t) {
		img, err := parse(v.data)
		out, toolErr := m.run(t, v.data, "v")
		if errors.Is(toolErr, errHangs) && err != nil {
			differ++ // a chain that loops
			continue
		}
		if (err == nil) == (toolErr == nil) {
			same++
			if err == nil {
				compareChecksum(t, m, v, img)
			}
			continue
		}
		differ++
		if err == nil || !isIntended(err) {
			t.Errorf("%s: here %v, mstflint %v\n%s", v.name, err, toolErr, out)
		}
	}
	t.Logf("same verdict on %d, intended difference on %d", same, differ)
}
