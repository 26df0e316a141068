package safety

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/boards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// match compares image and card; both are readable. Of an image that no consent brings onto this
// card, no consent is asked.
func match(in FirmwareInput) []finding.Finding {
	found := append(matchSilicon(in.Card, in.Image), matchLayout(in.Card, in.Image)...)
	if slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Attribute == "image_id" }) {
		return found
	}
	found = append(found, matchPSID(in)...)
	found = append(found, matchBoard(in)...)
	if in.Card.InFlash().PSID == in.Image.PSID || in.Card.InFlash().FW.Major == in.Image.FW.Major {
		found = append(found, matchVersion(in)...)
		found = append(found, matchBranch(in.Card.InFlash().FW, in.Image.FW, in.Request.Branch)...)
	}
	return found
}

// matchBoard compares the boards that card and image name, where they do: the
// PSID says that they differ, and this says in what.
//
// Whether their ports differ, the table of boards says, which asks for a consent. Without it the
// models tell, and that is a warning.
func matchBoard(in FirmwareInput) []finding.Finding {
	card, img := in.Card, in.Image
	if f, differs := otherBoard(in); differs {
		return []finding.Finding{f}
	}
	has, wants := boards.Model(card.PartNumber), boards.Model(img.PRSName)
	if wants == "" {
		wants = boards.Model(img.PartNumber)
	}
	if wants == "" {
		return nil
	}
	ports := len(card.Ports)
	if laterChip(card) {
		ports = 0 // each port is a PCI function of its own, and only the first is looked at
	}
	if has != "" {
		ports = boards.PortsOfModel(has)
	}
	var found []finding.Finding
	if has != "" && has != wants {
		found = append(found, finding.ImageForOtherModel.Find("The card's part number is %s; %s was made for %s (%s)",
			card.PartNumber, img.Name, wants, cmp.Or(img.PRSName, img.PartNumber)))
	}
	if n := boards.PortsOfModel(wants); ports > 0 && n != ports {
		f := finding.ImageForOtherPortCount.Find("The card (%s) has %d; %s was made for %s with %d",
			cmp.Or(card.PartNumber, "no part number"), ports, img.Name, wants, n)
		f.Severity = finding.Warn
		found = append(found, f.WithWayOut("Use the image of a board with as many ports."))
	}
	return found
}

// otherBoard is the finding on an image of a board that has another number of ports by the table.
func otherBoard(in FirmwareInput) (f finding.Finding, differs bool) {
	has, known := boards.OfPart(in.Card.PartNumber)
	if !known {
		has, _ = boards.OfPSID(in.Card.InFlash().PSID)
	}
	wants, known := boards.OfPSID(in.Image.PSID)
	if !known {
		wants, _ = boards.OfPart(in.Image.PartNumber)
	}
	if has.Ports == 0 || wants.Ports == 0 || has.Ports == wants.Ports {
		return f, false
	}
	f = finding.ImageForOtherPortCount.Find("The card is a %s with %d (%s). %s is for %s with %d (%s)", has.Name(),
		has.Ports, has.Source, in.Image.Name, wants.Name(), wants.Ports, wants.Source)
	psid := in.Image.PSID.String()
	f = f.WithConsent(f.Rule.ConsentLine(strconv.Quote(psid)))
	if in.Request.OtherBoard == psid || in.Restore != nil { // a restore brings back what the card had
		return f.AsGranted("Image of a board with another number of ports, as allowed"), true
	}
	return f, true
}

func matchSilicon(card CardFacts, img ImageFacts) []finding.Finding {
	var found []finding.Finding
	if card.Chip.Format != "" && img.Format != card.Chip.Format {
		found = append(found, finding.ImageFormatOfOtherChip.Find("The card is a %s, which boots %s; %s is %s",
			card.Chip.Name, card.Chip.Format, img.Name, img.Format))
	}
	silicon, known := card.HWID.Get()
	if !known {
		return append(found, finding.HardwareIDUnknown.Find("%s", card.HWID.Why()))
	}
	if slices.Contains(img.HWIDs, silicon) || len(img.HWIDs) == 0 {
		return found
	}
	names := make([]string, 0, len(img.HWIDs))
	sameChip := false
	for _, h := range img.HWIDs {
		names = append(names, h.Describe())
		sameChip = sameChip || h.ID == silicon.ID
	}
	rule := finding.ImageForOtherChip
	if sameChip {
		rule = finding.ImageForOtherRevision
	}
	return append(found, rule.Find("The card is %s; %s is for %s", silicon.Describe(), img.Name,
		strings.Join(names, ", ")))
}

