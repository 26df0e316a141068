package hca

import (
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

// expectation is what a card must hold after a job.
type expectation struct {
	kind     string
	flash    ib.Firmware // after
	before   ib.Firmware
	guids    ib.GUIDSet // after; of a burn those before it
	oldGUIDs ib.GUIDSet // of journal.GUIDs: before
	blank    bool       // the card had no identity before a burn
	checksum string     // identity-free; empty: not compared
	ownROM   bool       // the ROM in flash is that of the image
}

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
func (o *Ops) conclude(ctx context.Context, c cards.Card, out journal.Outcome, want expectation) ([]string, error) {
	if out.Done() {
		return o.concludeWritten(ctx, c, out, want)
	}
	if !out.Wrote() {
		return o.concludeRefused(ctx, c, out)
	}
	return o.concludeFailed(ctx, c, out, want)
}

// concludeWritten verifies a write that the tool calls done.
func (o *Ops) concludeWritten(ctx context.Context, c cards.Card, out journal.Outcome, want expectation) ([]string, error) {
	facts, err := o.readCard(ctx, c, cards.Patiently)
	if err != nil {
		return nil, o.unread(c, out, err)
	}
	var did []string
	if lostIdentity(facts, want) {
		restored, err := o.restoreIdentity(ctx, c, want.guids)
		did = append(did, restored...)
		if err != nil {
			return did, err
		}
		if facts, err = o.readCard(ctx, c, cards.Patiently); err != nil {
			return did, o.unread(c, out, err)
		}
	}
	if !facts.FlashKnown() {
		return did, o.failed(c, out, "The tool says that it has written the flash, which cannot be read now to prove it: "+facts.FlashError)
	}
	if wrong := mismatches(facts, want); len(wrong) > 0 {
		return did, o.notHeld(ctx, c, out, facts, want, wrong)
	}
	if err := o.settle(ctx, c, out.ID, "verified"); err != nil {
		return did, err
	}
	return append(did, fmt.Sprintf("Job %s wrote the flash of card %s: %s %s, verified.", out.ID, c.ID(), facts.InFlash().PSID, facts.InFlash().FW)), nil
}

// notHeld is the error of a card that does not hold what the tool says it has
// written. The job is settled if what it holds is whole and known.
func (o *Ops) notHeld(ctx context.Context, c cards.Card, out journal.Outcome, facts safety.CardFacts, want expectation, wrong []string) error {
	e := o.failed(c, out, "The tool says that it has written the flash, but the card does not hold what it should: "+strings.Join(wrong, "; ")+".")
	if untouched(facts, want) {
		e.Means = "The card holds what it held before, whole and verified: the tool wrote nothing. The host was not restarted."
		e.Check = "Run the same command again; it burns again. If this happens again, do not trust the tool or the flash of this card."
		return both(e, o.settle(ctx, c, out.ID, "the tool said done and wrote nothing"))
	}
	if len(wrong) == 1 && setMeanwhile(facts, want) {
		e.What = "The flash holds the new firmware, whole and verified, but the GUIDs are not those of before: " + wrong[0] + "."
		e.Means = "Somebody has set them while the card was burned. They are left as they are. The host was not restarted."
		e.Check = "Plan again, and read what has become of the card."
		return both(e, o.settle(ctx, c, out.ID, "verified; its GUIDs were set meanwhile"))
	}
	if now := facts.InFlash().Firmware; whole(facts) && now != want.flash && now != want.before {
		text := flashText(c, facts, want)
		e.What = "The tool said that it has written the flash. " + text
		e.Means = "Somebody else writes this card. The card boots from that image. The host was not restarted."
		e.Check = "Find out who else writes the card, and stop that. Then plan again: if that image is not wanted, the plan says what comes before another burn."
		return both(e, o.settle(ctx, c, out.ID, "the tool said done; "+text))
	}
	e.Means = "Do not restart the host: the card still runs its old firmware from memory, and what is in its flash now may not start."
	return e
}

// untouched reports whether a card holds just what it held before a job that was
// to change it.
func untouched(f safety.CardFacts, want expectation) bool {
	whole := f.FlashKnown() && f.Verified == safety.VerifyGood
	same := f.InFlash().Firmware == want.before
	if want.kind == journal.GUIDs {
		return whole && same && f.InFlash().GUIDs == want.oldGUIDs && want.oldGUIDs != want.guids
	}
	return whole && same && want.before != want.flash && (want.blank || f.InFlash().GUIDs == want.guids)
}

// readCard reads card and flash anew, with verification and checksum. A written
// card is not to be left unread because of a connection that broke now, or of
// another program that has its flash semaphore. Another card than the recorded
// one is *safety.RefusedError: a slot may have another after a power cut.
func (o *Ops) readCard(ctx context.Context, c cards.Card, most int) (safety.CardFacts, error) {
	s, card, err := o.ReadFree(ctx, c, most)
	if err != nil {
		return safety.CardFacts{}, err
	}
	if id := c.Compare(s, card); !id.Same() {
		return safety.CardFacts{}, &safety.RefusedError{What: "read card " + c.ID() + " after its job", Findings: safety.Identity(c.PCI.String()+" of "+c.Host.Name(), id)}
	}
	facts := cards.CardFacts(s, card)
	if !facts.FlashKnown() {
		return facts, nil
	}
	return facts, o.Inspect(ctx, c.Host, &facts)
}

// mismatches names what a card should hold and does not.
func mismatches(f safety.CardFacts, want expectation) []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	verified := f.Verified == safety.VerifyGood || want.blank && f.Verified == safety.VerifyBlank
	add(!verified, "its flash does not verify: %s", f.VerifyError)
	add(f.InFlash().PSID != want.flash.PSID, "its PSID is %q instead of %q", f.InFlash().PSID, want.flash.PSID)
	add(f.InFlash().FW != want.flash.FW, "its version is %s instead of %s", f.InFlash().FW, want.flash.FW)
	add(!want.blank && f.InFlash().GUIDs != want.guids, "its identity is %s instead of %s", f.InFlash().GUIDs.Text(), want.guids.Text())
	add(want.ownROM && want.checksum != "" && f.Checksum != "" && f.Checksum != want.checksum,
		"its content has checksum %s instead of %s", f.Checksum, want.checksum)
	return wrong
}

