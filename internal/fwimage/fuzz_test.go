package fwimage

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// seeds are small, so that the fuzzer is fast.
func seeds(f *testing.F) {
	for _, name := range []string{"fs2-cx3pro-en.bin", "fs2-cx3pro-vpi.bin", "fs2-cx3.bin"} {
		f.Add(sample(f, name))
	}
	for _, v := range variants(f) {
		if len(v.data) < 1<<14 {
			f.Add(v.data)
		}
	}
	image := build(f, synth.Options{Chunk: 1 << 16, GUIDs: unique()})
	f.Add(buildFlash(f, 1<<17, 1<<16, synth.Slot{Image: image, Invalidated: true}, synth.Slot{Image: image}))
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(parseAnything)
}

func FuzzParseFS3(f *testing.F) {
	tocSeeds(f, FS3)
	f.Fuzz(parsePadded)
}

func FuzzParseFS4(f *testing.F) {
	tocSeeds(f, FS4)
	f.Fuzz(parsePadded)
}

// tocSeeds are images without the erased flash between their parts: the fuzzer
// is slow on long inputs.
func tocSeeds(f *testing.F, format Format) {
	for _, change := range []func(o *synth.TOCOptions){
		nil,
		func(o *synth.TOCOptions) { o.PerPort, o.ROMs = true, nil },
		func(o *synth.TOCOptions) { o.Signature, o.SecondTable, o.Flags = true, true, 0xe100 },
		func(o *synth.TOCOptions) { o.Hashes, o.Encrypted = true, true },
		func(o *synth.TOCOptions) { o.Second, o.Size = true, 1<<18 },
	} {
		f.Add(squeeze(buildTOC(f, format, change)))
	}
}

// squeeze leaves the ff at the end of each sector out, and writes before it how
// much is left.
func squeeze(data []byte) []byte {
	var out []byte
	for ; len(data) >= tocSectorBytes; data = data[tocSectorBytes:] {
		sector := data[:tocSectorBytes]
		for len(sector) > 0 && sector[len(sector)-1] == 0xff {
			sector = sector[:len(sector)-1]
		}
		out = append(out, byte(len(sector)>>8), byte(len(sector)))
		out = append(out, sector...)
	}
	return out
}

// unsqueeze makes at most 256 KiB.
func unsqueeze(in []byte) []byte {
	var data []byte
	for len(in) >= 2 && len(data) < 1<<18 {
		n := min((int(in[0])<<8|int(in[1]))%(tocSectorBytes+1), len(in)-2)
		data = append(data, in[2:2+n]...)
		data = append(data, bytes.Repeat([]byte{0xff}, tocSectorBytes-n)...)
		in = in[2+n:]
	}
	return data
}

func parsePadded(t *testing.T, in []byte) { parseAnything(t, unsqueeze(in)) }

func parseAnything(t *testing.T, data []byte) {
	img, err := parse(data)
	checkResult(t, data, img, err)
	// With right CRCs the fuzzer gets past them. Resealing refuses PSIDs that a
	// real board may have.
	if sealed := bytes.Clone(data); synth.Reseal(sealed) == nil {
		img, err = parse(sealed)
		checkResult(t, sealed, img, err)
	}
}

func TestUnsqueeze_restores_the_image(t *testing.T) {
	for _, format := range []Format{FS3, FS4} {
		if data := buildTOC(t, format, nil); !bytes.Equal(unsqueeze(squeeze(data)), data) {
			t.Errorf("%s: not restored", format)
		}
	}
}

// checkResult holds for every input.
func checkResult(t *testing.T, data []byte, img *Image, err error) {
	t.Helper()
	if (img == nil) == (err == nil) {
		t.Fatalf("image %v with error %v", img, err)
	}
	if err != nil {
		if errorKind(err) == "" || !printableASCII(err.Error()) {
			t.Fatalf("error %q", err)
		}
		return
	}
	if img.End > int64(len(data)) || img.End < headerFS2 || len(img.HWIDs) == 0 || img.FWVersion.IsZero() ||
		img.Identity == "" || len(img.Checksum) != 32 {
		t.Fatalf("incomplete: %+v", img)
	}
	if img.PSID != "" {
		if _, err := ib.ParsePSID(img.PSID.String()); err != nil {
			t.Fatal(err)
		}
	}
	texts := []string{img.PRSName, img.ProductVersion, img.ReleaseDate, img.PartNumber}
	for _, s := range append(texts, img.Warnings...) {
		if !printableASCII(s) {
			t.Fatalf("text %q", s)
		}
	}
}

func printableASCII(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' || r == utf8.RuneError {
			return false
		}
	}
	return true
}
