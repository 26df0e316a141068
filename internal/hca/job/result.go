package job

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// result is what a card holds after a job, beside what it was to hold.
type result struct {
	request
	safety.CardFacts
	loss *journal.Loss // what the last burn took from the card
}

// whole reports whether the flash is known to hold one image that starts.
func (r result) whole() bool {
	return r.FlashKnown() && (r.Verified == safety.VerifyGood || r.Verified == safety.VerifyBlank || r.byWord())
}

// byWord reports whether nothing but the firmware of the card says what is in flash: it lets no tool
// read it, verifies an image before it puts it beside the running one, and answers for both.
func (r result) byWord() bool { return r.WithoutCopy() && r.Verified == safety.VerifyUnknown }

// untouched reports whether the card holds just what it held before a job that was
// to change it.
// Only of a job whose result differs from what was there: else it could not be told from success.
func (r result) untouched() bool {
	proven := r.FlashKnown() && (r.Verified == safety.VerifyGood || r.byWord())
	same := r.InFlash().Firmware == r.want.Before
	if r.want.Kind == journal.GUIDs {
		return proven && same && r.InFlash().GUIDs == r.want.GUIDsBefore && r.want.GUIDsBefore != r.want.GUIDsAfter
	}
	return proven && same && r.want.Before != r.want.After && (r.staysBlank() || r.InFlash().GUIDs == r.want.GUIDsAfter)
}

// mismatches names what the card should hold and does not.
func (r result) mismatches() []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	verified := r.Verified == safety.VerifyGood || r.byWord() || r.staysBlank() && r.Verified == safety.VerifyBlank
	add(!verified, "its flash does not verify: %s", r.VerifyError)
	now := r.InFlash().Firmware
	add(now.PSID != r.want.After.PSID, "its PSID is %q instead of %q", now.PSID, r.want.After.PSID)
	add(now.FW != r.want.After.FW, "its version is %s instead of %s", now.FW, r.want.After.FW)
	add(!r.staysBlank() && r.InFlash().GUIDs != r.want.GUIDsAfter, "its identity is %s instead of %s",
		r.InFlash().GUIDs.Text(), r.want.GUIDsAfter.Text())
	// The checksum leaves GUIDs, MACs and VSD out, so that it tells the same firmware on every card (4.21).
	add(r.want.Checksum != "" && r.Checksum != "" && r.Checksum != r.want.Checksum,
		"its content has checksum %s instead of %s", r.Checksum, r.want.Checksum)
	add(r.unreadContent(), "the checksum of its content could not be read%s", because(r.ChecksumWhy))
	return wrong
}

// proven reports whether the card holds what it should and what it did not hold before.
func (r result) proven() bool {
	changes := r.want.Before != r.want.After || r.want.Checksum != "" && r.want.Kind == journal.Burn
	if r.want.Kind == journal.GUIDs {
		changes = r.want.GUIDsBefore != r.want.GUIDsAfter
	}
	return changes && len(r.mismatches()) == 0
}

// asAsked reports whether the job has reached what it was for, whatever its tool said.
func (r result) asAsked(out outcome) bool {
	return out.done() && len(r.mismatches()) == 0 || r.proven()
}

// unreadContent reports whether only the checksum could tell the new content from the old,
// and could not be read.
func (r result) unreadContent() bool {
	return r.want.Kind == journal.Burn && r.want.Checksum != "" && r.Checksum == "" && r.want.Before == r.want.After
}

// because adds a reason to a sentence, if there is one.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// lostIdentity reports whether a burn changed GUIDs or MACs and they can be written
// back. On later chips they cannot: mstflint would go through the running firmware.
// That burns the image in flash once more, which must be whole and failsafe.
func (r result) lostIdentity() bool {
	return r.want.Kind == journal.Burn && !r.staysBlank() && r.whole() && r.Failsafe == safety.FailsafeYes &&
		// FS2 alone keeps its GUIDs in the image that is burned. Later chips have them in an area of their own, which a
		// failsafe burn does not touch.
		r.InFlash().ImageType == "FS2" && r.InFlash().GUIDs != r.want.GUIDsAfter && !r.setMeanwhile()
}

// staysBlank reports whether the card had no identity before a burn: it has none
// afterwards.
func (r result) staysBlank() bool { return r.want.Kind == journal.Burn && r.want.Blank }

// setMeanwhile reports whether a card without GUIDs has got some since its burn began.
// No burn gives it any, so somebody has set them.
func (r result) setMeanwhile() bool {
	return r.want.Kind == journal.Burn && ib.UniqueGUID(r.InFlash().GUIDs.Node) && !ib.UniqueGUID(r.want.GUIDsAfter.Node)
}

