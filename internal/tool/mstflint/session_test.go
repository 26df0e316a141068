package mstflint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// The texts of these tests are those of mstflint 4.21.0 on a simulated
// ConnectX-3 with synthetic images.

const crossFlash = `
    Current FW version on flash:  2.42.5000
    New FW version:               2.42.5000

    Note: The new FW version is the same as the current FW version on flash.

 Do you want to continue ? (y/n) [n] : 
    You are about to replace current PSID on flash - "MT_9200111023" with a different PSID - "MT_9090111019".
    Note: It is highly recommended not to change the PSID.

 Do you want to continue ? (y/n) [n] : 
` + "Burning FS2 FW image without signatures -   0%\rBurning FS2 FW image without signatures -  34%\r" +
	"Burning FS2 FW image without signatures - OK  \nRestoring signature                     - OK\n"

// saysWritten reports whether the tool says that it wrote the flash to the end. Only
// a reading of the card proves it: the tool ends with status 0 after some errors.
func saysWritten(s Session) bool {
	if len(s.Errors) > 0 || s.Signal != 0 {
		return false
	}
	done := map[string]bool{}
	for _, step := range s.Steps {
		if step.Result != "OK" {
			return false
		}
		name, _, _ := strings.Cut(step.Name, " ")
		done[name] = true
	}
	// Firmware-controlled updates print only the components.
	return done["Restoring"] || done["Writing"]
}

func TestParseSession_of_a_cross_flash(t *testing.T) {
	s := ParseSession(crossFlash)
	want := []Exchange{{Question: QuestionSame}, {Question: QuestionPSID}}
	if diff := cmp.Diff(want, s.Asked); diff != "" {
		t.Error(diff)
	}
	if s.PSIDFrom != "MT_9200111023" || s.PSIDTo != "MT_9090111019" || s.Percent != 34 || !saysWritten(s) {
		t.Errorf("%+v", s)
	}
	// Cut anywhere before its last line, it is not a finished write.
	end := strings.LastIndex(crossFlash, "OK")
	for i := range end {
		cut := ParseSession(crossFlash[:i])
		if saysWritten(cut) {
			t.Fatalf("cut behind %d bytes it counts as written:\n%s", i, crossFlash[:i])
		}
	}
}

const guidTable = `-W- GUIDs are already set, re-burning image with the new GUIDs ...
    You are about to change the Guids/Macs/Uids on the device:

                        New Values              Current Values
        Node  GUID:     e41d2d0300e44ed0        ffffffffffffffff
        Port1 GUID:     e41d2d0300e44ed1        ffffffffffffffff
        Port2 GUID:     e41d2d0300e44ed2        ffffffffffffffff
        Sys.Image GUID: e41d2d0300e44ed3        ffffffffffffffff
        Port1 MAC:          e41d2de44ed0            f45214d78510
        Port2 MAC:          e41d2de44ed1            f45214d78511

 Do you want to continue ? (y/n) [n] : `

func TestParseSession_of_a_refused_GUID_change(t *testing.T) {
	s := ParseSession(guidTable + "-E- Aborted by user\n")
	if !hasAsked(s, QuestionGUIDs) || !s.GUIDTable || s.NewGUIDs != testGUIDs || !s.OldGUIDs.Node.IsUnset() ||
		s.OldGUIDs.MAC2 != 0xf45214d78511 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"Aborted by user"}, s.Errors); diff != "" || saysWritten(s) {
		t.Errorf("errors: %s", diff)
	}
}

func TestParseSession_of_answers_from_standard_input(t *testing.T) {
	// The answer is not echoed, so the next line begins behind the prompt.
	s := ParseSession(guidTable + "Restoring signature                     - OK\n")
	if diff := cmp.Diff([]Step{{Name: "Restoring signature", Result: "OK"}}, s.Steps); diff != "" || !saysWritten(s) {
		t.Errorf("steps: %s", diff)
	}
	if unknown := ParseSession("Something new.\n\n Do you want to continue ? (y/n) [n] : n\n"); !hasAsked(unknown,
		QuestionUnknown) || unknown.Asked[0].Answer != "n" {
		t.Errorf("%+v", unknown.Asked)
	}
}

func TestParseSession_of_a_failure_behind_progress(t *testing.T) {
	s := ParseSession("Burning FS2 FW image without signatures -  34%-E- Burning FS2 image failed: Flash write failed: " +
		"Flash write of 4096 bytes to address physical 0xb010 failed: MFE_VERIFY_ERROR\n")
	if s.Percent != 34 || len(s.Errors) != 1 || !strings.HasPrefix(s.Errors[0], "Burning FS2 image failed") || saysWritten(s) {
		t.Errorf("%+v", s)
	}
	killed := ParseSession("Burning FS2 FW image without signatures -  12%\r\n Received signal 15. Cleaning up ...\n")
	if killed.Signal != 15 || saysWritten(killed) || killed.Percent != 12 {
		t.Errorf("%+v", killed)
	}
}

