package fwimage

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// compareTOCFields checks every field that mstflint prints of an FS3 or FS4
// image.
func compareTOCFields(t *testing.T, img *Image, out string) {
	t.Helper()
	f := fields(out)
	var roms []string
	for _, r := range img.ROMs {
		s := "type=" + r.Type + " version=" + r.Version
		if r.CPU != "" {
			s += " cpu=" + r.CPU
		}
		roms = append(roms, s)
	}
	want := map[string]string{
		"Image type": string(img.Format), "FW Version": img.FWVersion.String(), "FW Release Date": toolDate(img.ReleaseDate),
		"PRS Name": img.PRSName, "Part Number": img.PartNumber, "Product Version": img.ProductVersion,
		"Rom Info": strings.Join(roms, "|"), "PSID": img.PSID.String(),
		"Security Attributes": img.Security.Attributes(), "Default Update Method": img.Security.UpdateMethod(),
	}
	if img.Format == FS4 {
		want["Security Ver"] = strconv.FormatUint(uint64(img.Security.Version), 10)
	}
	for label, value := range want {
		if got := strings.Join(f[label], "|"); got != value {
			t.Errorf("%s: mstflint says %q, here %q", label, got, value)
		}
		delete(f, label)
	}
	compareAddresses(t, f, img.GUIDs)
	for label, value := range f {
		if !slices.Contains(unread, label) {
			t.Errorf("mstflint says %s: %q, here nothing", label, value)
		}
	}
}

// unread are the labels of mstflint that decide nothing, so that they are not read.
var unread = []string{"MIC Version", "Orig PRS Name", "Description", "Image VSD", "Device VSD", "Orig PSID",
	"FW ISSU Version", "Orig Base GUID", "Orig Base MAC", "Orig Base GUID1", "Orig Base GUID2", "Orig Base MAC1",
	"Orig Base MAC2"}

// compareAddresses compares the bases of the ranges, of which Connect-IB has one for each port.
func compareAddresses(t *testing.T, f map[string][]string, g ib.GUIDSet) {
	t.Helper()
	bases := map[string]string{"Base GUID": g.Node.Hex(), "Base MAC": g.MAC1.Hex()}
	if len(f["Base GUID2"]) > 0 {
		bases = map[string]string{"Base GUID1": g.Node.Hex(), "Base GUID2": g.Port2.Hex(),
			"Base MAC1": g.MAC1.Hex(), "Base MAC2": g.MAC2.Hex()}
	}
	for label, base := range bases {
		if strings.Trim(base, "0") == "" {
			base = "N/A"
		}
		if got := strings.Join(f[label], "|"); !strings.HasPrefix(got, base+" ") {
			t.Errorf("%s: mstflint says %q, here %q", label, got, base)
		}
		delete(f, label)
	}
}

// What is under a checksum cannot change unnoticed: the header of FS4, the boot
// block, the tables, the sections with a CRC.
func TestParse_finds_changed_bytes_of_later_formats(t *testing.T) {
	for _, format := range []Format{FS3, FS4} {
		s := newTOCSubject(t, format, nil)
		var covered []int64
		span := func(from, n int64) {
			for off := range n {
				covered = append(covered, from+off)
			}
		}
		span(s.r.bootAt, s.r.bootBytes)
		span(s.r.tableAt, tocHeaderBytes-4)
		if format == FS4 {
			span(0x18, pointerCount*pointerBytes)
			span(0x500, toolsBytes-4)
			span(int64(len(s.data))-tocSectorBytes, tocHeaderBytes-4)
		}
		for _, e := range s.all() {
			span(e.at, tocEntryBytes-4)
			span(e.at+tocEntryBytes-2, 2)
			if e.mode == crcInEntry {
				span(e.addr, e.size)
			}
		}
		p := bytes.Clone(s.data)
		for _, off := range covered {
			p[off] ^= 0x01
			if img, err := parse(p); err == nil || img != nil {
				t.Errorf("%s: byte 0x%x was changed unnoticed", format, off)
			}
			p[off] ^= 0x01
		}
	}
}

func TestParse_says_where_a_section_is_wrong(t *testing.T) {
	s := newTOCSubject(t, FS4, nil)
	e := s.entry(0x12)
	_, err := parse(s.raw(func(p []byte) { p[e.addr+5] ^= 1 }))
	if says := fmt.Sprintf("wrong CRC in FW_MAIN_CFG at 0x%x: ", e.addr); errorKind(err) != "CRC FW_MAIN_CFG" ||
		!strings.Contains(err.Error(), says) || !strings.HasSuffix(err.Error(), fmt.Sprintf("says 0x%04x", e.crc)) {
		t.Errorf("got %v", err)
	}
}

