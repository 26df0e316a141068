package fwimage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// capture is what mstflint 4.21 says of one file of testdata.
type capture struct {
	Mstflint map[string]struct {
		RC  int    `json:"rc"`
		Out string `json:"out"`
	} `json:"mstflint"`
}

func captures(t *testing.T) map[string]capture {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "mstflint-output.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]capture
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// fields parses the output of `mstflint q full`: repeated labels and
// continuation lines are appended to a list.
func fields(out string) map[string][]string {
	f, label := map[string][]string{}, ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			l, _, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			label = l
			line = line[len(l)+1:]
		}
		f[label] = append(f[label], strings.TrimSpace(line))
	}
	return f
}

// compareFields checks every field that mstflint prints of an image.
func compareFields(t *testing.T, img *Image, out string) {
	t.Helper()
	if img.Format != FS2 {
		compareTOCFields(t, img, out)
		return
	}
	f := fields(out)
	want := func(label, value string) {
		t.Helper()
		if got := strings.Join(f[label], "|"); got != value {
			t.Errorf("%s: mstflint says %q, here %q", label, got, value)
		}
	}
	want("Image type", string(img.Format))
	want("FW Version", img.FWVersion.String())
	want("FW Release Date", toolDate(img.ReleaseDate))
	want("Product Version", img.ProductVersion)
	want("PRS Name", img.PRSName)
	want("PSID", img.PSID.String())
	if img.DeviceType != 0 {
		want("Device ID", fmt.Sprint(img.DeviceType))
	}
	var roms []string
	for _, r := range img.ROMs {
		s := "type=" + r.Type + " version=" + r.Version
		if r.CPU != "" {
			s += " cpu=" + r.CPU
		}
		roms = append(roms, s)
	}
	want("Rom Info", strings.Join(roms, "|"))
	g := img.GUIDs
	guids := g.Node.Hex() + " " + g.Port1.Hex() + " " + g.Port2.Hex() + " " + g.SystemImage.Hex()
	if len(f["MACs"]) == 0 {
		guids += " -W- Cannot get MAC address: Expecting 6 entries in guid section, got 4. Probably an old FW image. Please update."
	}
	want("GUIDs", guids)
	if len(f["MACs"]) != 0 {
		want("MACs", g.MAC1.Hex()+"     "+g.MAC2.Hex())
	}
}

// toolDate turns 2017-09-05 into 5.9.2017.
func toolDate(iso string) string {
	var y, m, d int
	if _, err := fmt.Sscanf(iso, "%d-%d-%d", &y, &m, &d); err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", d, m, y)
}

func TestParse_samples(t *testing.T) {
	all := captures(t)
	for _, name := range []string{"fs2-cx3pro-en.bin", "fs2-cx3pro-vpi.bin", "fs2-cx3.bin", "fs3-cx4.bin", "fs4-cx5.bin"} {
		t.Run(name, func(t *testing.T) {
			img, err := parse(sample(t, name))
			if err != nil {
				t.Fatal(err)
			}
			c := all[name].Mstflint
			compareFields(t, img, c["q full"].Out)
			if want := "Checksum: " + img.Checksum; !strings.Contains(c["checksum"].Out, want) {
				t.Errorf("mstflint says %q, here %q", c["checksum"].Out, want)
			}
			for _, s := range img.sections {
				want := fmt.Sprintf("/0x%08x-0x%08x (0x%06x)/ (%s) - ", s.offset, s.end()-1, s.size, s.name())
				if !strings.Contains(c["v"].Out, want) {
					t.Errorf("mstflint does not say %q", want)
				}
			}
			end := int64(len(sample(t, name)))
			if img.Format == FS3 {
				end = 0x1f140 // the rest of the last sector is erased
			}
			if len(img.Warnings) != 0 || img.HeaderCRC != (img.Format != FS3) ||
				img.End != end {
				t.Errorf("got %+v", img)
			}
		})
	}
}

