package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Statuses of the job script besides those of the tool.
const (
	exitGate    = 70 // the second gate refused; nothing was written
	exitPrinted = 71 // the tool ended with 0 and printed an error
	exitOther   = 73 // another card is in the slot; nothing was written
	exitLocked  = 75 // another job holds the host's lock
	exitStart   = 76 // systemd-run failed
	exitInUse   = 77 // another program uses the card; nothing was written
)

// conclude reads the card after a job, mends what the job lost, and settles
// the job. It gives sentences on what was found and done. A card that is not
// as expected is an error, and the job is settled then only if what the card
// holds is known and verified.
func (j *Job) conclude(ctx context.Context, out outcome) ([]string, error) {
	if out.done() {
		return j.concludeWritten(ctx, out)
	}
	if !out.wrote() {
		return j.concludeRefused(ctx, out)
	}
	return j.concludeFailed(ctx, out)
}

// concludeWritten verifies a write that the tool calls done.
func (j *Job) concludeWritten(ctx context.Context, out outcome) ([]string, error) {
	facts, err := j.readCard(ctx, cards.Patiently)
	if err != nil {
		return nil, j.unread(out, err)
	}
	var did []string
	if j.lostIdentity(facts) {
		mended, err := j.restoreIdentity(ctx)
		if err != nil {
			return nil, err
		}
		did = append(did, mended)
		if facts, err = j.readCard(ctx, cards.Patiently); err != nil {
			return did, j.unread(out, err)
		}
	}
	if !facts.FlashKnown() {
		return did, j.failed(out, "The tool says that it has written the flash, which cannot be read now to prove it: "+
			facts.FlashError)
	}
	if wrong := j.mismatches(facts); len(wrong) > 0 {
		return did, j.notHeld(ctx, out, facts, wrong)
	}
	if err := j.settle(ctx, "verified"); err != nil {
		return did, err
	}
	return append(did, fmt.Sprintf("Job %s wrote the flash of card %s: %s %s, verified.", out.ID, j.c.ID(),
		facts.InFlash().PSID, facts.InFlash().FW)), nil
}

// notHeld is the error of a card that does not hold what the tool says it has
// written. The job is settled if what it holds is whole and known.
func (j *Job) notHeld(ctx context.Context, out outcome, facts safety.CardFacts, wrong []string) error {
	e := j.failed(out, "The tool says that it has written the flash, but the card does not hold what it should: "+
		strings.Join(wrong, "; ")+".")
	if j.untouched(facts) {
		e.Means = "The card holds what it held before, whole and verified: the tool wrote nothing. The host was not " +
			"restarted."
		e.Check = "Run the same command again; it burns again. If this happens again, do not trust the tool or the flash " +
			"of this card."
		return both(e, j.settle(ctx, "the tool said done and wrote nothing"))
	}
	if len(wrong) == 1 && j.setMeanwhile(facts) {
		e.What = "The flash holds the new firmware, whole and verified, but its GUIDs differ from those before the burn: " +
			wrong[0] + "."
		e.Means = "Somebody has set them while the card was burned. They are left as they are. The host was not restarted."
		e.Check = "Plan again and read the new plan."
		return both(e, j.settle(ctx, "verified; its GUIDs were set meanwhile"))
	}
	if now := facts.InFlash().Firmware; whole(facts) && now != j.want.After && now != j.want.Before {
		text := j.flashText(facts)
		e.What = "The tool said that it has written the flash. " + text
		e.Means = "Somebody else writes this card. The card boots from that image. The host was not restarted."
		e.Check = "Find out who else writes the card, and stop that. Then plan again: if that image is not wanted, the " +
			"plan says what comes before another burn."
		return both(e, j.settle(ctx, "the tool said done; "+text))
	}
	e.Means = "Do not restart the host: the card still runs its old firmware from memory, and what is in its flash now " +
		"may not start."
	return e
}

// untouched reports whether a card holds just what it held before a job that was
// to change it.
func (j *Job) untouched(f safety.CardFacts) bool {
	whole := f.FlashKnown() && f.Verified == safety.VerifyGood
	same := f.InFlash().Firmware == j.want.Before
	if j.want.Kind == journal.GUIDs {
		return whole && same && f.InFlash().GUIDs == j.want.GUIDsBefore && j.want.GUIDsBefore != j.want.GUIDsAfter
	}
	return whole && same && j.want.Before != j.want.After && (j.staysBlank() || f.InFlash().GUIDs == j.want.GUIDsAfter)
}

