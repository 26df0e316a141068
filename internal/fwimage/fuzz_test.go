package fwimage

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage/synth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := parse(data)
		checkResult(t, data, img, err)
		// With right CRCs the fuzzer gets past them. Resealing refuses PSIDs
		// that a real board may have.
		if sealed := bytes.Clone(data); synth.Reseal(sealed) == nil {
			img, err = parse(sealed)
			checkResult(t, sealed, img, err)
		}
	})
}

func FuzzParseFlash(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		flash, err := parseFlash(data)
		if err == nil && (flash == nil || flash.Active == nil || flash.ActiveSlot < 0) {
			t.Fatalf("success without an active image: %+v", flash)
		}
		if err != nil {
			_ = err.Error()
			return
		}
		checkResult(t, data, flash.Active, nil)
	})
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
	if img.End > int64(len(data)) || img.End < headerFS2 || img.Format != FS2 || len(img.HWIDs) == 0 || img.FWVersion.IsZero() || img.Identity == "" || len(img.Checksum) != 32 {
		t.Fatalf("incomplete: %+v", img)
	}
	if img.PSID != "" {
		if _, err := ib.ParsePSID(img.PSID.String()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range append([]string{img.VSD, img.PRSName, img.ProductVersion, img.ReleaseDate}, img.Warnings...) {
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
