package mstflint

import (
	"strings"
)

// IsContention reports whether a failure says only that another program was using the
// card, or that an operation of ours was at a card of the host, and nothing about the card.
func (k FailureKind) IsContention() bool {
	return k == FailureLocked || k == FailureSemaphore || k == FailureContention
}

// FailureKind tells failures of the tool apart by what to do about them.
type FailureKind string

// The kinds of failure.
const (
	FailureNone          FailureKind = ""
	FailureLocked        FailureKind = "another operation of ours holds the card"
	FailureSemaphore     FailureKind = "flash semaphore taken"
	FailureContention    FailureKind = "another program is at the card"
	FailureNoDevice      FailureKind = "no such device"
	FailureNotRoot       FailureKind = "not permitted"
	FailureUnsupported   FailureKind = "device not supported by the tool"
	FailureCrashed       FailureKind = "the tool crashed"
	FailureInterrupted   FailureKind = "the tool was interrupted"
	FailureDisabled      FailureKind = "access to the device is disabled"
	FailureBadImage      FailureKind = "bad image"
	FailureWrongCard     FailureKind = "image is for other silicon"
	FailurePSID          FailureKind = "PSID differs"
	FailureRefused       FailureKind = "a question was not answered with yes"
	FailureNotFailsafe   FailureKind = "not failsafe"
	FailureTooLarge      FailureKind = "image too large for half of the flash"
	FailureBadAddress    FailureKind = "invalid GUID or MAC"
	FailureWrite         FailureKind = "writing the flash failed"
	FailureAccess        FailureKind = "access to the device failed"
	FailureUsage         FailureKind = "command line not accepted"
	FailureSectionAbsent FailureKind = "section not in the image"
	FailureToolMissing   FailureKind = "tool not installed"
	FailureOther         FailureKind = "other"
)

// Failure is what went wrong, in the words of the tool.
type Failure struct {
	Kind FailureKind
	Line string // the line that tells, without "-E- "; empty if the tool said nothing
}

// failureTexts are looked for in order; the first that is in a line decides,
// so that a particular text stands before a general one.
var failureTexts = []struct {
	text string
	kind FailureKind
}{
	{"Can not obtain Flash semaphore", FailureSemaphore},
	// Seen of a tool beside another one (4.21 and 4.31): accesses of both interleave.
	{"Resource temporarily unavailable", FailureContention},
	{"PSID mismatch", FailurePSID},
	{"Changing PSID is unsupported", FailurePSID},
	{"Device/Image mismatch", FailureWrongCard},
	{"Component is not applicable", FailureWrongCard},
	{"Flash is write protected", FailureWrite},
	{"Error while erasing the flash", FailureWrite},
	{"Failed to lock flash semaphore", FailureSemaphore},
	{"Failsafe burn failed", FailureNotFailsafe},
	{"is greater than max failsafe image size", FailureTooLarge},
	{"Bad mac", FailureBadAddress},
	{"Invalid Guid/Mac/Uid syntax", FailureUsage},
	{"Aborted by user", FailureRefused},
	{"Flash write failed", FailureWrite},
	{"MFE_VERIFY_ERROR", FailureWrite},
	{"HW access is disabled", FailureDisabled},
	{"Flash cache replacement is active", FailureDisabled},
	{"Operation not permitted", FailureDisabled},
	{"Permission denied", FailureNotRoot},
	{"Operation not supported", FailureUnsupported},
	{"Unsupported device", FailureUnsupported},
	{"MFE_UNSUPPORTED_DEVICE", FailureNoDevice},
	{"No such file or directory", FailureNoDevice},
	{"No such device", FailureNoDevice},
	{"Unable to parse device name", FailureUsage},
	{"Bad CRC", FailureBadImage},
	{"is out of image limits", FailureBadImage},
	{"Failed to query image", FailureBadImage},
	{"FW image verification failed", FailureBadImage},
	{"Cannot open Image", FailureBadImage},
	{"does not contain a ROM section", FailureSectionAbsent},
	{"Too few arguments", FailureUsage},
	{"Invalid command", FailureUsage},
	{"unrecognized option", FailureUsage},
	{"not allowed", FailureUsage},
	{"crspace read", FailureAccess},
	{"MFE_", FailureAccess},
}

// failureStatuses are those that say more than the text. Above 128 they are signals:
// 4.30 to 4.34 end with 139 on ConnectX-3. 75 is flock's for a taken lock, 7 that of a
// declined version question. 126 and 127 are a shell's if the program is missing.
var failureStatuses = map[int]FailureKind{
	7: FailureRefused, 75: FailureLocked, 126: FailureToolMissing, 127: FailureToolMissing,
	129: FailureInterrupted, 130: FailureInterrupted, 137: FailureInterrupted, 141: FailureInterrupted,
	143: FailureInterrupted,
	132: FailureCrashed, 134: FailureCrashed, 135: FailureCrashed, 136: FailureCrashed, 139: FailureCrashed,
}

// Diagnose reads the cause out of a run that failed: from its status, and from
// the texts of the tool, which are on standard output with few exceptions. A
// run with status 0 that printed no error did not fail.
func Diagnose(status int, stdout, stderr string) Failure {
	errs := ParseSession(stdout + "\n" + stderr).Errors
	line := ""
	switch {
	case len(errs) > 0:
		// The last error names the device or image; those before it are details
		// of the layers below.
		line = errs[len(errs)-1]
	case status != 0:
		// Without an error in its own form the tool ends with the reason.
		line = lastLine(stdout + "\n" + stderr)
	}
	if kind, ok := failureStatuses[status]; ok {
		return Failure{Kind: kind, Line: line}
	}
	if status == 0 && line == "" {
		return Failure{}
	}
	// In the whole output, not in the line: the reason may be in an error of a layer below.
	for _, f := range failureTexts {
		if strings.Contains(stdout, f.text) || strings.Contains(stderr, f.text) {
			return Failure{Kind: f.kind, Line: line}
		}
	}
	if strings.Contains(line, "Segmentation fault") {
		return Failure{Kind: FailureCrashed, Line: line}
	}
	return Failure{Kind: FailureOther, Line: line}
}
