package safety

import (
	"cmp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// laterChip reports whether a card is newer than ConnectX-3: its images are FS3 or FS4,
// and its GUIDs are beside the firmware and not in it.
func laterChip(card CardFacts) bool { return card.Chip.Format != "" && card.Chip.Format != "FS2" }

// firmwareUpdates reports whether mstflint has the running firmware write an image. What it
// reads it reads directly, unless the firmware is secure.
func (c CardFacts) firmwareUpdates() bool { return strings.EqualFold(c.UpdateMethod, ByFirmware) }

// ByFirmware is the update method of a card whose running firmware writes the flash.
const ByFirmware = "fw_ctrl"

// bootable refuses a restart unless the flash holds an image that is known to be whole.
func bootable(card CardFacts) []finding.Finding {
	var f finding.Finding
	switch {
	case !card.FlashKnown():
		f = finding.RestartIntoDamagedFlash.Find("The flash of card %s cannot be read: %s", card.PCI,
			cmp.Or(card.FlashError, "the query gave no answer"))
		if card.FlashFailure == inventory.FlashLocked {
			f = f.WithWayOut(waitForLock)
		}
	case card.Verified == VerifyGood || card.Verified == VerifyBlank:
		return nil
	default:
		f = finding.RestartIntoDamagedFlash.Find("mstflint verify of card %s: %s", card.PCI,
			cmp.Or(card.VerifyError, "no answer"))
		if card.Verified == VerifyUnknown && card.GuardsItself() {
			f.Severity = finding.Warn
			f.Summary = "The flash of card " + card.PCI.String() + " cannot be verified before the restart"
			f = f.WithWayOut("Its firmware writes the flash itself, and keeps the old image until the new one is whole.")
		}
	}
	return withAddress([]finding.Finding{f}, card.PCI) // it may be another card than the request's
}

// Secure reports whether the firmware of a card lets no tool read the flash.
func (c CardFacts) Secure() bool { return securityAttributes(c.InFlash().SecurityAttrs) != "" }

// WithoutCopy reports whether no copy of the flash can be made: its firmware or the kernel lets no tool read it.
func (c CardFacts) WithoutCopy() bool { return c.Secure() || c.ByDriver() }

// byDriver is a finding on what keeps mstflint from a card: no obstacle where the driver can burn.
func (c CardFacts) byDriver(f finding.Finding) finding.Finding {
	switch {
	case c.ByDriver() && c.Rollback != nil:
		return f.AsGranted("The driver of the card has its firmware write the image (devlink), since mstflint cannot")
	case c.ByDriver():
		f.WayOut += " Or name an image of what the card has as `rollback_image_id`: then its driver has the firmware write " +
			"the new one (devlink)."
	}
	return f
}

// GuardsItself reports whether the firmware of a card, or the kernel, keeps mstflint from its flash, so that no tool
// may be able to verify it from outside. Nobody writes it past that firmware (FW042, FW061).
func (c CardFacts) GuardsItself() bool {
	return c.WithoutCopy() || release.CopyUnproven(c.Chip.Name) != "" || release.OnlyByFirmware(c.Chip.Name) != ""
}

// mayNotStart reports whether what was read of a flash speaks against a restart. One that
// could not be asked says nothing.
func mayNotStart(card CardFacts) bool {
	if card.FlashKnown() {
		return card.Verified == VerifyBad
	}
	return !card.FlashTaken && card.FlashFailure != inventory.FlashUsersUnknown && !notPermitted(card)
}

// notPermitted reports whether the flash was not read for want of rights.
func notPermitted(card CardFacts) bool { return strings.Contains(card.FlashError, "Permission denied") }

// waitForLock is the way out where our own lock of the cards was taken. It says nothing about the
// card: a job holds it for every card of the host.
const waitForLock = "Another operation of this provider is at a card of the host: a job that writes one, or a plan " +
	"that reads. Wait until it has ended, and plan again. `terraform-provider-infiniband watch` shows the jobs."

// heldByTheDead reports whether the flash of a later chip was not read in the way in which mstflint
// fails behind a tool that was killed: the semaphore of the configuration space is set (at once),
// or that of the command interface (after more than a minute).
func heldByTheDead(card CardFacts) bool {
	return laterChip(card) && (strings.Contains(card.FlashError, "No such file or directory. MFE_CR_ERROR") ||
		strings.Contains(card.FlashError, "did not answer in time"))
}

// securityAttributes gives the attributes that forbid another image. With a plain
// "signed-fw" the tool can still write flash directly.
func securityAttributes(attrs string) string {
	low := strings.ToLower(attrs)
	if strings.Contains(low, "secure") || strings.Contains(low, "controlled") {
		return attrs
	}
	return ""
}
