package hca

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// change is one change of a card's flash. It says what is wanted and what differs; how a
// flash is written is the same for all, and is in write.
type change interface {
	card() cards.Card
	what() string // "burn firmware on card intel9/0000:01:00.0", for a refusal
	action() safety.Action
	// verdict judges facts; with a backup it is the last one.
	verdict(a cards.Assessment, backup *safety.BackupFacts) safety.Verdict
	// prepare looks on the host for what the job is going to need.
	prepare(ctx context.Context, o *Ops) error
	// request adds to a job what it has to do for the verdict.
	request(j *journal.Request, v safety.Verdict, backup string) error
	// expect gives what the card must hold after the job.
	expect(v safety.Verdict, before safety.CardFacts) expectation
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

// begin closes what earlier runs began on the card, and gives the verdict then. One
// that blocks is an error.
func (o *Ops) begin(ctx context.Context, c cards.Card, what string, did *[]string, assess func(context.Context) (cards.Assessment, error)) (cards.Assessment, error) {
	if err := o.mayAdopt(ctx, c, what); err != nil {
		return cards.Assessment{}, err
	}
	adopted, err := o.Adopt(ctx, c)
	*did = append(*did, adopted...)
	if err != nil {
		return cards.Assessment{}, err
	}
	return permitted(ctx, what, assess)
}

// permitted refuses what the verdict blocks.
func permitted(ctx context.Context, what string, assess func(context.Context) (cards.Assessment, error)) (cards.Assessment, error) {
	a, err := assess(ctx)
	if err == nil && a.Verdict.Blocked() {
		err = &safety.RefusedError{What: what, Findings: a.Verdict.Findings}
	}
	return a, err
}

// write changes the flash as the first verdict allows: backup, last verdict on facts
// of the moment, job, and a look at what the card holds. Nothing else starts a job
// but the way back from a burn that lost the card's identity.
func (o *Ops) write(ctx context.Context, ch change, first cards.Assessment, work *Work) error {
	c := ch.card()
	before, _, err := c.Read(ctx)
	if err != nil {
		return err
	}
	if err = ch.prepare(ctx, o); err != nil {
		return err
	}
	backup, err := o.backUp(ctx, c, before, first.Card)
	if err != nil {
		return err
	}
	s, card, now, err := o.ReadAgain(ctx, c, first)
	if err != nil {
		return err
	}
	final := ch.verdict(now, backup)
	if !final.Permits(ch.action(), c.ID()) || !final.Equal(first.Verdict) {
		return cards.RefuseOvertaken(c, before, s, ch.what(), first.Verdict, final)
	}
	work.BackupPath = backup.Path
	work.Did = append(work.Did, fmt.Sprintf("Backed up %s %s of card %s to %s.", first.Card.InFlash().PSID, first.Card.InFlash().FW, c.ID(), backup.Path))
	want := ch.expect(final, first.Card)
	j := o.newJob(want.kind, c, s, card)
	if err = ch.request(&j, final, backup.Path); err != nil {
		return err
	}
	j.SetOwner(o.Owner.Machine, o.Owner.Process)
	work.JobID = j.ID
	out, err := o.run(ctx, c, j)
	if err != nil {
		return withBackup(err, backup.Path)
	}
	done, err := o.conclude(ctx, c, out, want)
	work.Did = append(work.Did, done...)
	return withBackup(err, backup.Path)
}

// activate has the card run what its flash holds. An error names the backup of what it
// held before, be it of an earlier run.
func (o *Ops) activate(ctx context.Context, c cards.Card, how safety.Activation, g activation.Goal, work *Work) error {
	backup := work.BackupPath
	if backup == "" {
		s, card, err := c.Read(ctx)
		if err != nil {
			return err
		}
		backup = firmwareState(s, card).JobBackup
	}
	return withBackup(activation.Run(ctx, o.Session, c, how, g, &work.Did), backup)
}

// backupPlace stands for the directory of the backup until withBackup knows it.
const backupPlace = "<backup>"

// withBackup adds the path of the backup to an error about the card it is of.
func withBackup(err error, path string) error {
	var e *cards.Error
	if errors.As(err, &e) && path != "" {
		e.Facts = append(e.Facts, cards.Fact{"Backup", path})
		e.Check = strings.ReplaceAll(e.Check, backupPlace, path)
	}
	return err
}