func TestParse_sample_details(t *testing.T) {
	pro, a0, a1 := ib.HWID{ID: 0x1f7}, ib.HWID{ID: 0x1f5}, ib.HWID{ID: 0x1f5, Rev: 1}
	for name, c := range map[string]struct {
		identity Identity
		chunk    int64
		fits     []ib.HWID
		not      []ib.HWID
	}{
		"fs2-cx3pro-en.bin":  {IdentityPlaceholder, 0, []ib.HWID{pro}, []ib.HWID{a0, a1, {ID: 0x1f7, Rev: 1}, {}}},
		"fs2-cx3pro-vpi.bin": {IdentityUnique, 0x80000, []ib.HWID{pro}, []ib.HWID{a0, a1}},
		"fs2-cx3.bin":        {IdentityUnique, 0x80000, []ib.HWID{a0, a1}, []ib.HWID{pro, {ID: 0x1f5, Rev: 2}}},
		"fs3-cx4.bin":        {IdentityUnique, 0x20000, []ib.HWID{{ID: 0x209}}, []ib.HWID{pro, a0, {ID: 0x20d}}},
		"fs4-cx5.bin": {IdentityUnique, 0x20000, []ib.HWID{{ID: 0x20d}},
			[]ib.HWID{pro, a0, {ID: 0x209}, {ID: 0x20d, Rev: 1}}},
	} {
		img, err := parse(sample(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if img.Identity != c.identity || img.Chunk != c.chunk || img.Failsafe != (c.chunk != 0) {
			t.Errorf("%s: %s, chunk 0x%x, failsafe %v", name, img.Identity, img.Chunk, img.Failsafe)
		}
		for _, hw := range c.fits {
			if !slices.Contains(img.HWIDs, hw) {
				t.Errorf("%s does not fit %v", name, hw)
			}
		}
		for _, hw := range c.not {
			if slices.Contains(img.HWIDs, hw) {
				t.Errorf("%s fits %v", name, hw)
			}
		}
	}
}

func TestParse_names_formats_it_cannot_verify(t *testing.T) {
	fs4 := sample(t, "fs4-cx5.bin")
	fs5 := editedImage(t, fs4, false, func(p []byte) { p[formatByteFS4] = 2 })
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"FS5":     {fs5, "unsupported FS5"},
		"unknown": {editedImage(t, fs4, false, func(p []byte) { p[formatByteFS4] = 9 }), "malformed"},
		"cut FS4": {fs4[:16], "truncated"},
	} {
		if _, err := parse(c.data); errorKind(err) != c.want {
			t.Errorf("%s: Parse gives %v", name, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	ones := ib.GUIDSet{Node: ^ib.GUID(0), Port1: ^ib.GUID(0), Port2: ^ib.GUID(0), SystemImage: ^ib.GUID(0),
		MAC1: 1<<48 - 1, MAC2: 1<<48 - 1}
	en := ones
	en.MAC1, en.MAC2 = 0xe41d2ddd7850, 0xe41d2ddd7851
	mixed := synth.Placeholder()
	mixed.Node = 0xe41d2d0300e44ed0
	guidsOnly := synth.Placeholder()
	guidsOnly.MAC1, guidsOnly.MAC2 = 0, 0
	for name, c := range map[string]struct {
		guids ib.GUIDSet
		want  Identity
	}{
		"zeros": {ib.GUIDSet{}, IdentityNone}, "ones": {ones, IdentityNone}, "Ethernet-only card": {en, IdentityUnique},
		"distribution": {synth.Placeholder(), IdentityPlaceholder}, "distribution without MACs": {guidsOnly,
			IdentityPlaceholder},
		"distribution with one real GUID": {mixed, IdentityUnique}, "backup": {unique(), IdentityUnique},
	} {
		if got := identityOf(c.guids); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestChecksum_leaves_out_the_identity(t *testing.T) {
	rom := []synth.ROM{{Product: synth.ProductPXE, Major: 3}}
	base := synth.Options{ROMs: rom, Chunk: 1 << 19, Payload: 1000}
	with := func(change func(o *synth.Options)) *Image {
		o := base
		change(&o)
		img, err := parse(build(t, o))
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	a := with(func(*synth.Options) {})
	for name, c := range map[string]struct {
		b    *Image
		same bool
	}{
		"identity": {with(func(o *synth.Options) { o.GUIDs, o.VSD = unique(), "other" }), true},
		"blank":    {with(func(o *synth.Options) { o.Blank = true }), true},
		"no ROM":   {with(func(o *synth.Options) { o.ROMs = nil }), false},
		"ROM":      {with(func(o *synth.Options) { o.ROMs = []synth.ROM{{Product: synth.ProductPXE, Major: 4}} }), false},
		"PSID":     {with(func(o *synth.Options) { o.PSID = "MT_9200111023" }), false},
		"version":  {with(func(o *synth.Options) { o.Version.Sub++ }), false},
		"hw ids":   {with(func(o *synth.Options) { o.HWIDs = []ib.HWID{{ID: 0x1f5}} }), false},
		"code":     {with(func(o *synth.Options) { o.Seed = 1 }), false},
		"size":     {with(func(o *synth.Options) { o.Payload += 4 }), false},
		"failsafe": {with(func(o *synth.Options) { o.Chunk = 0 }), false},
		"name":     {with(func(o *synth.Options) { o.PRSName = "synthetic.prx" }), false},
	} {
		if (a.Checksum == c.b.Checksum) != c.same {
			t.Errorf("%s: checksums %s and %s", name, a.Checksum, c.b.Checksum)
		}
	}
}

func TestParse_reading_fails(t *testing.T) {
	data := build(t, synth.Options{})
	broken := errors.New("input/output error")
	r := &failingReader{data: data, after: 600, err: broken}
	if _, err := Parse(r, int64(len(data))); !errors.Is(err, broken) || !strings.Contains(err.Error(), "offset 600") {
		t.Errorf("got %v", err)
	}
	if _, err := Parse(bytes.NewReader(data), int64(len(data)+4)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is shorter than stated: %v", err)
	}
	if err := iotest.TestReader(bytes.NewReader(data), data); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(bytes.NewReader(data), maxSize+4); err == nil || errorKind(err) != "not an image" {
		t.Errorf("a file that is too large: %v", err)
	}
}

// failingReader fails behind an offset, as a bad disk does.
type failingReader struct {
	data  []byte
	after int
	err   error
}

func (r *failingReader) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, r.data[min(int(off), r.after):r.after])
	if n < len(p) {
		return n, r.err
	}
	return n, nil
}

func BenchmarkParse16MiB(b *testing.B) {
	large := func(o *synth.TOCOptions) { o.Size, o.SlotBits, o.Payload = 16<<20, 24, 16<<20-0x20000 }
	for format, data := range map[Format][]byte{
		FS2: build(b, synth.Options{Chunk: 1 << 23, Payload: 16<<20 - 8192, GUIDs: unique()}),
		FS3: buildTOC(b, FS3, large),
		FS4: buildTOC(b, FS4, large),
	} {
		b.Run(string(format), func(b *testing.B) {
			r := bytes.NewReader(data)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Parse(r, int64(len(data))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