// readCard reads card and flash anew, with verification and checksum. A written
// card is not to be left unread because of a connection that broke now, or of
// another program that has its flash semaphore. Another card than the recorded
// one is *safety.RefusedError: a slot may have another after a power cut.
func (j *Job) readCard(ctx context.Context, most int) (safety.CardFacts, error) {
	s, card, err := j.s.ReadFree(ctx, j.c, most)
	if err != nil {
		return safety.CardFacts{}, err
	}
	if id := j.c.Compare(s, card); !id.Same() {
		return safety.CardFacts{}, &safety.RefusedError{What: "read card " + j.c.ID() + " after its job",
			Findings: safety.Identity(j.c.PCI.String()+" of "+j.c.Host.Name(), id)}
	}
	facts := cards.CardFacts(s, card)
	if !facts.FlashKnown() {
		return facts, nil
	}
	return facts, j.s.Inspect(ctx, j.c.Host, &facts)
}

// mismatches names what a card should hold and does not.
func (j *Job) mismatches(f safety.CardFacts) []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	verified := f.Verified == safety.VerifyGood || j.staysBlank() && f.Verified == safety.VerifyBlank
	add(!verified, "its flash does not verify: %s", f.VerifyError)
	now := f.InFlash().Firmware
	add(now.PSID != j.want.After.PSID, "its PSID is %q instead of %q", now.PSID, j.want.After.PSID)
	add(now.FW != j.want.After.FW, "its version is %s instead of %s", now.FW, j.want.After.FW)
	add(!j.staysBlank() && f.InFlash().GUIDs != j.want.GUIDsAfter, "its identity is %s instead of %s",
		f.InFlash().GUIDs.Text(), j.want.GUIDsAfter.Text())
	add(j.want.Checksum != "" && f.Checksum != "" && f.Checksum != j.want.Checksum,
		"its content has checksum %s instead of %s", f.Checksum, j.want.Checksum)
	return wrong
}

// lostIdentity reports whether a burn left other GUIDs or MACs than before, and the
// way back is known: on later chips it would go past the running firmware.
func (j *Job) lostIdentity(f safety.CardFacts) bool {
	return j.want.Kind == journal.Burn && !j.staysBlank() && f.FlashKnown() && f.InFlash().ImageType == "FS2" &&
		f.InFlash().GUIDs != j.want.GUIDsAfter && !j.setMeanwhile(f)
}

// staysBlank reports whether the card had no identity before a burn: it has none
// afterwards.
func (j *Job) staysBlank() bool { return j.want.Kind == journal.Burn && j.want.Blank }

// setMeanwhile reports whether a card has GUIDs that had none when its burn began:
// no burn gives it any, so that somebody has set them.
func (j *Job) setMeanwhile(f safety.CardFacts) bool {
	return j.want.Kind == journal.Burn && ib.UniqueGUID(f.InFlash().GUIDs.Node) && !ib.UniqueGUID(j.want.GUIDsAfter.Node)
}

// restoreIdentity writes the recorded GUIDs and MACs again, by a job of its own, before
// anything reboots. The burn that lost them had a proven backup, which is the way back
// here too.
func (j *Job) restoreIdentity(ctx context.Context) (string, error) {
	s, card, err := j.c.Read(ctx)
	if err != nil {
		return "", err
	}
	var answers []safety.Question
	if card.Flash != nil && !card.Flash.BlankGUIDs {
		answers = []safety.Question{safety.QuestionGUIDs}
	}
	set := j.want.GUIDsAfter
	want, err := SetGUIDs(j.c.PCI, set, answers)
	if err != nil {
		return "", &cards.Error{
			Summary: "Unable to restore the GUIDs of card " + j.c.ID(),
			What:    "The burn has changed the GUIDs or MACs of the card, and the old ones cannot be written back.",
			Means:   "The new firmware is in flash with another identity than before. The host was not restarted.",
			Check:   "Set the identity with an infiniband_guids resource.",
			Facts:   []cards.Fact{{"Identity before", set.Text()}},
			Err:     err,
		}
	}
	want.Backup = j.want.Backup
	mend := New(j.s, j.c, want)
	if _, err = mend.Start(ctx, s, card); err != nil {
		return "", err
	}
	out, err := mend.end(ctx)
	if err != nil {
		return "", err
	}
	if !out.Ended || out.Exit != 0 {
		return "", mend.failed(out, "The burn has changed the GUIDs or MACs of the card, and writing the old ones back "+
			"failed.")
	}
	if err := mend.settle(ctx, "verified with the burn that it mends"); err != nil {
		return "", err
	}
	return fmt.Sprintf("The burn had changed the identity of card %s; job %s wrote it back: %s.", j.c.ID(), out.ID,
		set.Text()), nil
}

