package safety

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/boards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/runbook"
)

// cardReach gives the findings on whether the card can be worked on at all. If one
// blocks, the other facts mean nothing.
func cardReach(card CardFacts, host HostFacts) []finding.Finding {
	var found []finding.Finding
	switch {
	case card.Virtual:
		found = append(found, finding.CardOtherFunction.Find("%s is a virtual function", card.PCI))
	case card.VendorID != ib.MellanoxVendor:
		found = append(found, unsupportedCard(card))
	case card.Livefish:
		found = append(found, inRecovery(card, host))
	case card.Chip.Name == "":
		found = append(found, unsupportedCard(card))
	}
	if card.PCI.Function() != 0 {
		found = append(found, finding.CardOtherFunction.Find("%s is function %d", card.PCI,
			card.PCI.Function()).WithWayOut("Name "+card.PCI.Slot()+".0."))
	}
	found = append(found, driverFindings(card, host)...)
	found = append(found, toolFindings(card, host)...)
	return append(found, hostcheck.CardUsers(&host.Snapshot, card.PCI, card.InUse)...)
}

func inRecovery(card CardFacts, host HostFacts) finding.Finding {
	return finding.CardInRecovery.Find("%s shows its recovery id %04x:%04x", card.PCI, card.VendorID, card.DeviceID).
		WithWayOut(runbook.Recovery(card.runbook(host)))
}

// unsupportedCard says what a card is whose firmware and GUIDs are left alone.
func unsupportedCard(card CardFacts) finding.Finding {
	a, known := ib.AdapterByPCI(card.VendorID, card.DeviceID)
	switch {
	case known && a.Firmware != "":
		return finding.CardUnsupported.Find("%s is %s (%04x:%04x): %s", card.PCI, a.Name, card.VendorID, card.DeviceID,
			a.Firmware).
			WithWayOut("Leave the resource out of the configuration. infiniband_card, infiniband_opensm and " +
				"infiniband_ipoib_interface work with this card.")
	case card.VendorID == ib.MellanoxVendor:
		return finding.CardUnsupported.Find("%s has PCI id %04x:%04x, which the table of chips does not hold", card.PCI,
			card.VendorID, card.DeviceID)
	}
	return finding.CardUnsupported.Find("%s has PCI id %04x:%04x", card.PCI, card.VendorID, card.DeviceID)
}

// runbook is what a person needs to know of a card whose flash does not start.
func (c CardFacts) runbook(host HostFacts) runbook.Card {
	card := runbook.Card{PCI: c.PCI, Host: c.Host, BackupDir: cmp.Or(host.BackupDir, "backup_dir"), Later: laterChip(c),
		Part: c.PartNumber}
	if b, known := boards.OfPart(c.PartNumber); known && b.PSID != "" {
		card.Board = b.PSID.String()
	}
	return card
}

// wayOutWithBackup adds the command that works to the way out of a flash that is proven to
// be damaged. One that cannot be read may be whole, and is not for such a command.
func wayOutWithBackup(f finding.Finding, card CardFacts) finding.Finding {
	return f.WithWayOut(f.Rule.WayOut + "\nTo write the backup of this very card (card.json in backup_dir/" + card.Host +
		"/CARD/TIME/ on the machine that runs Terraform has the serial number and the GUIDs): " +
		runbook.WriteBack(card.runbook(HostFacts{})) +
		" Never do so with any other file.")
}

func toolFindings(card CardFacts, host HostFacts) []finding.Finding {
	if !host.MSTFlint.Present {
		return []finding.Finding{card.byDriver(finding.MstflintMissing.Find("No mstflint on %s's PATH",
			host.Host).WithWayOut(host.Support.mstflint(card)))}
	}
	grade, why := release.Check("mstflint", host.MSTFlint.Version, card.Chip.Format)
	switch grade {
	case release.Crashes, release.Removed, release.TooOld, release.Unread:
		return []finding.Finding{finding.MstflintUnsuitable.Find("%s has mstflint %s: %s", host.Host,
			cmp.Or(host.MSTFlint.Version, "of an unknown version"), why).WithWayOut(host.Support.mstflint(card))}
	case release.Unproven:
		return []finding.Finding{finding.MstflintUnproven.Find("%s has mstflint %s: %s", host.Host, host.MSTFlint.Version,
			why).WithWayOut(host.Support.mstflint(card))}
	case release.Works:
	}
	return nil
}

// driverFindings says if the kernel of the host has no driver for the chip: the card
// can be burned there, and nothing will use it.
func driverFindings(card CardFacts, host HostFacts) []finding.Finding {
	if card.Driver != "" || host.Support.NoDriver == "" {
		return nil
	}
	return []finding.Finding{finding.CardWithoutDriver.Find("%s runs %s: %s", host.Host,
		cmp.Or(host.OS.Kernel, "an unknown kernel"), host.Support.NoDriver)}
}

// cardState gives the findings on what is in the card's flash now.
func cardState(card CardFacts) []finding.Finding {
	if card.ReadFlash() == nil {
		f := finding.FlashUnreadable.Find("%s", cmp.Or(card.FlashError, "the query gave no answer"))
		switch {
		case card.FlashFailure == inventory.FlashLocked:
			f = f.WithWayOut(waitForLock)
		case card.FlashTaken:
			f = f.WithWayOut(hostcheck.Semaphore(card.PCI))
		case heldByTheDead(card):
			f = f.WithWayOut(hostcheck.DeadSemaphore(card.PCI))
		case notPermitted(card):
			f = f.WithWayOut("Reading the flash needs root. With become = \"none\" commands run as the user of the host's " +
				"entry: write become = \"auto\", or user = \"root\".")
		}
		return []finding.Finding{f}
	}
	var found []finding.Finding
	if s := securityAttributes(card.InFlash().SecurityAttrs); s != "" {
		found = append(found, finding.FirmwareSecure.Find("Security attributes: %s", s))
	}
	switch {
	case card.Verified == VerifyBad:
		found = append(found, wayOutWithBackup(finding.FlashDamaged.Find("%s",
			cmp.Or(card.VerifyError, "mstflint verify failed")), card))
	case card.Verified == VerifyUnknown && !card.Secure():
		found = append(found, finding.FlashUnverified.Find("%s",
			cmp.Or(card.VerifyError, "mstflint verify has not been run")))
	}
	return found
}

