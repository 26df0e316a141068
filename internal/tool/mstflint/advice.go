package mstflint

import "strings"

// advices say what to do about what the tool prints of a write. The firmware of ConnectX-4 and
// later gives its reasons as numbers, which releases of the tool name in their own words
// (4.21 to 4.36; 4.21 knows no words for two of them). The first text that was printed decides.
var advices = []struct{ text, do string }{
	{"Digest in the signature is wrong", "The image was altered or cut. Compare its SHA-256 with that of its vendor, " +
		"and fetch it again."},
	{"Component is not applicable", "The firmware says that the image is for another board or chip. Take the image with " +
		"the PSID of this card."},
	{"Rejected authentication", otherKey}, {"component is not signed", otherKey}, {"key is not applicable", otherKey},
	{"Unknown error code", otherKey}, {"image is not secured", otherKey},
	{"already updated on flash, pending reset", "Another image waits for a restart, and the firmware takes no second " +
		"one. Restart the host, and plan again."},
	{"Forbidden version rejected", tooOld}, {"Firmware version mismatch", tooOld}, {"Invalid security version", tooOld},
	{"restricted. Aborting", tooOld},
	{"timestamp mismatch", "The card takes images with a newer time stamp only. Take a newer image."},
	{"MAC was not listed", debugImage}, {"no Debug Token", debugImage},
	{"Flash is write protected", protected}, {"erasing the flash", protected},
	{"Image cannot boot from partition", runningFirst}, {"Reburn running and retry", runningFirst},
	{"Host storage is in use", "The card serves the storage of a host. Stop that, and plan again."},
	{"does not support the device's flash type",
		"The flash chip of this board is newer than the image. Take a newer image."},
	{"Failed to lock flash semaphore", "Another tool updates the card, or one was killed. Make sure that none does " +
		"(pgrep -a 'mst|flint|fwupd', and the BMC), then run the same command again: the failed run has freed " +
		"what a dead one left."},
	{"ME_ICMD_STATUS_SEMAPHORE_TO", deadTool},
	{"ME_ICMD_STATUS_CR_FAIL", "The card does not answer on its bus. Switch the machine off and on, then plan again."},
	{"Time-out reached while waiting for the FSM", again}, {"Firmware internal error", again}, {"MCC error", again},
	{"Unexpected state", canceled}, {"image failed: Bad parameter", canceled}, {"Resource unavailable", canceled},
	// Seen of MFT newer than 4.22 on a ConnectX-4 Lx with 14.14.1100, after the whole image was written.
	{"MFE_CMDIF", "The firmware that runs did not carry out a command of the tool, as old firmware does with new " +
		"releases of it. Use mstflint 4.22 or older on this host, or burn a version between the two first."},
	{BootAddress, "Switch the machine off and on. A restart may not load the new firmware."},
}

// BootAddress begins a warning about a burn that succeeded all the same: the card starts the new
// image only after its power was off.
const BootAddress = "Failed to update FW boot address"

const (
	otherKey = "The firmware does not accept the signature of the image. Take the image that the maker of this card " +
		"publishes for its PSID."
	tooOld       = "The firmware does not go back to this version. Take a newer image."
	debugImage   = "The image is for debugging, and works on named cards only. Take a release of its vendor."
	protected    = "The flash is write-protected, or fails. Look for a jumper on the card; `mstflint hw query` shows the flash."
	runningFirst = "Burn the version that runs once more, then this one."
	again        = "Restart the host, which resets the card, and plan again."
	canceled     = "Somebody has canceled the update, or has reset the card meanwhile. Plan again."
	deadTool     = "The command interface of the card is taken, as a tool that was killed leaves it. No command frees " +
		"it. Make sure that no program uses the card, and restart the host, which resets the card."
)

// Advice says what to do about what a run printed, in sentences; empty if its words are not known.
func Advice(output string) string {
	for _, a := range advices {
		if strings.Contains(output, a.text) {
			return a.do
		}
	}
	return ""
}