// concludeRefused settles a job that ended before it wrote anything.
func (j *Job) concludeRefused(ctx context.Context, out outcome) ([]string, error) {
	err := j.refused(out)
	if err == nil {
		err = j.endedEarly(out)
	}
	return nil, both(err, j.settle(ctx, "nothing was written"))
}

// refused is the refusal of a job that found a reason against its write, as the
// catalogue has it; nil if it ended for another reason.
func (j *Job) refused(out outcome) error {
	var f finding.Finding
	switch {
	case out.Exit == exitLocked && len(out.Held) > 0:
		f = finding.FlashJobRunning.Find("Another job holds the lock of the host: %s of card %s, started by %s, since %s.",
			out.Held["job"], out.Held["pci"], out.Held["operator"], out.Held["since"])
	case out.Exit == exitOther:
		f = finding.CardExchanged.Find("The job on the host found another card than the one it was for: %s.",
			orNothing(out.Reason))
	case out.Exit == exitInUse:
		f = finding.CardInUse.Find("Before it wrote anything, the job on the host checked whether another program uses the "+
			"card: %s.", orNothing(out.Reason))
	default:
		return nil
	}
	f.Evidence += " Job directory: " + journal.Dir(j.want.ID) + "."
	return &safety.RefusedError{What: "write the flash of card " + j.c.ID(), Findings: []finding.Finding{f}}
}

// endedEarly is the error of a job that wrote nothing and named no rule.
func (j *Job) endedEarly(out outcome) error {
	e := &cards.Error{
		Summary: "Unable to write the flash of card " + j.c.ID(),
		What:    "The job on the host ended before it wrote anything: " + orNothing(out.Reason) + ".",
		Means:   "Nothing was written to the card.",
		Check:   "Plan again: the facts that the plan was made on have changed.",
		Facts:   j.evidence(out),
	}
	switch {
	case out.Exit == exitStart:
		e.Check = "Look at the host's log with journalctl -u " + j.unit() + "."
	case !out.Ended:
		e.What = "The job on the host ended or was interrupted before it wrote anything, and left no reason."
		e.Check = "Run the same command again. If it happens again, look at the host's log with journalctl -u " + j.unit() +
			": systemd-inhibit needs systemd-logind to run."
	}
	return e
}

// both adds a second error, if there is one, to the one that matters.
func both(e, second error) error {
	if second == nil {
		return e
	}
	return errors.Join(e, second)
}

// concludeFailed reads the card after a write that failed or was interrupted,
// says which image it has, and settles the job if that image is whole.
func (j *Job) concludeFailed(ctx context.Context, out outcome) ([]string, error) {
	what := out.ending()
	facts, err := j.readCard(ctx, cards.Briefly)
	e := j.failed(out, what)
	if err != nil {
		e.Err = err
		return nil, e
	}
	if !whole(facts) {
		e.Facts = append(e.Facts, cards.Fact{"Flash", orNothing(facts.FlashError + facts.VerifyError)})
		return nil, e
	}
	text := j.flashText(facts)
	e.Means = text + " The card boots from it. The host was not restarted."
	e.Check = "Run the same command again; it burns again if it has to." // the flash is proven: no runbook
	return []string{text}, both(e, j.settle(ctx, "failed; "+text))
}

// whole reports whether a flash is known to hold one image that starts.
func whole(facts safety.CardFacts) bool {
	return facts.FlashKnown() && (facts.Verified == safety.VerifyGood || facts.Verified == safety.VerifyBlank)
}

