package fwimage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

func TestParseFlash_sample(t *testing.T) {
	data := sample(t, "fs2-flash-4m.bin.gz")
	flash, err := parseFlash(data)
	if err != nil {
		t.Fatal(err)
	}
	compareFields(t, flash.Active, captures(t)["fs2-flash-4m.bin.gz"].Mstflint["q full"].Out)
	if flash.ActiveSlot != 1 || flash.Chunk != 0x80000 || flash.Size != 4<<20 || flash.Active.Start != 0x80000 ||
		!flash.Active.Striped {
		t.Errorf("got %+v", flash)
	}
	stale := flash.Slots[0]
	if stale.State != SlotInvalidated || stale.Err != nil || stale.Image.FWVersion != ib.MustParseFWVersion("2.36.5000") {
		t.Errorf("stale slot: %+v", stale)
	}
}

// A raw dump must never pass for an image: mstflint reads the stale slot of
// this one and says that all is well.
func TestParse_refuses_a_raw_dump(t *testing.T) {
	_, err := parse(sample(t, "fs2-flash-4m.bin.gz"))
	var dump *RawDumpError
	if !errors.As(err, &dump) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"0x80000", "2.40.7000", `"MT_9090111019"`, "slot 1", "mstflint -d DEVICE ri FILE"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if dump.Flash == nil || dump.Flash.ActiveSlot != 1 {
		t.Errorf("flash %+v", dump.Flash)
	}
}

func TestParseFlash_slots(t *testing.T) {
	const chunk, size = 1 << 16, 1 << 20
	old := build(t, synth.Options{Chunk: chunk, GUIDs: unique()})
	young := build(t, synth.Options{Chunk: chunk, Payload: 200_000, Version: ib.FWVersion{Major: 2, Minor: 40, Sub: 7000},
		GUIDs: unique()})
	damaged := editedImage(t, young, false, func(p []byte) { p[len(p)/2] ^= 1 })
	other := build(t, synth.Options{Chunk: 2 * chunk, GUIDs: unique()})
	for name, c := range map[string]struct {
		slots   []synth.Slot
		active  int
		states  []SlotState
		err     string // of the flash
		slotErr string // of the other slot
		warning string
		parse   string // what Parse makes of it
	}{
		"first slot":    {slots: []synth.Slot{{Image: young}}, states: []SlotState{SlotActive, SlotEmpty}, parse: "raw dump"},
		"short, padded": {slots: []synth.Slot{{Image: old}}, states: []SlotState{SlotActive, SlotEmpty}, parse: ""},
		"second slot": {slots: []synth.Slot{{}, {Image: young}}, active: 1, states: []SlotState{SlotEmpty, SlotActive},
			parse: "raw dump"},
		"after a burn": {slots: []synth.Slot{{Image: old, Invalidated: true}, {Image: young}}, active: 1,
			states: []SlotState{SlotInvalidated, SlotActive}, parse: "raw dump"},
		"after two": {slots: []synth.Slot{{Image: old}, {Image: young, Invalidated: true}},
			states: []SlotState{SlotActive, SlotInvalidated}, parse: "raw dump"},
		"burn cut while writing": {
			slots: []synth.Slot{{Image: old}, {Image: young, Unfinished: true}}, states: []SlotState{SlotActive,
				SlotUnfinished}, parse: "raw dump",
		},
		"burn cut before its last step": {
			slots: []synth.Slot{{Image: old}, {Image: young}}, states: []SlotState{SlotActive,
				SlotValid}, warning: "interrupted", parse: "raw dump",
		},
		"damaged": {
			slots: []synth.Slot{{Image: old, Invalidated: true}, {Image: damaged}}, active: 1,
			states: []SlotState{SlotInvalidated, SlotActive}, err: "CRC DDR", parse: "raw dump",
		},
		"damaged predecessor": {
			slots: []synth.Slot{{Image: damaged, Invalidated: true}, {Image: old}}, active: 1,
			states: []SlotState{SlotInvalidated, SlotActive}, slotErr: "CRC DDR", parse: "raw dump",
		},
		"predecessor with other chunks": {
			slots: []synth.Slot{{Image: other, Invalidated: true}, {Image: old}}, active: 1,
			states: []SlotState{SlotInvalidated, SlotActive}, slotErr: "malformed", parse: "raw dump",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := buildFlash(t, size, chunk, c.slots...)
			flash, err := parseFlash(data)
			if errorKind(err) != c.err || flash == nil {
				t.Fatalf("got %+v, %v", flash, err)
			}
			var states []SlotState
			for _, s := range flash.Slots {
				states = append(states, s.State)
			}
			if flash.ActiveSlot != c.active || !slices.Equal(states, c.states) {
				t.Errorf("active %d, states %v", flash.ActiveSlot, states)
			}
			if got := errorKind(flash.Slots[1-c.active].Err); got != c.slotErr {
				t.Errorf("other slot: %v", flash.Slots[1-c.active].Err)
			}
			if all := strings.Join(flash.Warnings, "\n"); !strings.Contains(all, c.warning) || c.warning == "" && all != "" {
				t.Errorf("warnings %q", all)
			}
			if _, err := parse(data); errorKind(err) != c.parse {
				t.Errorf("Parse: %v", err)
			}
		})
	}
}

func TestParseFlash_content_equals_the_image(t *testing.T) {
	image := build(t, synth.Options{Chunk: 1 << 16, Payload: 300_000, GUIDs: unique()})
	want, err := parse(image)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		slots := make([]synth.Slot, n+1)
		slots[n].Image = image
		flash, err := parseFlash(buildFlash(t, 1<<20, 1<<16, slots...))
		if err != nil {
			t.Fatal(err)
		}
		if got := flash.Active; got.GUIDs != want.GUIDs || got.Checksum != want.Checksum ||
			got.End != want.End {
			t.Errorf("slot %d: got %+v, want %+v", n, got, want)
		}
	}
}

func TestParseFlash_without_two_slots(t *testing.T) {
	image := build(t, synth.Options{GUIDs: unique()})
	flash, err := parseFlash(buildFlash(t, 1<<20, 0, synth.Slot{Image: image}))
	if err != nil || flash.Chunk != 0 || len(flash.Slots) != 1 || flash.Active.Striped ||
		flash.Active.PSID != "MT_9090111019" {
		t.Errorf("got %+v, %v", flash, err)
	}
	damaged := editedImage(t, image, false, func(p []byte) { p[0x40] ^= 1 })
	if flash, err := parseFlash(damaged); errorKind(err) != "CRC BOOT2" || flash == nil || flash.Active != nil {
		t.Errorf("got %+v, %v", flash, err)
	}
}

func TestParseFlash_refuses_files(t *testing.T) {
	image := build(t, synth.Options{Chunk: 1 << 16, GUIDs: unique()})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an image file":             {image, "malformed"},
		"half a chunk too much":     {padTo(image, 0x28000), "malformed"},
		"an image at a wrong place": {append(padTo(nil, 0x20000), padTo(image, 0x20000)...), "malformed"},
		"a header cut off":          {append(padTo(nil, 0x10000), image[:0x30]...), "truncated"},
	} {
		if flash, err := parseFlash(c.data); errorKind(err) != c.want || flash != nil {
			t.Errorf("%s: %+v, %v", name, flash, err)
		}
		if _, err := parse(c.data); name != "an image file" && name != "half a chunk too much" && err == nil {
			t.Errorf("%s: Parse accepts it", name)
		}
	}
}