// rewritable gives the findings on a flash that is to be written, whatever is written:
// an image, or the GUIDs, for which the tool burns the image in flash once more.
func rewritable(card CardFacts) []finding.Finding {
	found := cardState(card)
	if card.ReadFlash() == nil {
		return found
	}
	whole := card.Verified == VerifyGood || card.Verified == VerifyBlank
	switch {
	case card.Failsafe == FailsafeNo:
		found = append(found, finding.FlashNotFailsafe.Find("mstflint verify calls the image in flash non-failsafe"))
	case card.Failsafe == FailsafeUnknown && whole:
		found = append(found, finding.FlashNotFailsafe.Unread("The layout of the flash",
			"mstflint verify did not say whether it is failsafe"))
	}
	if !card.Identified() {
		found = append(found, finding.PSIDUnknown.Find("mstflint query shows no PSID"))
	}
	return found
}

// stagedFindings compares flash and running firmware; rule is what a difference means to
// the caller, and consent the version that may be written over unseen.
func stagedFindings(card CardFacts, rule *finding.Rule, consent string) []finding.Finding {
	if !card.FlashKnown() {
		return nil
	}
	running, known := card.Running.Get()
	if !known && card.staged() != "" {
		return awaitsRestart(card, rule,
			"In flash: %s %s. Job %s wrote it since the host started, and the card has not been restarted.",
			cmp.Or(card.InFlash().PSID, "no PSID"), card.InFlash().FW, card.staged())
	}
	if !known {
		return []finding.Finding{unprovenFinding(card, consent)}
	}
	if card.RunningAssumed && running == card.InFlash().Firmware {
		return []finding.Finding{finding.RunningUnknown.Find("No RDMA device of %s shows its PSID; mstflint sees no other "+
			"version running than %s, which is in flash", card.PCI, card.InFlash().FW).
			AsGranted("What the card runs is taken to be what is in its flash")}
	}
	if running == card.InFlash().Firmware {
		return nil
	}
	by := ""
	if card.staged() != "" {
		by = " Job " + card.staged() + " wrote it since the host started."
	}
	return awaitsRestart(card, rule, "In flash: %s %s.%s Running: %s %s.", cmp.Or(card.InFlash().PSID, "no PSID"),
		card.InFlash().FW, by, cmp.Or(running.PSID, "a PSID that no driver shows,"), running.FW)
}

// unprovenFinding is the finding on firmware of which nothing shows that it runs. A write over it
// asks for consent.
func unprovenFinding(card CardFacts, consent string) finding.Finding {
	flash, driver := card.InFlash().FW.String(), cmp.Or(card.Driver, "none")
	f := finding.RunningUnknown.Find("In flash: %s %s. Driver: %s.", cmp.Or(card.InFlash().PSID, "no PSID"), flash, driver)
	f = f.WithConsent(f.Rule.ConsentLine(strconv.Quote(flash)))
	switch {
	case card.started() != "":
		f.Consent = ""
		f.Evidence += " Job " + card.started() + " wrote it before the last start of the host."
		return f.AsGranted("What the card runs is taken to be what is in its flash")
	case consent == flash:
		return f.AsGranted("Write over firmware " + flash + ", which nothing shows to have run, as allowed")
	case consent != "":
		f.Evidence = fmt.Sprintf("%s is %q. ", f.Rule.ConsentName(), consent) + f.Evidence
	}
	return f
}

// awaitsRestart is the finding on firmware that the card does not run yet. It must
// not advise a restart into a flash that may not start.
func awaitsRestart(card CardFacts, rule *finding.Rule, format string, args ...any) []finding.Finding {
	f := rule.Find(format, args...)
	if len(bootable(card)) > 0 || !card.Identified() {
		f = f.WithWayOut(finding.RestartIntoDamagedFlash.WayOut)
	}
	return []finding.Finding{f}
}

// identity gives the findings on the GUIDs and MACs in flash. For a burn they are
// remarks: the burn keeps them.
func identity(card CardFacts, lab clash.Facts) []finding.Finding {
	if card.ReadFlash() == nil {
		return nil
	}
	g := card.InFlash().GUIDs
	found := missingGUIDs(g)
	if card.InFlash().BlankGUIDs {
		found = []finding.Finding{finding.FlashGUIDsNeverSet.Find("mstflint: GUIDs/MACs values and their CRC are not set")}
	}
	for _, clash := range lab.Clashes(card.Host, card.PCI, g) {
		found = append(found, finding.FlashGUIDsShared.Find("%s", clash))
	}
	return append(found, lab.SecondNames(card.Host, card.PCI, g)...)
}

// missingGUIDs gives the findings on an identity of which a part is no value.
func missingGUIDs(g ib.GUIDSet) []finding.Finding {
	if g.Node.IsZero() || g.Port1.IsZero() || g.MAC1.IsZero() {
		return []finding.Finding{finding.FlashGUIDsZero.Find("Node %s, port 1 %s, port 2 %s, MAC %s", g.Node, g.Port1,
			g.Port2, g.MAC1)}
	}
	return nil
}
