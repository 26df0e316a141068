package safety

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/rollback"
)

// restore gives the verdict on burning a backup back.
func restore(in FirmwareInput) Verdict {
	r := *in.Restore
	in.Restore = nil
	if found := r.refusals(in); len(found) > 0 {
		return seal(Verdict{Action: ActionBurn, Activation: ActivationNone, Findings: found}, in.Card, false)
	}
	in.Request.PSIDChange = &Change[ib.PSID]{From: r.Left.PSID, To: in.Image.PSID}
	in.Request.Downgrade = &Change[ib.FWVersion]{From: r.Left.FW, To: in.Image.FW}
	in.Request.Branch = &Change[ib.FWVersion]{From: r.Left.FW, To: in.Image.FW}
	in.Request.Reinstall = in.Image.FW.String()
	if in.Card.Rollback != nil {
		back := *in.Card.Rollback
		back.Security = in.Image.Security // the card ran what goes back
		in.Card.Rollback = &back
		in.Request.WithoutCopy = rollback.Consent{Card: in.Card.token(), Rollback: in.Card.Rollback.SHA256,
			Image: in.Image.SHA256}
	}
	in.Request.BootROM = bootrom.Image            // what was there before, to the byte
	in.Request.UnprovenFlash = r.Left.FW.String() // what ran before it is what is written back
	v := Firmware(in)
	for i := range v.Findings {
		v.Findings[i] = finding.AtDestroy(v.Findings[i])
	}
	return v
}

// refusals are the reasons that lie in the backup and in what became of the card.
func (r RestoreFacts) refusals(in FirmwareInput) []finding.Finding {
	switch {
	case r.Missing != "":
		return []finding.Finding{finding.BackupMissing.Find("%s: %s", cmp.Or(r.Path, "(none)"), r.Missing)}
	case r.Damaged != "":
		return []finding.Finding{finding.BackupDamaged.Find("%s: %s", r.Path, r.Damaged)}
	case r.Unproven != "":
		return []finding.Finding{finding.BackupDamaged.Find("%s: %s", r.Path, r.Unproven).WithWayOut(
			"Write on_destroy = \"keep\" and apply. To burn the file, put its SHA-256, if you know it from elsewhere, " +
				"as sha256 into an infiniband_firmware_image of the file, and burn that with an infiniband_firmware.")}
	case r.Other != "":
		return []finding.Finding{finding.BackupOfOtherCard.Find("%s: %s", r.Path, r.Other)}
	}
	_, busy := waitVerdict(in.Card, in.Host, nil)
	now := in.Card.InFlash().Firmware
	if busy || !in.Card.Identified() || now == r.Left || Holds(in.Card, in.Image) {
		return nil
	}
	return []finding.Finding{finding.FlashChangedSinceBurn.Find("In flash: %s. Burned by this resource: %s. In the "+
		"backup: %s %s.", describeFlash(now), describeFlash(r.Left), in.Image.PSID, in.Image.FW)}
}

func describeFlash(f ib.Firmware) string {
	return fmt.Sprintf("%s %s", cmp.Or(f.PSID, "no PSID"), f.FW)
}

// backupSpace is what two reads of a flash need at most: 16 MiB is the largest
// one that these cards have.
const backupSpace = 2*16<<20 + spaceReserve

// backupRules are the findings on a host that also hold if nothing is written
// to the card.
var backupRules = []*finding.Rule{
	finding.KernelLockedDown, finding.FlashJobRunning, finding.HostWithoutSpace, finding.HostObserved,
	finding.BackupDirNotSet, finding.BackupDirUnusable,
}

// BackupInput is everything the verdict on taking a backup depends on.
type BackupInput struct {
	Card CardFacts
	Host HostFacts
	// Backup is nil before it was taken.
	Backup *BackupFacts
}

// Backup gives the verdict on taking a backup without writing to the card. It
// permits no write.
func Backup(in BackupInput) Verdict {
	v := Verdict{Action: ActionBackup, Activation: ActivationNone}
	v.Findings = append(v.Findings, cardReach(in.Card, in.Host)...)
	for _, f := range machine(in.Card, in.Host, backupSpace) {
		if slices.Contains(backupRules, f.Rule) {
			v.Findings = append(v.Findings, f)
		}
	}
	for i := range in.Host.Jobs {
		if j := &in.Host.Jobs[i]; j.MayRun() && j.PCI.Slot() == in.Card.PCI.Slot() {
			v.Findings = append(v.Findings,
				finding.FlashJobRunning.Find("Job %s, started by %s, is changing this card", j.ID, cmp.Or(j.Operator, "unknown")))
		}
	}
	if !v.Blocked() {
		v.Findings = append(v.Findings, readable(in.Card)...)
		v.Findings = append(v.Findings, backup(in.Card, in.Backup)...)
	}
	return seal(v, in.Card, false)
}

// readable gives the findings on a flash that is to be read and not written.
func readable(card CardFacts) []finding.Finding {
	var found []finding.Finding
	for _, f := range cardState(card) {
		if f.Severity.Blocks() && f.Rule != finding.FirmwareSecure { // signed firmware can be kept, too
			found = append(found, f)
		}
	}
	return found
}
