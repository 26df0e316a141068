package release

import "cmp"

// ChipUnproven says why a chip is burned in no way; empty if it is. For the chips that are not
// listed, whole burns with the real mstflint 4.21 were watched (package testbed).
func ChipUnproven(chip string) string { return unprovenChips[chip] }

var unprovenChips = map[string]string{
	"Connect-IB": "its device data have a layout of their own",
}

// CopyUnproven says why a chip is not burned where a copy of the flash comes first; empty if it is.
// With secure firmware no copy can be made, and none is asked for.
func CopyUnproven(chip string) string { return cmp.Or(ChipUnproven(chip), unprovenCopies[chip]) }

var unprovenCopies = map[string]string{
	"ConnectX-7": "mstflint 4.21 does not find its flash on the emulated card, so that no backup was tried",
}

// OnlyByFirmware says why a chip is burned by its own firmware and never past it; empty if
// both ways were watched. Where the firmware writes, it also judges the image.
func OnlyByFirmware(chip string) string { return pastFirmwareUnproven[chip] }

var pastFirmwareUnproven = map[string]string{
	"ConnectX-6":    "mstflint signs the image anew when it writes directly, which was not tried",
	"ConnectX-6 Dx": unprovenSecure, "ConnectX-6 Lx": unprovenSecure,
}

const unprovenSecure = "life cycle, security version and signatures decide whether it boots an image that mstflint " +
	"writes directly, which was not tried"
