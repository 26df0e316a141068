package mstflint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

const fs2 = `Image type:            FS2
FW Version:            2.42.5000
FW Release Date:       5.9.2017
Device ID:             4103
Description:           Node             Port1            Port2            Sys image
GUIDs:                 e41d2d0300e44ed0 e41d2d0300e44ed1 e41d2d0300e44ed2 e41d2d0300e44ed3 
MACs:                                       e41d2de44ed0     e41d2de44ed1
VSD:                   
PSID:                  MT_9090111019
`

func TestThroughFirmware(t *testing.T) {
	for output, want := range map[string]bool{
		"Image type:            FSCTRL\nFW Version:            16.35.8008\n": true,
		"Image type:            FS4\nFW Version:            16.35.8008\n":    false,
		"FW Version:            16.35.8008\n":                                false,
	} {
		if got := ThroughFirmware(output); got != want {
			t.Errorf("%q: %t", output, got)
		}
	}
}

func replaceLine(line, by string) string { return strings.Replace(fs2, line, by, 1) }

func TestParseQuery_oddities(t *testing.T) {
	const ff = "ffffffffffffffff"
	blank := strings.NewReplacer("e41d2d0300e44ed0", ff, "e41d2d0300e44ed1", ff, "e41d2d0300e44ed2",
		ff, "e41d2d0300e44ed3", ff,
		"e41d2de44ed0", ff, "e41d2de44ed1", ff).Replace(fs2) + "-W- GUIDs/MACs values and their CRC are not set.\n"
	tests := []struct {
		name, output string
		check        func(Image) bool
	}{
		{"a blank card", blank, func(i Image) bool { return i.BlankGUIDs && i.GUIDs.Node.IsUnset() && i.GUIDs.MAC1.IsBroadcast() }},
		{"zero GUIDs", replaceLine("e41d2d0300e44ed0", "0000000000000000"),
			func(i Image) bool { return i.GUIDs.Node.IsZero() && !i.BlankGUIDs }},
		{
			"a foreign vendor", replaceLine("VSD:                   \nPSID:                  MT_9090111019\n",
				"-W- Not a Mellanox FW image (vendor_id = 0x1234). VSD and PSID are not displayed.\n"),
			func(i Image) bool { return i.PSID == "" && i.OtherVendor },
		},
		{
			"lines of uninitialized memory",
			fs2 + "INI revision: 0x5506ff89\nGeographical Address:  ASIC \xc8\x01\nSocket Direct:         Yes\n",
			func(i Image) bool { return i.PSID == "MT_9090111019" },
		},
		{"a warning of a bad MAC", fs2 + "\n\n-W- Bad mac address ( 0102030405aa ): Multicast bit (bit 40) is set.\n",
			func(i Image) bool { return len(i.Warnings) == 1 }},
		{
			"three ROMs, the first of HP's kind", replaceLine("Device ID:",
				"Rom Info:              version_id=8025 type=CLP \n                       type=UEFI version=14.11.48 cpu=AMD64\n                       type=PXE version=3.4.754\nDevice ID:"),
			func(i Image) bool {
				return len(i.ROMs) == 3 && i.ROMs[0].Type == "CLP" && i.ROMs[2].Version == "3.4.754"
			},
		},
		{"a PSID of manufacturing", fs2 + "Orig PSID:             HUA9000000001\n",
			func(i Image) bool { return i.PSID == "MT_9090111019" && i.OrigPSID == "HUA9000000001" }},
		{"a full query", replaceLine("Device ID:",
			"MIC Version:           2.0.0\nDescription:           a text: with a colon\nDevice ID:"),
			func(i Image) bool { return i.DeviceID != 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img, err := ParseQuery(tt.output)
			if err != nil || !tt.check(img) {
				t.Errorf("got %+v, %v", img, err)
			}
		})
	}
}

