package safety

import (
	"cmp"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/rollback"
)

// Firmware gives the verdict on having the image in the card's flash.
func Firmware(in FirmwareInput) Verdict {
	if in.Restore != nil {
		return restore(in)
	}
	v := Verdict{Action: ActionBurn, Activation: ActivationNone}
	v.From = in.Card.InFlash().Firmware
	v.To = in.Image.Firmware

	v.Findings = append(Image(in.Image), burnable(in.Image)...)
	if w, running := waitVerdict(in.Card, in.Host, v.Findings); running {
		return w
	}
	v.Findings = append(v.Findings, cardReach(in.Card, in.Host)...)
	if v.Blocked() {
		return seal(v, in.Card, false)
	}
	if Holds(in.Card, in.Image) && (!unreadContent(in) || in.Request.Reinstall != in.Image.FW.String()) {
		return alreadyThere(v, in)
	}
	v.Findings = slices.Concat(v.Findings, writable(in),
		stagedFindings(in.Card, finding.FlashNotRunning, in.Request.UnprovenFlash), identity(in.Card, in.Lab))
	if in.Card.FlashKnown() {
		v.ROM = bootrom.Of(in.bootROM())
		v.Findings = append(append(v.Findings, match(in)...), bootrom.Check(in.bootROM())...)
	}
	act, found := restartAfter(in.Card, in.Host, in.Request.Activation)
	v.Activation, v.Findings = act, slices.Concat(v.Findings,
		in.Found, machine(in.Card, in.Host, 4*in.Image.Size+spaceReserve),
		hostcheck.Path(&in.Host.Snapshot, in.Card.PCI, in.Request.ManagementPath), found,
		backup(in.Card, in.Backup), layoutFindings(in.Card, in.Image, in.Backup))
	v.Answers = burnAnswers(in)
	return seal(v, in.Card, in.Backup != nil)
}

// writable gives the findings on the flash and on the way to it.
func writable(in FirmwareInput) []finding.Finding {
	card := in.Card
	byFirmware := card.Secure() && card.firmwareUpdates() || card.ByDriver()
	if byFirmware && card.Rollback != nil && release.ChipUnproven(card.Chip.Name) == "" {
		if bad := Image(*card.Rollback); len(bad) > 0 {
			return bad
		}
		return rollback.Check(rollback.Input{Card: card.token(), Flash: card.InFlash(), HWID: card.HWID,
			Now: card.Rollback.compared(), New: in.Image.compared(), Consent: in.Request.WithoutCopy})
	}
	if card.ByDriver() && card.Rollback == nil {
		return nil // what keeps mstflint from the card refuses, and names the way out
	}
	found := rewritable(card)
	if card.ReadFlash() != nil {
		found = append(found, checkConnectX4(card, in.Image)...)
		found = append(found, pastFirmware(card, in.Image)...)
	}
	return found
}

// token is what a consent calls the card.
func (c CardFacts) token() string { return cmp.Or(c.Serial.Or(""), c.InFlash().GUIDs.Node.String()) }

func (i ImageFacts) compared() rollback.Image {
	return rollback.Image{Name: i.Name, SHA256: i.SHA256, Firmware: i.Firmware, HWIDs: i.HWIDs, Product: i.Product,
		Release: i.Release, ROM: i.ROM, Security: i.Security, Controlled: i.Controlled}
}

// Holds reports whether the flash already has the image. If both checksums are known
// they decide, else the build in the query of the flash. An empty PSID never equals
// another.
func Holds(card CardFacts, img ImageFacts) bool {
	if !card.Identified() || card.InFlash().Firmware != img.Firmware {
		return false
	}
	if card.Checksum != "" && img.Checksum != "" {
		return card.Checksum == img.Checksum
	}
	if !alike(card.InFlash().ReleaseDate, img.Release) {
		return false
	}
	// Of an image that the firmware has staged, the query has version and date. The product
	// version is still that of what runs (mstflint 4.21 and 4.31).
	staged := card.firmwareUpdates() && !card.InFlash().RunningFW.IsZero()
	return staged || alike(card.InFlash().ProductVersion, img.Product)
}

// unreadContent reports whether the content of a flash was to be compared with the image and
// could not be read.
func unreadContent(in FirmwareInput) bool {
	return !in.Card.Secure() && in.Card.Checksum == "" && in.Card.ChecksumWhy != "" && in.Image.Checksum != ""
}

// alike compares values that one side may not state.
func alike(a, b string) bool { return a == "" || b == "" || a == b }

// alreadyThere is the verdict if nothing is to be written: the card may still have to
// run it.
func alreadyThere(v Verdict, in FirmwareInput) Verdict {
	v.Action = ActionNone
	v.Findings = append(v.Findings, identity(in.Card, in.Lab)...)
	if unreadContent(in) {
		v.Findings = append(v.Findings, sameVersion(in.Card, in.Image, in.Request.Reinstall))
	}
	running, known := in.Card.Running.Get()
	if !known && in.Card.staged() == "" || known && running == in.Card.InFlash().Firmware {
		return seal(v, in.Card, false)
	}
	return seal(restartOnly(v, in.Card, in.Host, in.Request.Activation, in.Request.ManagementPath), in.Card, false)
}

// bootROM is what decides which boot ROM the card has afterwards.
func (in FirmwareInput) bootROM() bootrom.Input {
	flash := in.Card.InFlash()
	if back := in.Card.Rollback; in.Card.ByDriver() && back != nil { // it stands for what nobody can read
		flash.ROM, flash.ProductVersion = back.ROM, back.Product
	}
	return bootrom.Input{Later: laterChip(in.Card), Flash: bootrom.Has{ROM: flash.ROM, Product: flash.ProductVersion},
		Image: bootrom.Has{ROM: in.Image.ROM, Product: in.Image.Product}, Want: in.Request.BootROM}
}

// burnAnswers gives the questions of mstflint in this burn that may be answered with
// yes. The check in the job makes sure that flash and image are still the ones from
// which they were derived.
func burnAnswers(in FirmwareInput) []Question {
	var qs []Question
	if in.Image.FW.Compare(in.Card.InFlash().FW) <= 0 {
		qs = append(qs, QuestionVersion)
	}
	if in.Card.InFlash().PSID != in.Image.PSID {
		qs = append(qs, QuestionPSID)
	}
	return qs
}
