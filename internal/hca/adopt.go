package hca

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Adopt closes what earlier runs began on the card: it waits for jobs that run,
// reads the card, records what it finds, and settles them. It writes nothing to the
// card: whoever has changed it by hand since wins. What a burn took from the card is
// given back by ApplyFirmware alone, and its job stays open until then; see loss.
//
// It gives sentences on what it found. A job that failed or was interrupted is no
// error here as long as the card holds one whole image; the caller goes on from what
// the card is now.
func (o *Ops) Adopt(ctx context.Context, c cards.Card) ([]string, error) {
	s, _, err := c.Read(ctx)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, pending := range journal.Pending(s, c.PCI) {
		record, ok := s.Job(pending.ID)
		if !ok || c.Host.Observe() || record.Foreign() != "" {
			continue // a journal of another version is for the verdict to refuse
		}
		text, err := o.adoptOne(ctx, c, record)
		did = append(did, text...)
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

// mayAdopt is rightCard for the begin of an apply. What is not decided stops
// it only if an earlier job is to be finished; else the verdict says whether
// anything is to be written at all.
func (o *Ops) mayAdopt(ctx context.Context, c cards.Card, what string) error {
	err := c.Confirm(ctx, what)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.CardUndecided {
		return err
	}
	s, _, snapErr := c.Read(ctx)
	if snapErr != nil || len(journal.Pending(s, c.PCI)) > 0 {
		return err
	}
	return nil
}

func (o *Ops) adoptOne(ctx context.Context, c cards.Card, record *inventory.Job) ([]string, error) {
	o.Progress(ctx, journal.ReportOf(record).String())
	out, err := o.watch(ctx, c, record.ID, 2*o.Poll)
	if err == nil {
		out, err = o.leaveToOwner(ctx, c, record, out)
	}
	if err != nil || out.Absent || out.Settled {
		return nil, err
	}
	text, how, err := o.readAfter(ctx, c, record, out)
	if err != nil {
		return nil, err
	}
	if how != "" {
		err = o.settle(ctx, c, out.ID, how)
	}
	return []string{"Found job " + record.ID + " of an earlier run (" + record.Operator + ").", text}, err
}

// readAfter reads the card after a job of an earlier run and says what it found, and
// how the job is settled by that; empty if it has to stay open.
func (o *Ops) readAfter(ctx context.Context, c cards.Card, record *inventory.Job, out journal.Outcome) (text, how string, err error) {
	c.Host.Invalidate()
	s, card, err := c.Read(ctx)
	if err != nil {
		return "", "", err
	}
	if like, why := ib.Compare(journal.Read(record).Card, s.Identity(card)); like == ib.Other {
		return "It was for another card than the one that is in the slot now: " + why + ".", "another card is in the slot: " + why, nil
	}
	if !out.Wrote() {
		return "It had not succeeded and wrote nothing: " + orNothing(out.Reason) + ".", "nothing was written", nil
	}
	facts, err := o.readCard(ctx, c, cards.Patiently)
	if err != nil {
		return "", "", withBackup(o.unread(c, out, err), journal.Read(record).Backup)
	}
	done := out.Done()
	if !whole(facts) {
		e := o.failed(c, out, out.Ending())
		e.Facts = append(e.Facts, cards.Fact{"Flash", orNothing(facts.FlashError + facts.VerifyError)})
		return "", "", withBackup(e, journal.Read(record).Backup)
	}
	want := expectationOf(record)
	text = flashText(c, facts, want) + identityText(facts.InFlash().GUIDs, want)
	if !done {
		text = "It had not succeeded. " + out.Ending() + " " + text
	}
	if s, card, err = c.Read(ctx); err != nil {
		return "", "", err
	}
	if l := journal.LossOf(s, card); l != nil && l.Job == record.ID {
		return text + " " + l.String(), "", nil
	}
	return text, text, nil
}

// identityText says what became of the identity after a job; empty if it is as the
// job left it.
func identityText(now ib.GUIDSet, want expectation) string {
	switch {
	case now == want.guids, want.blank:
		return ""
	case want.kind == journal.GUIDs && now == want.oldGUIDs:
		return " It has the GUIDs and MACs from before."
	}
	return fmt.Sprintf(" It has %s, and the job left %s. They were set since, or lost; nothing was written.", now.Text(), want.guids.Text())
}

// giveBack writes what a burn of an earlier run took from the card, as the plan has
// announced, with all that a change of GUIDs needs. It reports whether it did.
func (o *Ops) giveBack(ctx context.Context, f Firmware, did *[]string) (bool, error) {
	s, card, err := f.Card.Read(ctx)
	if err != nil {
		return false, err
	}
	l := journal.LossOf(s, card)
	if l == nil {
		return false, nil
	}
	// They are the card's own: the fabric had them with this card until the burn, and
	// is not asked whether it has them.
	lab := f.Lab
	lab.Fabric = fact.Known[[]safety.FabricNode](nil)
	g := GUIDs{Card: f.Card, Lab: lab, Request: safety.GUIDRequest{
		Want: l.Before, HasGUIDs: l.GUIDs, HasMACs: l.MACs, ManagementPath: f.Request.ManagementPath, Activation: safety.ActivationNone,
	}}
	a, err := permitted(ctx, "write back the identity of card "+f.Card.ID(), func(ctx context.Context) (cards.Assessment, error) { return o.AssessGUIDs(ctx, g) })
	if err != nil {
		return false, err
	}
	var work Work
	if err = o.write(ctx, g, a, &work); err != nil {
		return false, err
	}
	*did = append(append(*did, work.Did...), "Wrote back what job "+l.Job+" had taken from card "+f.Card.ID()+": "+a.Verdict.GUIDs.Text()+".")
	return true, o.settle(ctx, f.Card, l.Job, "its loss was written back by job "+work.JobID)
}

// expectationOf reads from a job's request what the card should hold.
func expectationOf(j *inventory.Job) expectation {
	e := journal.Read(j)
	want := expectation{kind: j.Kind, before: e.Before, flash: e.After, guids: e.GUIDsAfter}
	if j.Kind == journal.GUIDs {
		want.oldGUIDs, want.ownROM = e.GUIDsBefore, true
		return want
	}
	want.blank = e.Blank
	return want
}