func matchLayout(card CardFacts, img ImageFacts) []finding.Finding {
	if card.Failsafe == FailsafeYes && !img.Failsafe {
		return []finding.Finding{finding.ImageNotFailsafe.Find("The flash is failsafe; %s is not", img.Name)}
	}
	return nil
}

func matchPSID(in FirmwareInput) []finding.Finding {
	card, img, of := in.Card, in.Image, in.Request.PSIDChangeOf
	if !card.Identified() {
		return nil // FW025 says so, of each write
	}
	if card.InFlash().PSID == img.PSID {
		return nil
	}
	from, to := card.InFlash().PSID, img.PSID
	observed := fmt.Sprintf("In flash: %s. In the image: %s.", boards.Describe(from), boards.Describe(to))
	f := consented(in.Request.PSIDChange, from, to, finding.PSIDWouldChange, "Cross-flash", observed)
	if f.Severity.Blocks() || in.Restore != nil {
		return []finding.Finding{f}
	}
	rule, off := finding.PSIDWouldChange, ""
	if of.Card != "" && of.Card != card.token() {
		off = fmt.Sprintf("%s.card is %q, and this card is %q. ", rule.ConsentName(), of.Card, card.token())
	}
	if of.Image != "" && !strings.EqualFold(of.Image, img.SHA256) {
		off += fmt.Sprintf("%s.image_sha256 is %q, and the image has %q. ", rule.ConsentName(), of.Image, img.SHA256)
	}
	if off == "" {
		return []finding.Finding{f}
	}
	line := fmt.Sprintf(`{ from = %q, to = %q, card = %q, image_sha256 = %q }`, from, to, card.token(), img.SHA256)
	return []finding.Finding{otherConsent(rule.Find("%s%s", off, observed).WithConsent(rule.ConsentLine(line)),
		"another card or image")}
}

// consented is a finding on a change that exactly its pair of values allows.
func consented[T comparable](consent *Change[T], from, to T, asks *finding.Rule, change, seen string) finding.Finding {
	line := asks.ConsentLine(fmt.Sprintf(`{ from = "%v", to = "%v" }`, from, to))
	switch {
	case consent == nil:
		return asks.Find("%s", seen).WithConsent(line)
	case *consent != (Change[T]{from, to}):
		off := offBy(asks.ConsentName(), fmt.Sprint(consent.From), fmt.Sprint(consent.To), fmt.Sprint(from), fmt.Sprint(to))
		return otherConsent(asks.Find("%s %s", off, seen).WithConsent(line), "another pair")
	}
	return asks.Find("%s", seen).WithConsent(line).
		AsGranted(fmt.Sprintf("%s from %v to %v, as allowed", change, from, to))
}

// otherConsent is a finding on a change whose consent names other values than those observed.
func otherConsent(f finding.Finding, names string) finding.Finding {
	f.Summary = f.Rule.ConsentName() + " names " + names + " than the one observed"
	return f.WithWayOut("Check that this is the card and the image that you mean. If so, write:")
}

// offBy says which half of a consent does not hold.
func offBy(attribute, haveFrom, haveTo, from, to string) string {
	var off []string
	if haveFrom != from {
		off = append(off, fmt.Sprintf("%s.from is %q but the card has %q", attribute, haveFrom, from))
	}
	if haveTo != to {
		off = append(off, fmt.Sprintf("%s.to is %q but the image has %q", attribute, haveTo, to))
	}
	return strings.Join(off, "; ") + "."
}

func matchVersion(in FirmwareInput) []finding.Finding {
	card, img := in.Card, in.Image
	switch c := img.FW.Compare(card.InFlash().FW); {
	case c < 0:
		return []finding.Finding{olderVersion(card.InFlash().FW, img.FW, in.Request.Downgrade)}
	case c == 0 && card.InFlash().PSID == img.PSID:
		return []finding.Finding{sameVersion(card, img, in.Request.Reinstall)}
	}
	return nil
}

func olderVersion(from, to ib.FWVersion, consent *Change[ib.FWVersion]) finding.Finding {
	return consented(consent, from, to, finding.VersionWouldBeOlder, "Downgrade",
		fmt.Sprintf("In flash: %s. In the image: %s.", from, to))
}

// matchBranch compares the branches that both versions state.
func matchBranch(from, to ib.FWVersion, consent *Change[ib.FWVersion]) []finding.Finding {
	has, states := from.Branch()
	wants, too := to.Branch()
	if !states || !too || has == wants {
		return nil
	}
	return []finding.Finding{consented(consent, from, to, finding.BranchWouldChange, "Change of branch",
		fmt.Sprintf("In flash: %s, of branch %d. In the image: %s, of branch %d.", from, has, to, wants))}
}

