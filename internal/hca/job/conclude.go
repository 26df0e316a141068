package job

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Finish watches the job to its end, reads the card, mends what the job lost, and
// settles it. It gives sentences on what was found and done. A card that is not as it
// should be is an error, and the job is settled then only if what the card holds is
// known and verified.
func (j *Job) Finish(ctx context.Context) ([]string, error) {
	out, err := j.end(ctx)
	var did []string
	if err == nil {
		did, err = j.conclude(ctx, out)
	}
	if err != nil {
		j.s.Tell(j.c, journal.Step{Name: "error", Percent: journal.Unknown, Text: err.Error()})
	}
	return did, cards.WithBackup(err, j.want.Backup)
}

// conclude reads the card after a job, repairs what the job lost, and settles the job.
// It gives sentences on what it found and did. A card that is not as expected is an
// error; the job is settled then only if it is known and verified what the card holds.
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
	now, err := j.readCard(ctx, cards.BusyTries)
	if err != nil {
		return nil, j.unread(out, err)
	}
	var did []string
	// Before anything is compared, and before any restart: a card without its GUIDs is one that a subnet manager
	// leaves out, or takes for another.
	if now.lostIdentity() {
		mended, err := j.restoreIdentity(ctx, out)
		if err != nil {
			return nil, err
		}
		did = append(did, mended)
		if now, err = j.readCard(ctx, cards.BusyTries); err != nil {
			return did, j.unread(out, err)
		}
	}
	// The tool's word is no proof: with verification of its writes switched off it says done (4.21).
	if !now.FlashKnown() {
		return did, j.writeError(out, "The tool says that it has written the flash, which cannot be read now to prove it: "+
			now.FlashError)
	}
	if wrong := now.mismatches(); len(wrong) > 0 {
		e, how := now.notHeld(out, wrong)
		if how == "" {
			return did, e
		}
		return did, both(e, j.settle(ctx, how))
	}
	// The last step: a run that dies before it leaves a job that the next one reads again, which is harmless.
	if err := j.settle(ctx, journal.Verified); err != nil {
		return did, err
	}
	did = append(did, fmt.Sprintf("Job %s wrote the flash of card %s: %s %s, verified.", out.ID, j.c.ID(),
		now.InFlash().PSID, now.InFlash().FW))
	// A warning of the tool that changes nothing of the flash, and all of what starts from it.
	if strings.Contains(out.Output, mstflint.BootAddress) {
		did = append(did, "mstflint: "+mstflint.BootAddress+". "+
			mstflint.Judge(0, mstflint.BootAddress).Do)
	}
	return did, nil
}

// readCard reads card and flash anew, with verification and checksum. It tries again if
// the connection breaks, or if another program has the flash semaphore: a written card
// must not stay unread. A card other than the recorded one, as after an exchange during
// a power cut, is *safety.RefusedError.
func (j *Job) readCard(ctx context.Context, most int) (result, error) {
	l, err := j.s.ReadFree(ctx, j.c, most)
	if err != nil {
		return result{}, err
	}
	// Anything but the same card is an error here. A job's result must never be noted on another card.
	if id := j.c.Compare(l); !id.Same() {
		return result{}, &safety.RefusedError{What: "read card " + j.c.ID() + " after its job",
			Findings: safety.Identity(j.c.PCI.String()+" of "+j.c.Host.Name(), id)}
	}
	now := result{j.request, l.Facts, l.Loss}
	if !now.FlashKnown() {
		return now, nil
	}
	if err = j.s.Inspect(ctx, j.c.Host, &now.CardFacts); err != nil {
		return now, err
	}
	// On the firmware's way a query gives version and date of the staged image, and product version, ROM and
	// PSID of the running one (4.21).
	if past := now.Flash.PastFirmware(j.want.Before, j.want.After); past != nil && j.want.Kind == journal.Burn &&
		now.Verified == safety.VerifyGood && j.want.Checksum != "" && now.Checksum == j.want.Checksum {
		now.Flash = past // the running firmware says what it was started with, the content is the new one
	}
	return now, nil
}

