package safety

import (
	"cmp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// laterChip reports whether a card is newer than ConnectX-3: its images are FS3 or FS4,
// and its GUIDs are beside the firmware and not in it.
func laterChip(card CardFacts) bool { return card.Chip.Format != "" && card.Chip.Format != "FS2" }

// Unproven says why a chip is not burned; empty if it is.
func Unproven(chip ib.Chip) string { return unprovenChips[chip.Name] }

// unprovenChips says why a chip is not burned. For the chips that are not listed, whole
// burns with the real mstflint 4.21 were watched (package testbed).
var unprovenChips = map[string]string{
	"Connect-IB":    "its device data have a layout of their own",
	"ConnectX-6":    "mstflint signs the image anew during the burn, which was not tried",
	"ConnectX-6 Dx": unprovenSecure, "ConnectX-6 Lx": unprovenSecure, "ConnectX-7": unprovenSecure,
}

const unprovenSecure = "life cycle, security version and signatures decide whether it boots an image, which was not " +
	"tried"

// checkConnectX4 gives the findings that concern burns of later chips only.
func checkConnectX4(card CardFacts) []finding.Finding {
	if !laterChip(card) {
		return nil
	}
	var found []finding.Finding
	if why := Unproven(card.Chip); why != "" {
		found = append(found, finding.ChipUnproven.Find("The card is a %s: %s", card.Chip.Name, why))
	}
	attributes := card.InFlash().SecurityAttrs // the tool writes N/A for none
	known := strings.EqualFold(card.UpdateMethod, "Legacy") || card.firmwareUpdates()
	if securityAttributes(attributes) != "" || attributes != "" && known {
		return found // FW042 says what secure firmware means
	}
	return append(found, finding.UpdateMethodUnknown.Find("mstflint q full: Default Update Method: %s; Security "+
		"Attributes: %s",
		cmp.Or(card.UpdateMethod, "not known"), cmp.Or(attributes, "not known")))
}

// firmwareUpdates reports whether mstflint has the running firmware write an image. What it
// reads it reads directly, unless the firmware is secure.
func (c CardFacts) firmwareUpdates() bool { return strings.EqualFold(c.UpdateMethod, "fw_ctrl") }

// pastFirmware says that a burn bypasses the running firmware, which would write other
// images of this card itself. mstflint leaves its way without a word for another PSID and
// for an image without a signature (4.21, in its source and in the testbed).
func pastFirmware(card CardFacts, img ImageFacts) []finding.Finding {
	switch {
	case !card.firmwareUpdates():
		return nil
	case card.InFlash().PSID != img.PSID:
		return []finding.Finding{finding.BurnBypassesFirmware.Find("The image has another PSID")}
	case !img.Controlled:
		return []finding.Finding{finding.BurnBypassesFirmware.Find("%s has no signature", img.Name)}
	}
	return nil
}

// layoutFindings gives the finding on an image with another flash layout than the
// card's. Only the backup shows what the card has, so this is asked just before the
// burn.
func layoutFindings(card CardFacts, img ImageFacts, b *BackupFacts) []finding.Finding {
	switch {
	case b == nil || !laterChip(card):
		return nil
	case b.Layout.Slot == 0:
		return []finding.Finding{unread(finding.FlashDividedOtherwise, "How the flash is divided",
			"the backup does not show it")}
	}
	if img.Slot == b.Layout.Slot && img.Version <= b.Layout.Version {
		return nil
	}
	return []finding.Finding{finding.FlashDividedOtherwise.Find("Slots of %d KiB and layout version %d in the image, %d "+
		"KiB and %d in the flash",
		img.Slot>>10, img.Version, b.Layout.Slot>>10, b.Layout.Version)}
}
