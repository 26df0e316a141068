package inventory

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// PastFirmware gives a flash after a burn past the running firmware, as mstflint burns another PSID or an image
// without a signature. That firmware answers the query until it is started anew, and knows nothing of the burn: the
// query has the version and PSID from before, and no pending ones. Nil if the query says what is in flash.
func (f *Flash) PastFirmware(before, after ib.Firmware) *Flash {
	// Each of these says that the query is to be believed: FS2 has no firmware that answers, other versions have
	// been read since, and a pending one is told.
	if f == nil || f.ImageType == "FS2" || f.Firmware != before || before == after || !f.RunningFW.IsZero() {
		return nil
	}
	now := *f
	now.Firmware, now.RunningFW, now.ReleaseDate = after, before.FW, ""
	return &now
}

// NotePastFirmware has the cards show what burns of this boot have written past their firmware. A job is settled once
// its card was verified, with the content of its flash.
func (s *Snapshot) NotePastFirmware() {
	for i := range s.Cards {
		c := &s.Cards[i]
		for j := range slices.Backward(s.Jobs) {
			job := &s.Jobs[j]
			_, after := job.identities()
			like, _ := ib.Compare(after, s.ShownIdentity(c))
			if job.Kind != "burn" || job.PCI != c.PCI || like == ib.Other {
				continue
			}
			if job.BootID == s.BootID && job.Settled && job.Exit == "0" {
				if now := c.Flash.PastFirmware(job.flash("from"), job.flash("to")); now != nil {
					c.Flash = now
				}
			}
			break // earlier ones are written over
		}
	}
}

// flash is what the request of a burn says of the flash before ("from") and after it ("to").
func (j *Job) flash(when string) ib.Firmware {
	fw, _ := ib.ParseFWVersion(j.Request[when+"_fw"]) // zero if a full disk has cut the request
	return ib.Firmware{PSID: ib.PSID(j.Request[when+"_psid"]), FW: fw}
}
