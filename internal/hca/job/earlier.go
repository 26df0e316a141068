package job

import (
	"context"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Begin closes what earlier runs began on the card, then gives the verdict. A verdict
// that blocks is an error. did gets sentences on what was found.
func Begin(ctx context.Context, s *cards.Session, c cards.Card, what string, did *[]string,
	assess func(context.Context) (cards.Assessment, error),
) (cards.Assessment, error) {
	// First, because a verdict on a card of which a job may still write is worth nothing.
	if err := SettleEarlier(ctx, s, c, what, did); err != nil {
		return cards.Assessment{}, err
	}
	a, err := assess(ctx)
	if err == nil {
		err = a.Verdict.Refusal(what)
	}
	return a, err
}

// SettleEarlier closes what earlier runs began on the card, as each change of it does first. did gets sentences on what
// was found.
func SettleEarlier(ctx context.Context, s *cards.Session, c cards.Card, what string, did *[]string) error {
	l, err := c.Confirm(ctx, what)
	if err != nil && !isUndecided(err, l) {
		return err
	}
	return closePending(ctx, s, c, l, did)
}

// isUndecided reports whether a card was refused only because nothing proves that it is the
// recorded one, and no earlier job has to be closed. The verdict decides then whether anything
// is written.
func isUndecided(err error, l *cards.Look) bool {
	var refused *safety.RefusedError
	return errors.As(err, &refused) && refused.Findings[0].Rule == finding.CardUndecided && len(l.Pending) == 0
}

// closePending closes what earlier runs began on the card: it waits for jobs that run,
// reads the card, records what it finds, and settles the jobs. It writes nothing to the
// card, so that changes made by hand since are kept. Only an apply of the firmware
// writes back what a burn took from the card, and its job stays open until then; see
// journal.Loss.
//
// A job that failed or was interrupted is no error here as long as the card holds one
// whole image; the caller goes on from what the card holds now.
func closePending(ctx context.Context, s *cards.Session, c cards.Card, l *cards.Look, did *[]string) error {
	// Oldest first, as they wrote.
	for _, pending := range l.Jobs.Pending() {
		if c.Host.Observe() || pending.Unreadable() != "" {
			continue // a journal that is not read is for the verdict to refuse
		}
		s.Progress(ctx, journal.ReportOf(pending.Job).String())
		if err := New(s, c, pending.Entry).close(ctx, pending.Job, did); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) close(ctx context.Context, record *inventory.Job, did *[]string) error {
	out, err := j.watch(ctx)
	if err == nil {
		out, err = j.leaveToOwner(ctx, record, out)
	}
	// Its owner, or another apply, was faster.
	if err != nil || out.Absent || out.Settled {
		return err
	}
	text, how, err := j.readAfter(ctx, out)
	if err != nil {
		return err
	}
	*did = append(*did, "Found job "+j.want.ID+" of an earlier run ("+j.want.Operator+").", text)
	if how == "" {
		return nil
	}
	return j.settle(ctx, how)
}

// readAfter reads the card after a job of an earlier run and says what it found, and
// how the job is settled by that; empty if it has to stay open.
func (j *Job) readAfter(ctx context.Context, out outcome) (text, how string, err error) {
	j.c.Host.Invalidate()
	l, err := j.c.Look(ctx)
	if err != nil {
		return "", "", err
	}
	// No look at the card is needed to know what such a job did.
	if !out.wrote() {
		return "It had not succeeded and wrote nothing: " + orNothing(out.Reason) + "." + out.classText(),
			"nothing was written" + out.classText(), nil
	}
	if why := j.want.Undecided(true, l.Who); why != "" {
		return "It stays open, because it may have been for another card than the one in the slot now: " + why + ".", "", nil
	}
	// The job is closed all the same: its card may never come back, and every plan would wait for it.
	if like, why := ib.Compare(j.want.Card, l.Who); like == ib.Other {
		return "It was for another card than the one that is in the slot now: " + why + ".",
			"another card is in the slot: " + why, nil
	}
	held, err := j.readCard(ctx, cards.BusyTries)
	if err != nil {
		return "", "", cards.WithBackup(j.unread(out, err), j.want.Backup)
	}
	if !held.whole() {
		return "", "", cards.WithBackup(held.notWhole(out), j.want.Backup)
	}
	text = held.flashText() + held.identityText()
	if !out.done() && !held.asAsked(out) {
		text = "It had not succeeded. " + out.endText() + out.classText() + " " + text
	}
	if lost := held.lossText(); lost != "" {
		return text + lost, "", nil
	}
	if held.asAsked(out) {
		return text, journal.Verified + " by a later apply. " + text, nil
	}
	return text, text, nil
}