// restoreIdentity writes the recorded GUIDs and MACs again, by a job of its own, before
// any restart. The burn that lost them has a proven backup, which serves this write
// too.
func (j *Job) restoreIdentity(ctx context.Context, burned outcome) (string, error) {
	l, err := j.c.Look(ctx)
	if err != nil {
		return "", err
	}
	var answers []safety.Question
	// The tool asks only where GUIDs are set already. An answer too many is read by nobody; one too few ends
	// the run.
	if l.Card.FlashKnown() && !l.Card.Flash.BlankGUIDs {
		answers = []safety.Question{safety.QuestionGUIDs}
	}
	set := j.want.GUIDsAfter
	want, err := SetGUIDs(j.c.PCI, l.Card.Chip, set, answers)
	if err != nil {
		return "", &cards.Error{
			Summary: "Unable to restore the GUIDs of card " + j.c.ID(),
			What:    "The burn has changed the GUIDs or MACs of the card, and the old ones cannot be written back.",
			Means:   "The new firmware is in flash with another identity than before. " + j.hostText(burned),
			Check:   "Set the identity with an infiniband_guids resource.",
			Facts:   []cards.Fact{{"Identity before", set.Text()}},
			Err:     err,
		}
	}
	want.Backup, want.BackupSHA256 = j.want.Backup, j.want.BackupSHA256
	mend := New(j.s, j.c, want)
	if _, err = mend.Start(ctx, l); err != nil {
		return "", err
	}
	out, err := mend.end(ctx)
	if err != nil {
		return "", err
	}
	if !out.Ended || out.Exit != 0 {
		return "", mend.writeError(out, "The burn has changed the GUIDs or MACs of the card, and writing the old ones back "+
			"failed.")
	}
	if err := mend.settle(ctx, journal.Verified+" with the burn that it mends"); err != nil {
		return "", err
	}
	return fmt.Sprintf("The burn had changed the identity of card %s; job %s wrote it back: %s.", j.c.ID(), out.ID,
		set.Text()), nil
}

// concludeRefused settles a job that ended before it wrote anything.
func (j *Job) concludeRefused(ctx context.Context, out outcome) ([]string, error) {
	err := j.refusalError(out)
	if err == nil {
		err = j.endedEarly(out)
	}
	return nil, both(err, j.settle(ctx, "nothing was written"+out.classText()))
}

// concludeFailed reads the card after a write that failed or was interrupted,
// says which image it has, and settles the job if that image is whole and nothing is to be
// written back. A tool may fail after the firmware has taken its image: what the card holds
// decides, and not the exit status.
func (j *Job) concludeFailed(ctx context.Context, out outcome) ([]string, error) {
	now, err := j.readCard(ctx, cards.LockTries)
	e := j.writeError(out, out.endText()+out.classText())
	if err != nil {
		e.Err = err
		return nil, e
	}
	if !now.whole() {
		return nil, now.notWhole(out)
	}
	// The firmware may have taken the image before the tool failed: a RELEASE that is refused after ACTIVATE gives
	// status 1 (4.21).
	if now.proven() {
		text := now.flashText() + now.identityText() + " " + out.endText() + " What counts is what was read back."
		return []string{text}, j.settle(ctx, journal.Verified+", though the tool failed. "+text)
	}
	lost, text := now.lossText(), now.flashText()+now.identityText()
	e.Means = text + " The card boots from it. " + j.hostText(out) + lost
	// The flash is proven: no runbook.
	e.Check = cmp.Or(out.advice().Do, "Run the same command again; it burns again if it has to.")
	// Unsettled: the next apply of the firmware has to find what the job took.
	if lost != "" {
		return []string{text}, e
	}
	return []string{text}, both(e, j.settle(ctx, text+out.classText()))
}

// settle records how the job ended, so that no later run looks at it again.
func (j *Job) settle(ctx context.Context, how string) error {
	if err := Settle(ctx, j.c, j.want.ID, how); err != nil {
		return err
	}
	s := journal.Step{Name: "settled", Percent: journal.Unknown, Text: journal.Note(how)}
	if strings.HasPrefix(how, journal.Verified) {
		s.Name, s.Percent = journal.Verified, 100
	}
	j.s.Tell(j.c, s)
	return nil
}

// Settle records how a job of a card ended, so that no later run looks at it again.
func Settle(ctx context.Context, c cards.Card, id, how string) error {
	cmd := shellcmd.Script("settle-flash-job", settleScript, journal.Dir(id), how).AsRoot().Changes()
	// Also of a run that was interrupted: the card is read, and that is the dear part.
	if _, err := c.Host.Run(context.WithoutCancel(ctx), cmd); err != nil {
		return &cards.Error{
			Summary: "Unable to record the result of job " + id + " on card " + c.ID(),
			Heading: "Unable to record the result of job " + id + " on card " + c.ID(),
			What:    "The card was read after the job, and the note of that could not be stored.",
			Means:   "The next apply reads the card once more.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Job directory", journal.Dir(id)}},
			Err:     err,
		}
	}
	return nil
}