// sameVersion is asked when the contents differ, or when that of the flash was to be
// compared and could not be read.
func sameVersion(card CardFacts, img ImageFacts, consent string) finding.Finding {
	rule := finding.VersionWouldBeSame
	line := rule.ConsentLine(fmt.Sprintf("%q", img.FW))
	observed := fmt.Sprintf("Both have PSID %s and version %s; checksum in flash %s, of the image %s (GUIDs and vendor "+
		"data left out).",
		img.PSID, img.FW, cmp.Or(card.Checksum, "unknown"), cmp.Or(img.Checksum, "unknown"))
	if card.Checksum == "" && card.ChecksumWhy != "" {
		observed += " The checksum in flash could not be read: " + card.ChecksumWhy + "."
	}
	switch {
	case consent == "":
		return rule.Find("%s", observed).WithConsent(line)
	case consent != img.FW.String():
		return otherConsent(rule.Find("%s is %q. %s", rule.ConsentName(), consent, observed).WithConsent(line),
			"another version")
	}
	return rule.Find("%s", observed).WithConsent(line).
		AsGranted("Reinstallation of " + img.FW.String() + ", as allowed")
}

// checkConnectX4 gives the findings that concern burns of later chips only.
func checkConnectX4(card CardFacts, img ImageFacts) []finding.Finding {
	if !laterChip(card) {
		return nil
	}
	var found []finding.Finding
	direct := bypass(card, img)
	if why := release.CopyUnproven(card.Chip.Name); why != "" {
		found = append(found, finding.ChipUnproven.Find("The card is a %s: %s", card.Chip.Name, why))
	} else if why = release.OnlyByFirmware(card.Chip.Name); why != "" && direct != "" {
		found = append(found, finding.ChipUnproven.Find("The card is a %s: %s. %s", card.Chip.Name, why, direct).WithWayOut(
			"Burn a signed image with the PSID of the card, while its firmware writes the flash (fw_ctrl)."))
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

// checkOneBase refuses a later chip whose firmware does not take GUIDs: mstflint would write its
// flash behind the running firmware, with -ocr.
func checkOneBase(card CardFacts) []finding.Finding {
	switch why := release.CopyUnproven(card.Chip.Name); {
	case !laterChip(card):
	case why != "":
		return []finding.Finding{finding.GUIDsUnsupported.Find("The card is a %s: %s", card.Chip.Name, why)}
	case card.firmwareUpdates():
	case !strings.EqualFold(card.UpdateMethod, "Legacy"):
		return []finding.Finding{finding.UpdateMethodUnknown.Find("mstflint q full: Default Update Method: %s",
			cmp.Or(card.UpdateMethod, "not known"))}
	default:
		return []finding.Finding{finding.GUIDsUnsupported.Find("The card is a %s, Default Update Method: %s",
			card.Chip.Name, card.UpdateMethod)}
	}
	return nil
}

// pastFirmware says that a burn bypasses the running firmware, which would write other
// images of this card itself. mstflint leaves its way without a word for another PSID and
// for an image without a signature (4.21, in its source and in the testbed).
func pastFirmware(card CardFacts, img ImageFacts) []finding.Finding {
	if why := bypass(card, img); why != "" && card.firmwareUpdates() {
		return []finding.Finding{finding.BurnBypassesFirmware.Find("%s", why)}
	}
	return nil
}

// bypass says why mstflint writes an image directly; empty if it has the running firmware write it.
func bypass(card CardFacts, img ImageFacts) string {
	switch {
	case !card.firmwareUpdates():
		return "Default Update Method: " + cmp.Or(card.UpdateMethod, "not known")
	case card.InFlash().PSID != img.PSID:
		return "The image has another PSID"
	case !img.Controlled:
		return img.Name + " has no signature"
	}
	return ""
}

// layoutFindings gives the finding on an image with another flash layout than the
// card's. Only the backup shows what the card has, so this is asked just before the
// burn.
func layoutFindings(card CardFacts, img ImageFacts, b *BackupFacts) []finding.Finding {
	switch {
	case b == nil || !laterChip(card) || card.Secure():
		return nil
	case b.Layout.Slot == 0:
		return []finding.Finding{finding.FlashDividedOtherwise.Unread("How the flash is divided",
			"the backup does not show it")}
	}
	if img.Slot == b.Layout.Slot && img.Version <= b.Layout.Version {
		return nil
	}
	return []finding.Finding{finding.FlashDividedOtherwise.Find("Slots of %d KiB and layout version %d in the image, %d "+
		"KiB and %d in the flash",
		img.Slot>>10, img.Version, b.Layout.Slot>>10, b.Layout.Version)}
}
