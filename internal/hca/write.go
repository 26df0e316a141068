package hca

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// change is one change of a card's flash: what is wanted, and in what firmware and
// GUIDs differ. The way of writing is the same for all, see write.
type change interface {
	card() cards.Card
	what() string // "burn firmware on card intel9/0000:01:00.0", for a refusal
	action() safety.Action
	// verdict judges facts; with a backup it is the last one.
	verdict(a cards.Assessment, backup *safety.BackupFacts) safety.Verdict
	// entry is what a job has to do for the verdict, on the card as it is before.
	entry(v safety.Verdict, before safety.CardFacts) (journal.Entry, error)
}

// Work is what a run has done so far.
type Work struct {
	// BackupPath is the directory on the operator's machine with the firmware
	// that this run replaced; empty if it replaced none.
	BackupPath string
	// JobID is the job that wrote the flash in this run, or the last one that
	// did; empty if none is recorded.
	JobID string
	// Did are sentences on what was done in this run, in order.
	Did []string
}

// write changes the flash as the first verdict allows: backup, last verdict on facts of
// the moment, job, and a read-back. No other code starts a job, but restoreIdentity.
func (o *Ops) write(ctx context.Context, ch change, first cards.Assessment, work *Work) error {
	c := ch.card()
	before, err := c.Look(ctx)
	if err != nil {
		return err
	}
	// The order of all writes: the backup is on the operator's disk before the last verdict, and the verdict comes
	// right before the job. A power cut at any point finds a whole image in flash, or the way back to one.
	backup, err := o.Backups.Keep(ctx, c, before, first.Card)
	if err != nil {
		return err
	}
	l, now, err := o.ReadAgain(ctx, c, first)
	if err != nil {
		return err
	}
	final := ch.verdict(now, backup)
	// Equal, not only permitted: a verdict that differs is one that nobody has seen in a plan.
	if !final.Permits(ch.action(), c.ID()) || !final.Equal(first.Verdict) {
		return cards.RefuseOvertaken(c, before, l, ch.what(), first.Verdict, final)
	}
	work.BackupPath = backup.Path
	work.Did = append(work.Did, fmt.Sprintf("Backed up %s %s of card %s to %s.", first.Card.InFlash().PSID,
		first.Card.InFlash().FW, c.ID(), backup.Path))
	want, err := ch.entry(final, now.Card)
	if err != nil {
		return err
	}
	want.Backup, want.BackupSHA256 = backup.Path, backup.SHA256
	j := job.New(o.Session, c, want)
	if work.JobID, err = j.Start(ctx, l); err != nil {
		return err
	}
	done, err := j.Finish(ctx)
	work.Did = append(work.Did, done...)
	return err
}

// activate makes the card run what its flash holds. Its errors name the backup of what
// flash held before, also that of an earlier run.
func (o *Ops) activate(ctx context.Context, c cards.Card, how safety.Activation, g activation.Goal, work *Work) error {
	backup := work.BackupPath
	if backup == "" {
		l, err := c.Look(ctx)
		if err != nil {
			return err
		}
		backup = ReadFirmware(l).JobBackup
	}
	return cards.WithBackup(activation.Run(ctx, o.Session, c, how, g, &work.Did), backup)
}
