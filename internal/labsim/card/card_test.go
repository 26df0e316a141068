package card

import (
	"bytes"
	"errors"
	"testing"
)

var testGUIDs, testMACs = GUIDsFromBase(0xe41d2d0300e44ed0), [2]uint64{0xe41d2de44ed1, 0xe41d2de44ed2}

func newEN(t *testing.T) *Card {
	t.Helper()
	c, err := New(Config{Chip: ConnectX3Pro, Image: EN(), GUIDs: BlankGUIDs, MACs: testMACs, Previous: OldVPI()})
	if err != nil {
		t.Fatal(err)
	}
	c.Boot()
	return c
}

func withTestIdentity(t *testing.T, image []byte) []byte {
	t.Helper()
	img, err := Parse(image)
	if err != nil {
		t.Fatal(err)
	}
	return img.WithIdentity(testGUIDs, testMACs, "")
}

func goOn(int) error { return nil }

func TestCRC16_knownVectors(t *testing.T) {
	for in, want := range map[string]uint16{
		"": 0x0955, "\x00\x00\x00\x00": 0x0009, "\x12\x34\x56\x78": 0x025e, "\xde\xad\xbe\xef\x00\x00\x00\x01": 0xe2c6,
		string(magic): 0xd3d0,
	} {
		if got := crc16([]byte(in)); got != want {
			t.Errorf("crc16(%x) = %04x, want %04x", in, got, want)
		}
	}
}

func TestCard_flashIsNotWhatRuns(t *testing.T) {
	c := newEN(t)
	if fw := c.Running(); !fw.Loaded || fw.VPI || fw.PSID != PSIDEN || fw.GUIDs != BlankGUIDs || fw.MACs != testMACs {
		t.Fatalf("delivered: %+v", fw)
	}
	want := withTestIdentity(t, VPI())
	if err := c.Write(want, goOn); err != nil {
		t.Fatal(err)
	}
	img, err := c.Flash.Active()
	if err != nil || img.Start != img.Chunk() || !bytes.Equal(img.Data, want) {
		t.Fatalf("flash after the burn: %v, start 0x%x", err, img.Start)
	}
	if fw := c.Running(); fw.PSID != PSIDEN {
		t.Errorf("running changed without a boot: %+v", fw)
	}
	c.SetNV(NV{LinkType: [2]int{LinkIB, LinkIB}})
	c.Boot()
	if fw := c.Running(); fw.PSID != PSIDVPI || !fw.VPI || fw.GUIDs != testGUIDs || fw.Config.LinkType[1] != LinkIB {
		t.Errorf("after the boot: %+v", fw)
	}
	// The second burn goes to the first slot again.
	if err := c.Write(withTestIdentity(t, OldVPI()), goOn); err != nil {
		t.Fatal(err)
	}
	if s := c.Flash.Starts(); len(s) != 1 || s[0] != 0 {
		t.Errorf("slots after the second burn: %x", s)
	}
}

func TestFlash_isStriped(t *testing.T) {
	c := newEN(t)
	dump := c.Flash.Dump()
	img, err := c.Flash.Active()
	if err != nil {
		t.Fatal(err)
	}
	// The second stripe of slot 0 lies one stripe of slot 1 further.
	if a := img.Chunk(); !bytes.Equal(dump[2*a:2*a+4096], img.Data[a:a+4096]) {
		t.Error("the second chunk is not where the layout wants it")
	}
	if a := img.Chunk(); be32(dump, a) != 0 || !bytes.Equal(dump[a+4:a+16], magic[4:]) {
		t.Error("the image of before does not lie dead in slot 1")
	}
}

// TestCard_bootsAfterAPowerCutAtEveryOperation burns once per flash operation and
// loses the power in it.
func TestCard_bootsAfterAPowerCutAtEveryOperation(t *testing.T) {
	image := withTestIdentity(t, VPI())
	for k := 1; ; k++ {
		c := newEN(t)
		c.Flash.SetHook(func(op Op) error {
			if op.Number == k {
				return ErrPowerLost
			}
			return nil
		})
		err := c.Write(image, goOn)
		c.Boot()
		fw := c.Running()
		if !fw.Loaded || fw.PSID != PSIDEN && fw.PSID != PSIDVPI {
			t.Fatalf("power lost in operation %d: %+v", k, fw)
		}
		if err == nil {
			if k < 300 || fw.PSID != PSIDVPI {
				t.Fatalf("the burn ended after %d operations with %s", k-1, fw.PSID)
			}
			return
		}
		if !errors.Is(err, ErrPowerLost) {
			t.Fatal(err)
		}
	}
}

func TestCard_rejectsWhatDoesNotFit(t *testing.T) {
	c := newEN(t)
	img, err := Parse(CX3())
	if err != nil {
		t.Fatal(err)
	}
	if c.FitsChip(img) {
		t.Error("an image for the chip before fits")
	}
	var crc *CRCError
	if _, err := Parse(corruptVPI()); !errors.As(err, &crc) {
		t.Errorf("corrupt image: %v", err)
	}
	var read *ReadError
	if _, err := Parse(TruncatedVPI()); !errors.As(err, &read) {
		t.Errorf("truncated image: %v", err)
	}
}

func TestCard_withoutAnImageIsInRecovery(t *testing.T) {
	c := newEN(t)
	for a := uint32(0); a < FlashSize; a += SectorSize {
		if err := c.Flash.Erase(a); err != nil {
			t.Fatal(err)
		}
	}
	c.Boot()
	if c.Running().Loaded {
		t.Error("an empty flash boots")
	}
}
