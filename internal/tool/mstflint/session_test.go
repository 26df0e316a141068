package mstflint

import (
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

func TestParseSession_of_a_cross_flash(t *testing.T) {
	if s := ParseSession(crossFlash); s.Percent != 34 || len(s.Errors) > 0 {
		t.Errorf("%+v", s)
	}
	// It may be cut anywhere.
	for i := range crossFlash {
		if cut := ParseSession(crossFlash[:i]); len(cut.Errors) > 0 || cut.Percent > 34 {
			t.Fatalf("cut behind %d bytes: %+v", i, cut)
		}
	}
}

func TestParseSession_errors(t *testing.T) {
	const prompt = " Do you want to continue ? (y/n) [n] : "
	for output, want := range map[string]Session{
		prompt + "-E- Aborted by user\n":    {Percent: -1, Errors: []string{"Aborted by user"}},
		prompt + "n\n-E- Aborted by user\n": {Percent: -1, Errors: []string{"Aborted by user"}},
		// The answer from standard input is not echoed, so the next line begins behind the prompt.
		prompt + "FATAL - Can't find device id.\n":   {Percent: -1, Errors: []string{"FATAL - Can't find device id."}},
		prompt + "y FATAL - Can't find device id.\n": {Percent: -1, Errors: []string{"FATAL - Can't find device id."}},
		prompt + "Restoring signature  -  50%\n":     {Percent: 50},
		"FATAL - Can't find device id.\n-E- Cannot open Device-E- No such file\n": {Percent: -1,
			Errors: []string{"FATAL - Can't find device id.", "Cannot open Device", "No such file"}},
		"Burning FS2 FW image without signatures -  34%-E- Burning FS2 image failed: MFE_VERIFY_ERROR\n": {Percent: 34,
			Errors: []string{"Burning FS2 image failed: MFE_VERIFY_ERROR"}},
		"Burning FS2 FW image without signatures -  12%\r\n Received signal 15. Cleaning up ...\n": {Percent: 12},
	} {
		if diff := cmp.Diff(want, ParseSession(output)); diff != "" {
			t.Errorf("%q: %s", output, diff)
		}
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
		{name: "the reason comes last", status: 1, stderr: "failed to perform lock operation.\nNo more time.\n",
			stdout: "Reading\rReading - OK\n", want: FailureOther, line: "No more time."},
		{name: "refused by the firmware", status: 1, want: FailureWrongCard,
			stdout: "Writing Boot image component -  99%-E- Burning FS4 image failed: Component is not applicable\n"},
		{name: "write-protected", status: 1, stdout: "-E- Burning FS4 image failed: Flash is write protected\n",
			want: FailureWrite},
		{name: "beside another update", status: 1, stdout: "-E- Burning FS4 image failed: Failed to lock flash semaphore\n",
			want: FailureSemaphore},
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
	id, err := ParseHWQuery(output)
	if want := (ib.HWID{ID: 0x1f5, Rev: 1}); err != nil || id != want {
		t.Errorf("got %+v, %v", id, err)
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
