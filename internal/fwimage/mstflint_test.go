package fwimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// tool runs the real mstflint on files that a test makes.
type tool struct {
	path string
	file string
	// patience is how long it may run; it usually takes 5 ms.
	patience time.Duration
}

// newTool skips where there is no mstflint: the captures in testdata and the
// verdicts in variants_test.go stand in for it there.
func newTool(t *testing.T) *tool {
	t.Helper()
	path := realtool.Path(t, "mstflint")
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "4.21.") {
		t.Skipf("the differences are those from mstflint 4.21, this is %q", out)
	}
	return &tool{path: path, file: filepath.Join(t.TempDir(), "image.bin"), patience: 10 * time.Second}
}

var errHangs = errors.New("mstflint does not end")

// compare holds that the package and the tool read the same in an image.
func (m *tool) compare(t *testing.T, data []byte) {
	t.Helper()
	img, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.run(t, data, "q", "full")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compareFields(t, img, out)
}

func (m *tool) run(t *testing.T, data []byte, args ...string) (string, error) {
	t.Helper()
	if err := os.WriteFile(m.file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), m.patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, m.path, append([]string{"-i", m.file}, args...)...).CombinedOutput()
	if ctx.Err() != nil {
		return "", errHangs
	}
	return string(out), err
}

// intendedDifferences are those in the package comment, by their key there.
func intendedDifferences(t *testing.T) map[string]bool {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//   - ([^:]+): `).FindAllStringSubmatch(string(doc), -1) {
		seen[m[1]] = false
	}
	if len(seen) < 5 {
		t.Fatalf("found only %d differences in doc.go", len(seen))
	}
	return seen
}

// TestParse_agrees_with_mstflint compares the verdict on several hundred
// changed images, and the checksum of those that both accept.
func TestParse_agrees_with_mstflint(t *testing.T) {
	m := newTool(t)
	differences := intendedDifferences(t)
	all := append(append(variants(t), changedBytes(t)...), tocChangedBytes(t)...)
	same, differ := 0, 0
	count := map[string]int{}
	for _, v := range all {
		format := v.name[:3]
		if format != string(FS3) && format != string(FS4) {
			format = string(FS2)
		}
		count[format]++
		img, err := parse(v.data)
		patience := m.patience
		if v.hangs {
			m.patience = time.Second / 2
		}
		out, toolErr := m.run(t, v.data, "v")
		m.patience = patience
		if errors.Is(toolErr, errHangs) != v.hangs {
			t.Errorf("%s: hangs: %v", v.name, toolErr)
		}
		agree := (err == nil) == (toolErr == nil)
		if agree != (v.differs == "") {
			t.Errorf("%s: here %v, mstflint %v, intended difference %q\n%s", v.name, err, toolErr, v.differs, out)
		}
		if !agree {
			differ++
			if _, known := differences[v.differs]; !known {
				t.Errorf("%s: difference %q is not in the package comment", v.name, v.differs)
			}
			differences[v.differs] = true
			continue
		}
		same++
		if err == nil {
			compareChecksum(t, m, v, img)
		}
	}
	for name, seen := range differences {
		if !seen {
			t.Errorf("the package comment has a difference %q that no variant shows", name)
		}
	}
	t.Logf("%d images (%v): same verdict on %d, intended difference on %d", len(all), count, same, differ)
	for _, format := range []Format{FS2, FS3, FS4} {
		if count[string(format)] < 150 {
			t.Errorf("only %d %s images", count[string(format)], format)
		}
	}
}

func compareChecksum(t *testing.T, m *tool, v variant, img *Image) {
	t.Helper()
	out, err := m.run(t, v.data, "checksum")
	if err != nil || !strings.Contains(out, "Checksum: "+img.Checksum+"\n") {
		t.Errorf("%s: checksum here %s, mstflint %v %s", v.name, img.Checksum, err, out)
	}
}

// changedBytes flips a bit at every place of interest of an image and cuts it
// at every border.
func changedBytes(t *testing.T) []variant {
	s := newSubject(t)
	var vs []variant
	add := func(name string, off int64, differs string) {
		vs = append(vs, variant{
			name: fmt.Sprintf("%s, byte 0x%x", name, off), differs: differs,
			data: editedImage(t, s.data, false, func(p []byte) { p[off] ^= 0x10 }),
		})
	}
	for off := range int64(headerFS2) {
		// mstflint prints a wrong image CRC, and nothing else protects these.
		onlyImageCRC := off >= 0x10 && off < offFailsafe || off >= offLength && off < offGUIDPtr
		add("header", off, map[bool]string{true: "image CRC"}[onlyImageCRC])
	}
	for _, sec := range s.img.sections {
		for _, off := range []int64{0, 3, 4, 7, 8, 11, 12, 15, 16, 20, sec.size / 2, sec.size - 4, sec.size - 1} {
			add(sec.name(), sec.offset+off, "")
		}
		for _, cut := range []int64{sec.offset, sec.offset + 4, sec.offset + 16, sec.end() - 4} {
			vs = append(vs, variant{name: fmt.Sprintf("%s cut at 0x%x", sec.name(), cut), data: s.data[:cut]})
		}
	}
	return vs
}