func TestParse_escapes_texts_of_later_formats(t *testing.T) {
	for _, format := range []Format{FS3, FS4} {
		img, err := parse(buildTOC(t, format, func(o *synth.TOCOptions) {
			o.ProductVersion, o.PartNumber, o.PRSName = "a\x1b[31m\xff", "d\r\n", "e\x7f"
		}))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{img.ProductVersion, img.PartNumber, img.PRSName}
		if strings.Join(got, " ") != `a\x1b[31m\xff d\x0d\x0a e\x7f` {
			t.Errorf("got %q", got)
		}
	}
}

func TestChecksum_leaves_out_the_identity_of_later_formats(t *testing.T) {
	for _, format := range []Format{FS3, FS4} {
		with := func(change func(o *synth.TOCOptions)) *Image {
			img, err := parse(buildTOC(t, format, change))
			if err != nil {
				t.Fatal(err)
			}
			return img
		}
		a := with(nil)
		for name, c := range map[string]struct {
			b    *Image
			same bool
		}{
			"identity": {with(func(o *synth.TOCOptions) {
				o.GUID.Base, o.MAC.Base, o.VSD = 0x1c34da0300000000, 0x1c34da000000, "other"
			}), true},
			"origin":     {with(func(o *synth.TOCOptions) { o.OrigPSID, o.LockGUIDs = "MT_9140110099", true }), true},
			"flash size": {with(func(o *synth.TOCOptions) { o.Size = 1 << 17 }), true},
			"no ROM":     {with(func(o *synth.TOCOptions) { o.ROMs = nil }), false},
			"ROM":        {with(func(o *synth.TOCOptions) { o.ROMs[0].Major++ }), false},
			"PSID":       {with(func(o *synth.TOCOptions) { o.PSID = "MT_9140110099" }), false},
			"version":    {with(func(o *synth.TOCOptions) { o.Version = ib.FWVersion{Major: 12, Minor: 28, Sub: 1} }), false},
			"code":       {with(func(o *synth.TOCOptions) { o.Seed = 1 }), false},
			"more code":  {with(func(o *synth.TOCOptions) { o.Payload = 4 }), false},
			"slots":      {with(func(o *synth.TOCOptions) { o.SlotBits = 20 }), false},
			"part":       {with(func(o *synth.TOCOptions) { o.PartNumber = "OTHER" }), false},
			"signature":  {with(func(o *synth.TOCOptions) { o.Signature = true }), false},
		} {
			if (a.Checksum == c.b.Checksum) != c.same {
				t.Errorf("%s %s: checksums %s and %s", format, name, a.Checksum, c.b.Checksum)
			}
		}
	}
	fs4 := buildTOC(t, FS4, func(o *synth.TOCOptions) { o.SecurityVersion = 1 })
	a, errA := parse(fs4)
	b, errB := parse(buildTOC(t, FS4, nil))
	if errA != nil || errB != nil || a.Checksum == b.Checksum {
		t.Errorf("security version: %v, %v, or the same", errA, errB)
	}
}

// A flash never passes for an image.
func TestParse_refuses_a_flash_of_later_formats(t *testing.T) {
	const slot = 1 << 17
	for _, format := range []Format{FS3, FS4} {
		first := buildTOC(t, format, func(o *synth.TOCOptions) { o.Size = 2 * slot })
		second := buildTOC(t, format, func(o *synth.TOCOptions) {
			o.Size, o.Second, o.Version = 2*slot, true, ib.FWVersion{Major: 16, Minor: 9, Sub: 1}
		})
		both := append(bytes.Clone(first[:slot]), second[slot:]...)
		cut := func(off int, n int) []byte {
			return editedImage(t, both, false, func(p []byte) {
				if n == 4 {
					clear(p[off:][:4])
				} else {
					copy(p[off:], bytes.Repeat([]byte{0xff}, n))
				}
			})
		}
		for name, c := range map[string]struct {
			data []byte
			err  string
		}{
			"only the first, padded": {first, ""},
			"only the second":        {second, "raw dump"},
			"second over first":      {cut(0, 4), "raw dump"},
			"first over second":      {cut(slot, 4), "raw dump"},
			"interrupted":            {cut(slot, 16), ""}, // what follows is a remark
			"both":                   {both, "raw dump"},
			"a file of one slot":     {buildTOC(t, format, nil), ""},
			"damaged": {editedImage(t, second, false, func(p []byte) { p[slot+0x4010] ^= 1; p[slot+0x3010] ^= 1 }),
				"raw dump"},
		} {
			if _, err := parse(c.data); errorKind(err) != c.err {
				t.Errorf("%s %s: %v", format, name, err)
			}
		}
	}
}

func TestPointerCRC_vectors(t *testing.T) {
	for addr, want := range map[uint32]uint16{0x1000: 0xeb67, 0x500: 0x8359, 0x2000: 0xd6cf, 0: 0} {
		p := make([]byte, pointerBytes)
		putWord(p, 0, addr)
		if got := pointerCRC(p); got != want {
			t.Errorf("%x: %04x, want %04x", addr, got, want)
		}
	}
}