// lostIdentity reports whether a burn left other GUIDs or MACs than before, and the
// way back is known: on later chips it would go past the running firmware.
func lostIdentity(f safety.CardFacts, want expectation) bool {
	return want.kind == journal.Burn && !want.blank && f.FlashKnown() && f.InFlash().ImageType == "FS2" && f.InFlash().GUIDs != want.guids && !setMeanwhile(f, want)
}

// setMeanwhile reports whether a card has GUIDs that had none when its burn began:
// no burn gives it any, so that somebody has set them.
func setMeanwhile(f safety.CardFacts, want expectation) bool {
	return want.kind == journal.Burn && ib.UniqueGUID(f.InFlash().GUIDs.Node) && !ib.UniqueGUID(want.guids.Node)
}

// restoreIdentity writes the recorded GUIDs and MACs again, before anything
// reboots. The burn that lost them had a proven backup, which is the way back
// here too.
func (o *Ops) restoreIdentity(ctx context.Context, c cards.Card, set ib.GUIDSet) ([]string, error) {
	s, card, err := c.Read(ctx)
	if err != nil {
		return nil, err
	}
	var answers []safety.Question
	if card.Flash != nil && !card.Flash.BlankGUIDs {
		answers = []safety.Question{safety.QuestionGUIDs}
	}
	j := o.newJob(journal.GUIDs, c, s, card)
	if err = requestGUIDs(&j, c, set, answers); err != nil {
		return nil, &cards.Error{
			Summary: "Unable to restore the GUIDs of card " + c.ID(),
			What:    "The burn has changed the GUIDs or MACs of the card, and those from before cannot be written back.",
			Means:   "The new firmware is in flash with another identity than before. The host was not restarted.",
			Check:   "Set the identity with an infiniband_guids resource.",
			Facts:   []cards.Fact{{"Identity before", set.Text()}},
			Err:     err,
		}
	}
	out, err := o.run(ctx, c, j)
	if err != nil {
		return nil, err
	}
	if !out.Ended || out.Exit != 0 {
		return nil, o.failed(c, out, "The burn has changed the GUIDs or MACs of the card, and writing back those from before failed.")
	}
	if err := o.settle(ctx, c, out.ID, "verified with the burn that it mends"); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("The burn had changed the identity of card %s; job %s wrote it back: %s.", c.ID(), out.ID, set.Text())}, nil
}

