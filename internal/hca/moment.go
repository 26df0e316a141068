package hca

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// lookAgain reads host and card anew just before flash is written: the backup has
// taken minutes since the first verdict. What only a long look at the card gives is
// taken from that one; the backup has read and verified the whole flash since, and
// what differs in the short look leads to another verdict.
func (o *Ops) lookAgain(ctx context.Context, c Card, first Assessment) (*inventory.Snapshot, *inventory.Card, Assessment, error) {
	s, card, err := o.untaken(ctx, c, readTries)
	if err != nil {
		return nil, nil, Assessment{}, err
	}
	now := Assessment{Card: c.facts(s, card), Host: o.hostFacts(c, s), Jobs: PendingJobs(s, c.PCI)}
	now.Card = inspectedAs(now.Card, first.Card)
	return s, card, now, nil
}

// untaken reads a card anew, most times at most while another program has its
// flash semaphore, a second apart.
func (o *Ops) untaken(ctx context.Context, c Card, most int) (*inventory.Snapshot, *inventory.Card, error) {
	for try := 1; ; try++ {
		c.Host.Invalidate()
		s, card, err := snapshotCard(ctx, c)
		again := passing(err) && try < lostTries || err == nil && cardFacts(s, card).FlashTaken && try < most
		if !again {
			return s, card, err
		}
		if err := sleep(ctx, min(time.Second, o.cfg.Poll)); err != nil {
			return nil, nil, err
		}
	}
}

// overtaken refuses for what was found just before a write. If another apply has
// begun to write the card since the first look, that is why, and the refusal says
// so.
func overtaken(c Card, before, now *inventory.Snapshot, what string, first, final safety.Verdict) error {
	refused := &safety.RefusedError{What: what, Findings: slices.Clone(final.Findings)}
	if len(refused.Blocking()) == 0 {
		refused.Findings = append(refused.Findings, safety.Overtaken("While the backup was taken, the card or its host changed: %s.", difference(first, final)))
	}
	known := map[string]bool{}
	for _, j := range before.JobsOf(c.PCI) {
		known[j.ID] = true
	}
	for _, j := range now.JobsOf(c.PCI) {
		if known[j.ID] {
			continue
		}
		r := report(j)
		for i := range refused.Findings {
			refused.Findings[i].Evidence += fmt.Sprintf("\n\nMeanwhile another apply has begun to write the card: job %s (%s), started by %s at %s. Plan again when it has ended.",
				r.ID, r.Kind, r.Operator, r.Since)
		}
	}
	return refused
}

// difference says in what a verdict differs from an earlier one that blocked as
// little.
func difference(first, final safety.Verdict) string {
	var all []string
	add := func(what string, was, is any) {
		if was != is {
			all = append(all, fmt.Sprintf("%s was %v and is %v", what, was, is))
		}
	}
	add("what is to be done", first.Action, final.Action)
	add("the activation", first.Activation, final.Activation)
	add("the flash before the change", first.From, final.From)
	add("the flash after the change", first.To, final.To)
	add("the identity after the change", describeIdentity(first.GUIDs), describeIdentity(final.GUIDs))
	add("the questions of mstflint", len(first.Answers), len(final.Answers))
	return strings.Join(all, "; ")
}