func TestParseQuery_names_the_line(t *testing.T) {
	for name, tt := range map[string]struct {
		output string
		line   int
	}{
		"a version of two numbers": {replaceLine("2.42.5000", "2.42"), 2},
		"a word for a version":     {replaceLine("2.42.5000", "golan_fw_dev"), 2},
		"three GUIDs":              {replaceLine("e41d2d0300e44ed3 ", ""), 6},
		"a GUID of 15 digits":      {replaceLine("e41d2d0300e44ed3", "e41d2d0300e44ed"), 6},
		"one MAC":                  {replaceLine("     e41d2de44ed1", ""), 7},
		"a MAC of 56 bits":         {replaceLine("e41d2de44ed1", "01e41d2de44ed1"), 7},
		"a second PSID":            {fs2 + "PSID:    MT_9090111020\n", 10},
		"a PSID of 17 characters":  {replaceLine("MT_9090111019", "MT_90901110190000"), 9},
		"another image type":       {replaceLine("FS2", "FSCTRL"), 1},
		"an error of the tool":     {"-E- Cannot open Device: 0000:01:00.0. No such file or directory. MFE_CR_ERROR\n", 1},
	} {
		_, err := ParseQuery(tt.output)
		var at *tool.LineError
		if !errors.As(err, &at) || at.Number != tt.line {
			t.Errorf("%s: got %v, want an error of line %d", name, err, tt.line)
		}
	}
	for name, output := range map[string]string{"nothing": "", "no version": replaceLine("FW Version:", "Version:"),
		"no MACs": replaceLine("MACs:", "Macs:"), "usage": "No options found. \n"} {
		if _, err := ParseQuery(output); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

const verified = `
     FS2 failsafe image. Start address: 0x80000. Chunk size 0x80000:

     NOTE: The addresses below are contiguous logical addresses. Physical addresses on
           flash may be different, based on the image start address and chunk size

     /0x00000038-0x00000097 (0x000060)/ (BOOT2) - OK
     /0x00000000-0x00000a77 (0x000a78)/ (Full Image) - OK

-I- FW image verification succeeded. Image is bootable.

`

func TestParseVerify(t *testing.T) {
	v, err := ParseVerify(verified)
	if err != nil || !v.OK || v.Format != "FS2" || !v.Failsafe || len(v.Sections) != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
	bad := map[string]string{
		// 4.21 says this of a raw dump, and that it succeeded.
		"a CRC that the verdict passes over": strings.Replace(verified, "(Full Image) - OK",
			"(Full Image) /0x00000000/ - wrong CRC (exp:0xc4bc, act:0xbfac)", 1),
		"blank GUIDs": strings.Replace(verified, "(BOOT2) - OK", "(GUID) - BLANK CRC (0xffff)", 1),
		"a bad verdict": strings.Replace(verified, "-I- FW image verification succeeded. Image is bootable.",
			"-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.", 1),
	}
	for name, output := range bad {
		v, err := ParseVerify(output)
		if err != nil || v.OK || v.Problem == "" {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
	}
	for name, output := range map[string]string{
		"a cut output":              verified[:strings.Index(verified, "-I-")],
		"a verdict without section": "-I- FW image verification succeeded. Image is bootable.\n",
		"an unreadable section":     strings.Replace(verified, "(BOOT2) - OK", "BOOT2", 1),
	} {
		if v, err := ParseVerify(output); err == nil {
			t.Errorf("%s was read as %+v", name, v)
		}
	}
}

func TestParseChecksum(t *testing.T) {
	got, err := ParseChecksum("-I- Calculating Checksum ...\nChecksum: 98b6d45d6957c5cae0840c18422f1613\n")
	if err != nil || got != "98b6d45d6957c5cae0840c18422f1613" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := ParseChecksum("-E- Failed to open Device\n"); err == nil {
		t.Error("a message was read")
	}
}

// TestParsers_read_the_real_tool has the installed mstflint look at synthetic
// images of all three formats.
func TestParsers_read_the_real_tool(t *testing.T) {
	realtool.Path(t, program)
	images, err := filepath.Glob("../../fwimage/testdata/*.bin")
	if err != nil || len(images) == 0 {
		t.Fatalf("no synthetic images beside the image reader: %v", err)
	}
	ok := must(t)
	for _, file := range images {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		query := ok(image(path, "q", "full")).Argv()
		out, err := exec.CommandContext(t.Context(), query[0], query[1:]...).Output()
		if err != nil {
			continue // an image made to be refused
		}
		img, err := ParseQuery(string(out))
		if err != nil || !strings.HasPrefix(string(img.PSID), "MT_9") {
			t.Errorf("%s: %+v, %v", path, img, err)
		}
		verify := ok(VerifyImage(path)).Argv()
		out, err = exec.CommandContext(t.Context(), verify[0], verify[1:]...).Output()
		if _, parseErr := ParseVerify(string(out)); err == nil && parseErr != nil {
			t.Errorf("%s: %v", path, parseErr)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(fs2)
	names, err := filepath.Glob("testdata/query/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, output string) {
		img, err := ParseQuery(output)
		if err == nil && img.Type == "FS2" && (!strings.Contains(output, "GUIDs") || !strings.Contains(output, "MACs")) {
			t.Errorf("an FS2 image without identity was read from %q", output)
		}
		if s := ParseSession(output); strings.Contains(output, "-E- no") && len(s.Errors) == 0 {
			t.Errorf("an error was overlooked in %q", output)
		}
	})
}