// flashText says which image the flash holds that is whole.
func (r result) flashText() string {
	now := r.InFlash().Firmware
	text := fmt.Sprintf("The flash of card %s holds one whole image, %s %s", r.c.ID(), now.PSID, now.FW)
	switch {
	case r.want.Kind == journal.GUIDs && now == r.want.After:
		return text + "." // what was to change is told by identityText
	case now == r.want.After && r.want.After == r.want.Before:
		return text + ", the version from before and after being equal."
	case now == r.want.After:
		return text + ": the new one."
	case now == r.want.Before:
		return text + ": the old one."
	}
	return text + ", which is neither the old one nor the new one."
}

// identityText says what became of the identity after the job; empty if that was not to
// change and did not.
func (r result) identityText() string {
	now := r.InFlash().GUIDs
	switch changes := r.want.Kind == journal.GUIDs; {
	case changes && now == r.want.GUIDsAfter:
		return " It has the new GUIDs and MACs: " + now.Text() + "."
	case changes && now == r.want.GUIDsBefore:
		return " It has the GUIDs and MACs from before: " + now.Text() + "."
	case now == r.want.GUIDsAfter, r.staysBlank():
		return ""
	}
	return fmt.Sprintf(" It has %s, and the job left %s. They were set since, or lost; nothing was written.", now.Text(),
		r.want.GUIDsAfter.Text())
}

// lossText says what the job took from the card, and what writes it back; empty if it took
// nothing. Until that is written, the job has to stay open.
func (r result) lossText() string {
	if r.loss == nil || r.loss.Job != r.want.ID {
		return ""
	}
	return " " + r.loss.String()
}

// notHeld is the error of a card that does not hold what the tool says it has written.
// It also says how the job is settled; empty unless what the card holds is whole and
// known.
func (r result) notHeld(out outcome, wrong []string) (e *cards.Error, how string) {
	e = r.writeError(out, "The tool says that it has written the flash, but the card does not hold what it should: "+
		strings.Join(wrong, "; ")+".")
	if r.untouched() {
		e.Means = "The card holds what it held before, whole and verified: the tool wrote nothing. " + r.hostText(out)
		e.Check = "Run the same command again; it burns again. If this happens again, do not trust the tool or the flash " +
			"of this card."
		return e, "the tool said done and wrote nothing"
	}
	// Each case only if nothing else is wrong: the texts promise that.
	if len(wrong) == 1 && r.unreadContent() {
		e.Means = "The flash holds a whole image of the version that was there before. Whether it is the new one is not " +
			"proven. " + r.hostText(out)
		e.Check = "Run the same command again; it compares the content of the flash with the image."
		return e, ""
	}
	if len(wrong) == 1 && r.setMeanwhile() {
		e.What = "The flash holds the new firmware, whole and verified, but its GUIDs differ from those before the burn: " +
			wrong[0] + "."
		e.Means = "Somebody has set them while the card was burned. They are left as they are. " + r.hostText(out)
		e.Check = "Plan again and read the new plan."
		return e, journal.Verified + "; its GUIDs were set meanwhile"
	}
	if now := r.InFlash().Firmware; r.whole() && now != r.want.After && now != r.want.Before {
		text := r.flashText()
		e.What = "The tool said that it has written the flash. " + text
		e.Means = "Somebody else writes this card. The card boots from that image. " + r.hostText(out)
		e.Check = "Find out who else writes the card, and stop that. Then plan again: if that image is not wanted, the " +
			"plan says what comes before another burn."
		return e, "the tool said done; " + text
	}
	e.Means = "What is in the flash now may not start. " + r.runsText(out)
	return e, ""
}

// notWhole is the error of a card whose flash is not known to start after a write that
// failed.
func (r result) notWhole(out outcome) *cards.Error {
	e := r.writeError(out, out.endText()+out.classText())
	// In front of the runbook, whose first steps would only fail again.
	if a := out.advice(); a.Class == mstflint.Lasting {
		e.Check = a.Do + "\n" + e.Check
	}
	if r.Chip.Format != "FS2" && r.FlashFailure == inventory.FlashBusy {
		e.Means = "The firmware of the card has an update open, and was not disturbed. It keeps the image that runs, and " +
			"activates another one only after it has verified it."
		e.Check = "If somebody else updates the card, as a BMC does, wait until that has ended. If nobody does, the update " +
			"is that of a tool that was killed: restart the host, which resets the card. Then run the same command again."
	}
	e.Facts = append(e.Facts, cards.Fact{"Flash", orNothing(r.FlashError + r.VerifyError)})
	return e
}