// TestParse_reads_what_mstflint_prints compares fields on images that are not
// in testdata.
func TestParse_reads_what_mstflint_prints(t *testing.T) {
	m := newTool(t)
	for name, o := range map[string]synth.Options{
		"HPE": {PSID: "HP_9370110017", Version: ib.FWVersion{Major: 2, Minor: 42, Sub: 5700}, Chunk: 1 << 19,
			VSD: "HP544", GUIDs: unique()},
		"old version": {PSID: "DEL9100001019", Version: ib.FWVersion{Major: 2, Minor: 9, Sub: 55},
			HWIDs: []ib.HWID{{ID: 0x1f5}}, Chunk: 1 << 20, GUIDs: unique()},
		"large minor": {PSID: "MT_9000000000", Version: ib.FWVersion{Major: 2, Minor: 142, Sub: 5},
			GUIDs: synth.Placeholder()},
		"all ROMs": {PSID: "MT_9090111019", ROMs: []synth.ROM{
			{Product: synth.ProductUEFI, Major: 14, CPU: 3},
			{Product: synth.ProductCLP, Major: 8, Minor: 1, Sub: 2},
			{Product: synth.ProductPXE, Major: 3, Minor: 4, Sub: 752, CPU: 1},
		}},
		"no MACs":   {PSID: "MT_9090111019", OldGUID: true, GUIDs: unique()},
		"bare":      {PSID: "MT_9090111019", BareInfo: true},
		"long text": {PSID: "MT_9090111019", PRSName: strings.Repeat("x", 120), VSD: strings.Repeat("v", 207)},
	} {
		t.Run(name, func(t *testing.T) {
			m.compare(t, build(t, o))
		})
	}
}

// TestParse_reads_what_mstflint_prints_of_later_formats does so for FS3 and
// FS4, among them those whose GUIDs were set after the card was made.
func TestParse_reads_what_mstflint_prints_of_later_formats(t *testing.T) {
	m := newTool(t)
	for name, change := range map[string]func(o *synth.TOCOptions){
		"plain": nil,
		"OEM": func(o *synth.TOCOptions) {
			o.PSID, o.OrigPSID, o.OrigPRSName = "DEL9000000033", "MT_9140110023", "original.prs"
		},
		"other GUIDs": func(o *synth.TOCOptions) {
			o.OrigGUID, o.OrigMAC = &synth.Range{Base: 0xec0d9a0300d50000, Count: 8}, &synth.Range{Base: 0xec0d9ad50000,
				Count: 8}
		},
		"no GUIDs":    func(o *synth.TOCOptions) { o.GUID, o.MAC = synth.Range{}, synth.Range{} },
		"Connect-IB":  func(o *synth.TOCOptions) { o.PerPort, o.GUID.Step, o.MAC.Step = true, 1, 0 },
		"secure":      func(o *synth.TOCOptions) { o.Signature, o.Flags, o.SecurityVersion = true, 0xc100, 3 },
		"signed, dev": func(o *synth.TOCOptions) { o.Signature, o.Flags, o.DevKey = true, 0x6100, true },
		"not signed":  func(o *synth.TOCOptions) { o.Flags = 0xe100 },
		"not through": func(o *synth.TOCOptions) { o.Signature, o.Flags = true, 0xe000 },
		"ISSU":        func(o *synth.TOCOptions) { o.ISSU = 0xfff },
		"old info":    func(o *synth.TOCOptions) { o.InfoMinor = 1 },
		"long texts": func(o *synth.TOCOptions) {
			o.PRSName, o.PartNumber, o.Description = strings.Repeat("p", 128), strings.Repeat("n", 64), strings.Repeat("d", 256)
			o.VSD, o.ImageVSD, o.ProductVersion = strings.Repeat("v", 208), strings.Repeat("i", 208), strings.Repeat("1", 16)
		},
		"short": func(o *synth.TOCOptions) { o.ROMs, o.VSD, o.ImageVSD, o.Description = nil, "", "", "" },
	} {
		for _, format := range []Format{FS3, FS4} {
			t.Run(string(format)+" "+name, func(t *testing.T) {
				m.compare(t, buildTOC(t, format, change))
			})
		}
	}
}