func TestDiagnose(t *testing.T) {
	const device = "-E- Cannot open Device: 0000:01:00.0. "
	tests := []struct {
		name           string
		status         int
		stdout, stderr string
		want           FailureKind
		line           string
	}{
		{name: "success", stdout: "-W- a warning that is not allowed to count\n"},
		{name: "semaphore", status: 1,
			stdout: "-E- Can not obtain Flash semaphore" + device + "Can not obtain Flash semaphore. You can run ...\n",
			want:   FailureSemaphore, line: "Cannot open Device: 0000:01:00.0. Can not obtain Flash semaphore. You can run ..."},
		{name: "no such device", status: 1, stdout: device + "No such file or directory. MFE_CR_ERROR\n",
			want: FailureNoDevice},
		{name: "fallen off the bus", status: 1,
			stdout: "FATAL - Can't find device id.\n" + device + "No such file or directory. MFE_UNSUPPORTED_DEVICE\n",
			want:   FailureNoDevice},
		{name: "not root", status: 1, stdout: device + "Permission denied. MFE_CR_ERROR\n", want: FailureNotRoot},
		{name: "not a card of the tool", status: 1, stdout: device + "Operation not supported. MFE_CR_ERROR\n",
			want: FailureUnsupported},
		{name: "crash", status: 139, stderr: "Segmentation fault (core dumped)\n", want: FailureCrashed,
			line: "Segmentation fault (core dumped)"},
		{name: "BAR not mapped", status: 1,
			stdout: "FATAL - crspace read (0xf0014) failed: Invalid argument\n" + device +
				"Invalid argument. MFE_GENERAL_ERROR\n", want: FailureAccess},
		{name: "lock", status: 75, want: FailureLocked},
		{name: "version declined", status: 7, stdout: "-E- Aborted by user\n", want: FailureRefused},
		{name: "PSID declined", status: 1, stdout: "-E- Aborted by user\n", want: FailureRefused},
		{name: "PSID not allowed", status: 1,
			stdout: "-E- PSID mismatch. The PSID on flash (DEL9100001019) differs from the PSID in the given image (MT_9090120019).\n", want: FailurePSID},
		{name: "other revision", status: 1,
			stdout: "-E- Burning FS2 image failed: Device/Image mismatch: FW image file cannot be programmed to device ConnectX-3 A0, it is intended for: ConnectX-3 A1 only\n", want: FailureWrongCard},
		{name: "blank card", status: 1,
			stdout: "-E- Burning FS2 image failed: Bad mac (ffffffffffff) found on flash: Multicast bit (bit 40) is set.\n",
			want:   FailureBadAddress},
		{name: "too large", status: 1,
			stdout: "-E- Burning FS2 image failed: Size of failsafe image (0x110244) is greater than max failsafe image size (0xf0000 - half of total flash size)\n", want: FailureTooLarge},
		{name: "write error", status: 1,
			stdout: "x -  34%-E- Burning FS2 image failed: Flash write failed: Flash write of 4096 bytes to address physical 0xb010 failed: MFE_VERIFY_ERROR\n", want: FailureWrite},
		{name: "truncated image", status: 1,
			stdout: "-E- Failed to query image: /x. read error (Reading 0x4 bytes from  address 0x20098 is out of image limits (0x186a0 bytes))\n", want: FailureBadImage},
		{name: "unknown option", status: 1, stderr: "mstflint: unrecognized option '-apc'\n", want: FailureUsage,
			line: "mstflint: unrecognized option '-apc'"},
		{name: "killed", status: 137, want: FailureInterrupted},
		{name: "not installed", status: 127, stderr: "sh: 1: mstflint: not found\n", want: FailureToolMissing},
		{name: "status 0 with an error",
			stdout: "-E- Command \"sg\" requires at most 1 arguments, but 2 arguments were given\n", want: FailureOther},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Diagnose(tt.status, tt.stdout, tt.stderr)
			if got.Kind != tt.want || tt.line != "" && got.Line != tt.line {
				t.Errorf("got %q, %q", got.Kind, got.Line)
			}
		})
	}
}

func TestParseHWQuery(t *testing.T) {
	const output = "HW Info:\n  HwDevId                 501\n  HwRevId                 0x1\nFlash Info:\n  Type                    M25PXxx\n  TotalSize               0x200000\n  Banks                   0x1\n  SectorSize              0x1000\n"
	hw, err := ParseHWQuery(output)
	want := Hardware{ID: ib.HWID{ID: 0x1f5, Rev: 1}, FlashType: "M25PXxx", FlashSize: 2 << 20, SectorSize: 4096}
	if err != nil || hw != want {
		t.Errorf("got %+v, %v", hw, err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "an error": "-E- Failed to open Device: No such file or directory. MFE_CR_ERROR\n",
		"no revision": strings.Replace(output, "HwRevId", "Revision", 1), "a word for the id": strings.Replace(output, "501",
			"ConnectX", 1),
	} {
		if _, err := ParseHWQuery(bad); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func hasAsked(s Session, q Question) bool {
	return slices.ContainsFunc(s.Asked, func(a Exchange) bool { return a.Question == q })
}