// concludeRefused settles a job that ended before it wrote anything.
func (o *Ops) concludeRefused(ctx context.Context, c cards.Card, out journal.Outcome) ([]string, error) {
	err := refusedByJob(c, out)
	if err == nil {
		err = endedEarly(c, out)
	}
	return nil, both(err, o.settle(ctx, c, out.ID, "nothing was written"))
}

// refusedByJob is the refusal of a job that found a reason against its write, as the
// catalogue has it; nil if it ended for another reason.
func refusedByJob(c cards.Card, out journal.Outcome) error {
	var f finding.Finding
	switch {
	case out.Exit == exitLocked && len(out.Held) > 0:
		f = finding.FlashJobRunning.Find("Another job holds the lock of the host: %s of card %s, started by %s, since %s.",
			out.Held["job"], out.Held["pci"], out.Held["operator"], out.Held["since"])
	case out.Exit == exitOther:
		f = finding.CardExchanged.Find("The job on the host found another card than the one it was for: %s.", orNothing(out.Reason))
	case out.Exit == exitInUse:
		f = finding.CardInUse.Find("The job on the host looked who is at the card before it wrote anything: %s.", orNothing(out.Reason))
	default:
		return nil
	}
	f.Evidence += " Job directory: " + journal.Dir(out.ID) + "."
	return &safety.RefusedError{What: "write the flash of card " + c.ID(), Findings: []finding.Finding{f}}
}

