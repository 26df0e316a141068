package fwimage

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

// A raw dump must never pass for an image: mstflint reads the stale slot of
// this one and says that all is well.
func TestParse_refuses_a_raw_dump(t *testing.T) {
	_, err := parse(sample(t, "fs2-flash-4m.bin.gz"))
	if errorKind(err) != "raw dump" {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"0x80000", "mstflint -d DEVICE ri FILE"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func TestParse_refuses_a_flash(t *testing.T) {
	const chunk, size = 1 << 16, 1 << 20
	old := build(t, synth.Options{Chunk: chunk, GUIDs: unique()})
	young := build(t, synth.Options{Chunk: chunk, Payload: 200_000, Version: ib.FWVersion{Major: 2, Minor: 40, Sub: 7000},
		GUIDs: unique()})
	damaged := editedImage(t, young, false, func(p []byte) { p[len(p)/2] ^= 1 })
	other := build(t, synth.Options{Chunk: 2 * chunk, GUIDs: unique()})
	for name, c := range map[string]struct {
		slots []synth.Slot
		parse string
	}{
		"first slot":    {slots: []synth.Slot{{Image: young}}, parse: "raw dump"},
		"short, padded": {slots: []synth.Slot{{Image: old}}, parse: ""},
		"second slot": {slots: []synth.Slot{{}, {Image: young}},
			parse: "raw dump"},
		"after a burn": {slots: []synth.Slot{{Image: old, Invalidated: true}, {Image: young}}, parse: "raw dump"},
		"after two":    {slots: []synth.Slot{{Image: old}, {Image: young, Invalidated: true}}, parse: "raw dump"},
		"burn cut while writing": {
			slots: []synth.Slot{{Image: old}, {Image: young, Unfinished: true}}, parse: "raw dump",
		},
		"burn cut before its last step": {
			slots: []synth.Slot{{Image: old}, {Image: young}}, parse: "raw dump",
		},
		"damaged": {
			slots: []synth.Slot{{Image: old, Invalidated: true}, {Image: damaged}}, parse: "raw dump",
		},
		"damaged predecessor": {
			slots: []synth.Slot{{Image: damaged, Invalidated: true}, {Image: old}}, parse: "raw dump",
		},
		"predecessor with other chunks": {
			slots: []synth.Slot{{Image: other, Invalidated: true}, {Image: old}}, parse: "raw dump",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := buildFlash(t, size, chunk, c.slots...)
			if _, err := parse(data); errorKind(err) != c.parse {
				t.Errorf("Parse: %v", err)
			}
		})
	}
}

func TestParse_refuses_pieces_of_a_flash(t *testing.T) {
	image := build(t, synth.Options{Chunk: 1 << 16, GUIDs: unique()})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an image at a wrong place": {append(padTo(nil, 0x20000), padTo(image, 0x20000)...), "malformed"},
		"a header cut off":          {append(padTo(nil, 0x10000), image[:0x30]...), "truncated"},
	} {
		if _, err := parse(c.data); errorKind(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
