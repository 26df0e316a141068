package synth

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestFS2_refuses_dangerous_images(t *testing.T) {
	for name, o := range map[string]Options{
		"no PSID":                             {},
		"foreign PSID":                        {PSID: "XX_9000000000"},
		"PSID of a range that boards use":     {PSID: "MT" + "_1" + "090111019"},
		"no PSID on a real chip":              {NoPSID: true},
		"no PSID on a real chip among others": {NoPSID: true, HWIDs: []ib.HWID{{ID: 0xabc}, {ID: 0x1f5, Rev: 1}}},
		"PSID too long":                       {PSID: "MT_90000000000000"},
		"chunk that is no power of two":       {PSID: "MT_9000000000", Chunk: 3 << 16},
		"chunk that is too small":             {PSID: "MT_9000000000", Chunk: 1 << 15},
	} {
		if _, err := FS2(o); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}

func TestReseal_refuses_to_change_the_PSID(t *testing.T) {
	image, err := FS2(Options{PSID: "MT_9090111019"})
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(image, []byte("MT_9"))
	image[at+3] = '2'
	if err := Reseal(image); err == nil || !strings.Contains(err.Error(), "real card") {
		t.Errorf("got %v", err)
	}
	if err := Reseal(image[:200]); err == nil {
		t.Error("a cut image was resealed")
	}
}

func TestCRC_vectors(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want uint16
	}{{nil, 0x0955}, {words(0), 0x0009}, {words(1), 0x1002}, {words(0x12345678), 0x025e}, {words(0xdeadbeef, 1), 0xe2c6}} {
		if got := crc(c.in); got != c.want {
			t.Errorf("crc(%x) = %04x, want %04x", c.in, got, c.want)
		}
	}
}

func TestFlash_layout(t *testing.T) {
	const chunk = 1 << 16
	image := make([]byte, chunk+100)
	for i := range image {
		image[i] = byte(i>>8) + 1
	}
	f, err := Flash(4*chunk, chunk, Slot{Image: image, Invalidated: true}, Slot{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f[:4], []byte{0, 0, 0, 0}) || !bytes.Equal(f[4:chunk], image[4:chunk]) {
		t.Error("slot 0, first chunk")
	}
	if !bytes.Equal(f[chunk:2*chunk], image[:chunk]) || !bytes.Equal(f[3*chunk:3*chunk+100], image[chunk:]) ||
		f[3*chunk+100] != 0xff {
		t.Error("slot 1 is not in the odd chunks")
	}
	if _, err = Flash(2*chunk, chunk, Slot{Image: image}); err == nil {
		t.Error("an image larger than its slot was accepted")
	}
	if _, err = Flash(2*chunk, 0, Slot{}, Slot{}); err == nil {
		t.Error("two slots without chunks were accepted")
	}
	if f, err = Flash(4*chunk, chunk, Slot{}, Slot{Image: image, Unfinished: true}); err != nil || f[chunk+15] != 0xff ||
		f[chunk+16] == 0xff {
		t.Errorf("unfinished slot: %v", err)
	}
}

func TestFS3_and_FS4_refuse_dangerous_images(t *testing.T) {
	for name, o := range map[string]TOCOptions{
		"no PSID":                          {},
		"PSID of a range that boards use":  {PSID: "MT" + "_2" + "140110023"},
		"original PSID of such a range":    {PSID: "MT_9140110023", OrigPSID: "MT" + "_2" + "140110023"},
		"PSID too long":                    {PSID: "MT_90000000000000"},
		"five hardware ids":                {PSID: "MT_9140110023", HWIDs: make([]ib.HWID, 5)},
		"odd size":                         {PSID: "MT_9140110023", Size: 1<<17 + 1},
		"more than its slot holds":         {PSID: "MT_9140110023", Payload: 1 << 20, Size: 4 << 20},
		"more than its size":               {PSID: "MT_9140110023", Payload: 1 << 20, SlotBits: 22},
		"second slot behind the flash end": {PSID: "MT_9140110023", Second: true},
	} {
		for format, build := range map[string]func(TOCOptions) ([]byte, error){"FS3": FS3, "FS4": FS4} {
			if _, err := build(o); err == nil {
				t.Errorf("%s %s: built", format, name)
			}
		}
	}
}

func TestReseal_refuses_to_change_the_PSID_of_later_formats(t *testing.T) {
	for format, build := range map[string]func(TOCOptions) ([]byte, error){"FS3": FS3, "FS4": FS4} {
		image, err := build(TOCOptions{PSID: "MT_9140110023"})
		if err != nil {
			t.Fatal(err)
		}
		if err = Reseal(bytes.Clone(image)); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		first := bytes.Index(image, []byte("MT_9"))
		for _, at := range []int{first, bytes.LastIndex(image, []byte("MT_9"))} {
			changed := bytes.Clone(image)
			changed[at+3] = '2'
			if err := Reseal(changed); err == nil || !strings.Contains(err.Error(), "real card") {
				t.Errorf("%s 0x%x: got %v", format, at, err)
			}
		}
	}
}

func TestHardwareCRC_vectors(t *testing.T) {
	for addr, want := range map[uint32]uint16{0x1000: 0xeb67, 0x500: 0x8359, 0x2000: 0xd6cf, 0: 0} {
		if got := hardwareCRC(words(addr)); got != want {
			t.Errorf("%x: %04x, want %04x", addr, got, want)
		}
	}
}
