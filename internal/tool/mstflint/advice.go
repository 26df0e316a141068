package mstflint

import "strings"

// Class tells failures of a write apart by whether the same command may succeed later. It is empty
// where the cause is not known.
type Class string

// The classes. Nothing is wrong with card, image and tool where a failure is passing: somebody else
// was at the card, or it did not answer in time.
const (
	Passing Class = "passing"
	Lasting Class = "lasting"
)

var classTexts = map[Class]string{
	Passing: "This failure is passing: the same command may be tried again.",
	Lasting: "This failure is lasting: a retry does not help.",
}

// Text is a sentence, as errors and the journal have it; empty if the class is.
func (c Class) Text() string { return classTexts[c] }

// ClassIn finds the class whose sentence is in a note of the journal.
func ClassIn(note string) Class {
	for class, text := range classTexts {
		if strings.Contains(note, text) {
			return class
		}
	}
	return ""
}

// Advice says of a write that failed which class that is of, and what to do, in sentences.
type Advice struct {
	Class Class
	Do    string
}

// advices say that of what is printed. The firmware of ConnectX-4 and later gives its reasons as
// numbers, which releases of the tool name in their own words (4.21 to 4.36; 4.21 knows no words for
// two of them), and the kernel for devlink in others. The first text that was printed decides.
var advices = []struct {
	text  string
	class Class
	do    string
}{
	{"Digest in the signature is wrong", Lasting, altered}, {"component hash mismatch", Lasting, altered},
	{"FW image verification failed", Lasting, altered}, {"Failed to query image", Lasting, altered},
	{"omponent is not applicable", Lasting, otherBoard}, {"omponent not applicable", Lasting, otherBoard},
	{"PSID mismatch", Lasting, otherBoard}, {"Changing PSID is unsupported", Lasting, otherBoard},
	{"Could not find device PSID", Lasting, otherBoard}, {"Device/Image mismatch", Lasting, otherBoard},
	{"is greater than max failsafe image size", Lasting, otherBoard},
	{"Rejected authentication", Lasting, otherKey}, {"authentication failed", Lasting, otherKey},
	{"component is not signed", Lasting, otherKey}, {"component was not signed", Lasting, otherKey},
	{"key is not applicable", Lasting, otherKey}, {"key not applicable", Lasting, otherKey},
	{"unknown key", Lasting, otherKey},
	// 4.21 says so of a key (4), a format (8), and of all from 0x17: a security version, a write protection.
	{"Unknown error code", "", "This release of mstflint has no words for the reason of the firmware: the signature, " +
		"the format or the version of the image, or a write protection. A newer mstflint names it."},
	{"image is not secured", Lasting, otherKey},
	{"pending reset", Lasting, "Another image waits for a restart, and the firmware takes no second one. Restart the " +
		"host, and plan again."},
	{"Forbidden version rejected", Lasting, tooOld}, {"Firmware version mismatch", Lasting, tooOld},
	{"Invalid security version", Lasting, tooOld}, {"restricted. Aborting", Lasting, tooOld},
	{"timestamp mismatch", Lasting, "The card takes images with a newer time stamp only. Take a newer image."},
	{"MAC was not listed", Lasting, debugImage}, {"no Debug Token", Lasting, debugImage},
	{"Flash is write protected", Lasting, protected}, {"erasing the flash", Lasting, protected},
	{"Image cannot boot from partition", Lasting, runningFirst}, {"Reburn running and retry", Lasting, runningFirst},
	{"Host storage is in use", Passing, "The card serves the storage of a host. Stop that, and plan again."},
	{"does not support the device's flash type", Lasting,
		"The flash chip of this board is newer than the image. Take a newer image."},
	{"Failed to lock flash semaphore", Passing, taken}, {"Can not obtain Flash semaphore", Passing, taken},
	{"Could not lock the firmware FSM", Passing, "Somebody else updates the card, as a BMC does. Wait until that has " +
		"ended, then run the same command again."},
	{"ME_ICMD_STATUS_SEMAPHORE_TO", Passing, deadTool},
	{"ME_ICMD_STATUS_CR_FAIL", Lasting,
		"The card does not answer on its bus. Switch the machine off and on, then plan again."},
	{"Time-out reached while waiting for the FSM", Passing, again},
	{"Timeout reached on FSM state change", Passing, again},
	{"Firmware internal error", "", again}, {"MCC error", "", again},
	{"Unexpected state", Passing, canceled}, {"image failed: Bad parameter", Passing, canceled},
	{"Resource unavailable", Passing, canceled},
	// Seen of MFT newer than 4.22 on a ConnectX-4 Lx with 14.14.1100, after the whole image was written.
	{"MFE_CMDIF", Lasting, "The firmware that runs did not carry out a command of the tool, as old firmware does with " +
		"new releases of it. Use mstflint 4.22 or older on this host, or burn a version between the two first."},
	{"MFE_VERIFY_ERROR", "", "The flash read back with other bytes than were written. Run the same command again, " +
		"once. After a second time no retry helps: the flash fails, and the card has to be replaced."},
	{BootAddress, "", "Switch the machine off and on. A restart may not load the new firmware."},
	// Seen of a tool beside another one (4.21 and 4.31).
	{"Resource temporarily unavailable", Passing, "Another tool was at the card. Make sure that none is " +
		"(pgrep -a 'mst|flint|fwupd'), then run the same command again."},
}

// BootAddress begins a warning about a burn that succeeded all the same: the card starts the new
// image only after its power was off.
const BootAddress = "Failed to update FW boot address"

const (
	altered    = "The image was altered or cut. Compare its SHA-256 with that of its vendor, and fetch it again."
	otherBoard = "The image is for another board or chip. Take the image with the PSID of this card."
	taken      = "Another tool updates the card, or one was killed. Make sure that none does " +
		"(pgrep -a 'mst|flint|fwupd', and the BMC), then run the same command again: the failed run has freed " +
		"what a dead one left."
	otherKey = "The firmware does not accept the signature of the image. Take the image that the maker of this card " +
		"publishes for its PSID."
	tooOld       = "The firmware does not go back to this version. Take a newer image."
	debugImage   = "The image is for debugging, and works on named cards only. Take a release of its vendor."
	protected    = "The flash is write-protected, or fails. Look for a jumper on the card; `mstflint hw query` shows the flash."
	runningFirst = "Burn the version that runs once more, then this one."
	again        = "Restart the host, which resets the card, and plan again."
	crashed      = "mstflint itself crashed, as releases from 4.30 on are known to do on ConnectX-3. Install another " +
		"release, for a ConnectX-3 one up to 4.25, and plan again."
	canceled = "Somebody has canceled the update, or has reset the card meanwhile. Plan again."
	deadTool = "The command interface of the card is taken, as a tool that was killed leaves it. No command frees " +
		"it. Make sure that no program uses the card, and restart the host, which resets the card."
)

// Judge reads the advice out of a write that failed: from what it printed, and from its status; empty
// if its words are not known.
func Judge(status int, output string) Advice {
	for _, a := range advices {
		if strings.Contains(output, a.text) {
			return Advice{a.class, a.do}
		}
	}
	kind := failureStatuses[status]
	if kind == FailureInterrupted {
		return Advice{Class: Passing}
	}
	if kind == FailureCrashed {
		return Advice{Lasting, crashed}
	}
	return Advice{}
}