// endedEarly is the error of a job that wrote nothing and named no rule.
func endedEarly(c cards.Card, out journal.Outcome) error {
	e := &cards.Error{
		Summary: "Unable to write the flash of card " + c.ID(),
		What:    "The job on the host ended before it wrote anything: " + orNothing(out.Reason) + ".",
		Means:   "Nothing was written to the card.",
		Check:   "Plan again: the facts that the plan was made on have changed.",
		Facts:   jobFactsOf(c, out),
	}
	switch {
	case out.Exit == exitStart:
		e.Check = "Look at the host's log with journalctl -u " + journal.Unit(out.ID) + "."
	case !out.Ended:
		e.What = "The job on the host ended or was interrupted before it wrote anything, and left no reason."
		e.Check = "Run the same command again. If it happens again, look at the host's log with journalctl -u " + journal.Unit(out.ID) + ": systemd-inhibit needs systemd-logind to run."
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
func (o *Ops) concludeFailed(ctx context.Context, c cards.Card, out journal.Outcome, want expectation) ([]string, error) {
	what := out.Ending()
	facts, err := o.readCard(ctx, c, cards.Briefly)
	e := o.failed(c, out, what)
	if err != nil {
		e.Err = err
		return nil, e
	}
	if !whole(facts) {
		e.Facts = append(e.Facts, cards.Fact{"Flash", orNothing(facts.FlashError + facts.VerifyError)})
		return nil, e
	}
	text := flashText(c, facts, want)
	e.Means = text + " The card boots from it. The host was not restarted."
	e.Check = "Run the same command again; it burns again if it has to." // the flash is proven: no runbook
	return []string{text}, both(e, o.settle(ctx, c, out.ID, "failed; "+text))
}

// whole reports whether a flash is known to hold one image that starts.
func whole(facts safety.CardFacts) bool {
	return facts.FlashKnown() && (facts.Verified == safety.VerifyGood || facts.Verified == safety.VerifyBlank)
}

// flashText says which image a flash holds that is whole.
func flashText(c cards.Card, facts safety.CardFacts, want expectation) string {
	now := facts.InFlash().Firmware
	text := fmt.Sprintf("The flash of card %s holds one whole image, %s %s", c.ID(), now.PSID, now.FW)
	switch {
	case now == want.flash && want.flash == want.before:
		return text + ", the version from before and after being equal."
	case now == want.flash:
		return text + ": the new one."
	case now == want.before:
		return text + ": the old one."
	}
	return text + ", which is neither the old one nor the new one."
}

// failed is the error of a write that went wrong, with the runbook.
func (o *Ops) failed(c cards.Card, out journal.Outcome, what string) *cards.Error {
	return &cards.Error{
		Summary: "Unable to write the flash of card " + c.ID(),
		What:    what,
		Means:   "What is in the flash is not proven. Do not restart the host and do not switch it off: the card still runs its old firmware from memory.",
		Check: "1. Look at the card: mstflint -d " + c.PCI.String() + " q, then the same with v.\n" +
			"2. If v says that the image is bootable, run the same command again.\n" +
			"3. If not, burn the backup while the card still runs: mstflint -d " + c.PCI.String() + " -allow_psid_change -i " + backupPlace + "/firmware.bin b. " +
			"The copies on the host are in " + inventory.StateDir + "/backups.\n" +
			"4. If mstflint says that the flash semaphore is taken, make sure that no other program uses the card (pgrep -a 'mst|flint|fwupd'), then ask again: " +
			"a query that fails frees what a killed tool left behind. If it still fails, clear it: mstflint -clear_semaphore -d " + c.PCI.String(),
		Facts: jobFactsOf(c, out),
	}
}

func (o *Ops) unread(c cards.Card, out journal.Outcome, err error) error {
	e := o.failed(c, out, "The tool has ended, and the card could not be read afterwards.")
	e.Check = "Run the same command again when the host answers: it reads the card and settles the job."
	e.Err = err
	var refused *safety.RefusedError
	if errors.As(err, &refused) {
		e.What = "The tool has ended, and what is in the slot now is not the card that it was for."
		e.Means = "Nothing was written to the card that is there now. What is in the flash of the right one is not proven."
		e.Check = "Run the same command again when the right card is back: it reads the card and settles the job."
	}
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		e.Heading = unknownEnd(c)
		e.What = "The write was started and its tool has ended. The connection broke before the card was read."
		e.Means = "Whether the flash holds the new content is not known yet. Do not switch the host off and do not restart it."
	}
	return e
}

// unknownEnd is the title of an error that says nothing against the card.
func unknownEnd(c cards.Card) string {
	return "Unable to say yet how the write to card " + c.ID() + " ended"
}

func jobFactsOf(c cards.Card, out journal.Outcome) []cards.Fact {
	facts := []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", journal.Dir(out.ID)}, {"Last state", out.Last()}}
	if out.Ended {
		facts = append(facts, cards.Fact{"Exit status", strconv.Itoa(out.Exit)})
	}
	return append(facts, cards.Fact{"Output", cards.Tail(out.Display(), 2000)})
}

func orNothing(s string) string {
	if strings.TrimSpace(s) == "" {
		return "it left no reason"
	}
	return strings.TrimSpace(s)
}

func (o *Ops) settle(ctx context.Context, c cards.Card, id, how string) error {
	if _, err := c.Host.Run(context.WithoutCancel(ctx), settleJob(id, how)); err != nil {
		return &cards.Error{
			Summary: "Unable to settle job " + id + " on card " + c.ID(),
			What:    "The card was read after the job, and the note of that could not be stored.",
			Means:   "The next apply reads the card once more.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Job directory", journal.Dir(id)}},
			Err:     err,
		}
	}
	return nil
}
