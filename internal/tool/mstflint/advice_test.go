package mstflint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJudge says of each reason of the firmware whether it passes, and what to do (mstflint 4.21 to
// 4.36, and the kernel).
func TestJudge(t *testing.T) {
	for text, want := range map[string]Advice{
		"The Digest in the signature is wrong":                            {Lasting, "fetch it again"},
		"Component is not applicable":                                     {Lasting, "PSID of this card"},
		"Rejected authentication":                                         {Lasting, "maker of this card"},
		"The component is not signed":                                     {Lasting, "maker of this card"},
		"The key is not applicable":                                       {Lasting, "maker of this card"},
		"Unknown error code":                                              {"", "no words for the reason"},
		"The firmware image is not secured":                               {Lasting, "maker of this card"},
		"The firmware image was already updated on flash, pending reset.": {Lasting, "Restart the host"},
		"The manufacturing base MAC was not listed":                       {Lasting, "for debugging"},
		"There is no Debug Token installed":                               {Lasting, "for debugging"},
		"Firmware version mismatch":                                       {Lasting, "newer image"},
		"User timestamp mismatch":                                         {Lasting, "newer time stamp"},
		"Forbidden version rejected":                                      {Lasting, "newer image"},
		"FW burn rejected: Invalid security version":                      {Lasting, "newer image"},
		"Error while erasing the flash":                                   {Lasting, "jumper"},
		"Flash is write protected":                                        {Lasting, "jumper"},
		"Image cannot boot from partition.":                               {Lasting, "once more, then this one"},
		"Failed to invalidate old fw signature: Flash write of 4 bytes to address physical 0x0 failed: MFE_CMDIF_TIMEOUT_ERR": {
			Lasting, "4.22 or older"},
		"Flash write failed: Flash write of 256 bytes to address physical 0x40 failed: MFE_VERIFY_ERROR": {
			"", "After a second time no retry helps"},
		"Host storage is in use":                                            {Passing, "serves the storage"},
		"The image does not support the device's flash type":                {Lasting, "newer than the image"},
		"Failed to lock flash semaphore":                                    {Passing, "run the same command again"},
		"Can not obtain Flash semaphore":                                    {Passing, "run the same command again"},
		"ME_ICMD_STATUS_SEMAPHORE_TO (520)":                                 {Passing, "No command frees it"},
		"ME_ICMD_STATUS_CR_FAIL":                                            {Lasting, "off and on"},
		"Time-out reached while waiting for the FSM to be updated":          {Passing, "Restart the host"},
		"Firmware internal error":                                           {"", "Restart the host"},
		"MCC error":                                                         {"", "Restart the host"},
		"Unexpected state":                                                  {Passing, "canceled the update"},
		"Bad parameter":                                                     {Passing, "canceled the update"},
		"Could not lock the firmware FSM":                                   {Passing, "Wait until that has ended"},
		"Failed to update FW boot address. Power cycle the device in order": {"", "Switch the machine off and on"},
		"Flash write failed: Bad parameters":                                {},
		"No space left on device":                                           {},
	} {
		got := Judge(1, "x - OK\n-E- Burning FS4 image failed: "+text+"\n")
		if (want.Do == "") != (got.Do == "") || !strings.Contains(got.Do, want.Do) || got.Class != want.Class {
			t.Errorf("%s: %q", text, got)
		}
	}
	for status, want := range map[int]Advice{1: {}, 137: {Class: Passing}, 143: {Class: Passing}, 139: {Lasting, crashed},
		135: {Lasting, crashed}} {
		if got := Judge(status, "Burning FS2 FW image without signatures -  12%"); got != want {
			t.Errorf("status %d: %q", status, got)
		}
	}
}

// Whoever is told that no retry helps is told what does.
func TestAdvices_are_whole(t *testing.T) {
	for _, a := range advices {
		if a.class == Lasting && a.do == "" || a.class != "" && ClassIn("Note. "+a.class.Text()) != a.class {
			t.Errorf("%q: %q, %q", a.text, a.class, a.do)
		}
	}
}

// Each capture of a failure has its class, and no other capture has one.
func TestJudge_reads_captures(t *testing.T) {
	want := map[string]Class{
		"failure/refused-signature": Lasting, "failure/other-psid": Lasting, "failure/chip-reset-locked": Passing,
		"failure/chip-reset-updating": Passing, "failure/semaphore": Passing, "failure/devlink-psid": Lasting,
		"failure/devlink-component": Lasting, "failure/boot-address": "", "burn/cx4-ibm-psid-mismatch": Lasting,
	}
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txt")
		class, listed := want[name]
		folder := filepath.Dir(name)
		if got := Judge(0, string(text)).Class; got != class || folder == "failure" && !listed {
			t.Errorf("%s: %q, want %q", name, got, class)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("no captures: %v", want)
	}
}
