package acctest

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// nextVPI is an image of the lab's VPI board that is newer than what its cards have.
func nextVPI(change func(*card.Spec)) []byte {
	return spec(func(s *card.Spec) {
		s.Version, s.Product = [3]uint16{2, 42, 5800}, "02.42.58.00"
		change(s)
	})
}

// inFlash is the image in the flash of a card.
func (w *Lab) inFlash(host string) *card.Image {
	w.t.Helper()
	img, err := w.Card(host).Flash.Active()
	if err != nil {
		w.t.Fatal(err)
	}
	return img
}

// romVersion is the boot ROM in the flash of a card; empty: none.
func (w *Lab) romVersion(host string) string {
	if roms := w.inFlash(host).ROMs; len(roms) > 0 {
		return roms[0].Version
	}
	return ""
}

// TestBootROM_life burns an image without a boot ROM and one with another: the card keeps its own
// where the vendor's tool does that, has that of the image where the configuration says so, and
// a restore gives back what was there before the first burn, to the byte.
func TestBootROM_life(t *testing.T) {
	t.Parallel()
	without := func(s *card.Spec) { s.NoROM = true }
	other := func(s *card.Spec) { s.ROMSub = 900 }
	for name, c := range map[string]struct {
		had           func(*card.Spec)
		burned        func(*card.Spec)
		bootROM       any
		flash, image  string // what the state says afterwards
		rom, restored string
	}{
		"an image without one":               {func(*card.Spec) {}, without, nil, "PXE 3.4.752", "none", "3.4.752", "3.4.752"},
		"an image without one, keep":         {func(*card.Spec) {}, without, "keep", "PXE 3.4.752", "none", "3.4.752", "3.4.752"},
		"an image without one, of the image": {func(*card.Spec) {}, without, "image", "none", "none", "", "3.4.752"},
		"an image with another":              {func(*card.Spec) {}, other, nil, "PXE 3.4.900", "PXE 3.4.900", "3.4.900", "3.4.752"},
		"a card without one":                 {without, other, "image", "PXE 3.4.900", "PXE 3.4.900", "3.4.900", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi(image(spec(c.had)))})
			ws := w.Workspace()
			extra := map[string]any{"on_destroy": "restore", "allow": nil}
			if c.bootROM != nil {
				extra["boot_rom"] = c.bootROM
			}
			cfg := w.burn(labs.Intel9, w.file("new.bin", nextVPI(c.burned)), extra)
			had := w.inFlash(labs.Intel9).Checksum()
			mustApply(t, ws, cfg)
			const it = "infiniband_firmware.it"
			if got := w.romVersion(labs.Intel9); got != c.rom || ws.Get(it, "flash_boot_rom") != c.flash ||
				ws.Get(it, "image_boot_rom") != c.image {
				t.Errorf("in flash %q; the state has %v, of the image %v", got, ws.Get(it, "flash_boot_rom"),
					ws.Get(it, "image_boot_rom"))
			}
			if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 {
				t.Errorf("there is something to do still: %v", plan.Actions())
			}
			diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, nil))
			if err != nil || diags.HasError() {
				t.Fatalf("destroy: %v\n%s", err, diags)
			}
			if got := w.romVersion(labs.Intel9); got != c.restored || w.inFlash(labs.Intel9).Checksum() != had {
				t.Errorf("restored ROM %q, and checksum %s, had %s", got, w.inFlash(labs.Intel9).Checksum(), had)
			}
		})
	}
}