// flashText says which image a flash holds that is whole.
func (j *Job) flashText(facts safety.CardFacts) string {
	now := facts.InFlash().Firmware
	text := fmt.Sprintf("The flash of card %s holds one whole image, %s %s", j.c.ID(), now.PSID, now.FW)
	switch {
	case now == j.want.After && j.want.After == j.want.Before:
		return text + ", the version from before and after being equal."
	case now == j.want.After:
		return text + ": the new one."
	case now == j.want.Before:
		return text + ": the old one."
	}
	return text + ", which is neither the old one nor the new one."
}

// identityText says what became of the identity after the job; empty if it is as the
// job left it.
func (j *Job) identityText(now ib.GUIDSet) string {
	switch {
	case now == j.want.GUIDsAfter, j.staysBlank():
		return ""
	case j.want.Kind == journal.GUIDs && now == j.want.GUIDsBefore:
		return " It has the GUIDs and MACs from before."
	}
	return fmt.Sprintf(" It has %s, and the job left %s. They were set since, or lost; nothing was written.", now.Text(),
		j.want.GUIDsAfter.Text())
}

// failed is the error of a write that went wrong, with the runbook.
func (j *Job) failed(out outcome, what string) *cards.Error {
	return &cards.Error{
		Summary: "Unable to write the flash of card " + j.c.ID(),
		What:    what,
		Means: "What is in the flash is not proven. Do not restart the host and do not switch it off: the card still runs " +
			"its old firmware from memory.",
		Check: "1. Look at the card: mstflint -d " + j.c.PCI.String() + " q, then the same with v.\n" +
			"2. If v says that the image is bootable, run the same command again.\n" +
			"3. If not, burn the backup while the card still runs: mstflint -d " + j.c.PCI.String() + " -allow_psid_change -i " +
			cmp.Or(j.want.Backup, "<backup>") + "/firmware.bin b. " +
			"The copies on the host are in " + inventory.StateDir + "/backups.\n" +
			"4. If mstflint says that the flash semaphore is taken, make sure that no other program uses the card (pgrep -a " +
			"'mst|flint|fwupd'), then ask again: " +
			"a query that fails frees what a killed tool left behind. If it still fails, clear it: " +
			"mstflint -clear_semaphore -d " + j.c.PCI.String(),
		Facts: j.evidence(out),
	}
}

func (j *Job) unread(out outcome, err error) error {
	e := j.failed(out, "The tool has ended, and the card could not be read afterwards.")
	e.Check = "Run the same command again when the host answers: it reads the card and records the result."
	e.Err = err
	var refused *safety.RefusedError
	if errors.As(err, &refused) {
		e.What = "The tool has ended, and what is in the slot now is not the card that it was for."
		e.Means = "Nothing was written to the card that is there now. What is in the flash of the right one is not proven."
		e.Check = "Run the same command again when the right card is back: it reads the card and records the result."
	}
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		e.Heading = j.unknownEnd()
		e.What = "The write was started and its tool has ended. The connection broke before the card was read."
		e.Means = "Whether the flash holds the new content is not known yet. Do not switch the host off and do not " +
			"restart it."
	}
	return e
}

func (j *Job) evidence(out outcome) []cards.Fact {
	facts := append(j.place(), cards.Fact{"Last state", out.last()})
	if out.Ended {
		facts = append(facts, cards.Fact{"Exit status", strconv.Itoa(out.Exit)})
	}
	return append(facts, cards.Fact{"Output", cards.Tail(out.display(), 2000)})
}

func orNothing(s string) string {
	if strings.TrimSpace(s) == "" {
		return "it left no reason"
	}
	return strings.TrimSpace(s)
}

// settle writes down how the job ended, so that nobody looks at it again.
func (j *Job) settle(ctx context.Context, how string) error { return Settle(ctx, j.c, j.want.ID, how) }

// Settle writes down how a job of a card ended, so that nobody looks at it again.
func Settle(ctx context.Context, c cards.Card, id, how string) error {
	if _, err := c.Host.Run(context.WithoutCancel(ctx), settleCommand(id, how)); err != nil {
		return &cards.Error{
			Summary: "Unable to record the result of job " + id + " on card " + c.ID(),
			What:    "The card was read after the job, and the note of that could not be stored.",
			Means:   "The next apply reads the card once more.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Job directory", journal.Dir(id)}},
			Err:     err,
		}
	}
	return nil
}
