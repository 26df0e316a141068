package hca

import (
	"context"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// leaveToOwner waits until the apply that watches a job has settled it, or does not
// live any more. Of an apply on another machine that is not known: it gets some
// looks more, and a job that is settled twice does no harm.
func (o *Ops) leaveToOwner(ctx context.Context, c cards.Card, record *inventory.Job, out journal.Outcome) (journal.Outcome, error) {
	entry := journal.Read(record)
	w := cards.Owner{Machine: entry.OwnerMachine, Process: entry.OwnerProcess}
	here := w.Machine == o.Owner.Machine
	if out.Absent || out.Settled || w == o.Owner || w.Process == "" || !here && fact.No(record.Running) {
		return out, nil
	}
	limit := o.Lost
	if !here {
		limit = 5 * o.Poll
	}
	out, waited, err := o.awaitOwner(ctx, c, out, limit, func() bool { return !here || o.Alive(w) })
	if err != nil || !here || !waited {
		return out, err
	}
	pid, _, _ := strings.Cut(w.Process, "@")
	return out, &safety.RefusedError{What: "take over job " + out.ID + " of card " + c.ID(), Findings: []finding.Finding{
		finding.FlashJobRunning.Find("Job %s has ended, and the apply that started it, process %s on this machine, has not settled it within %s.", out.ID, pid, limit),
	}}
}

// awaitOwner looks at a job until it is settled or its owner does not live; waited
// says that neither came about in time.
func (o *Ops) awaitOwner(ctx context.Context, c cards.Card, out journal.Outcome, limit time.Duration, lives func() bool) (last journal.Outcome, waited bool, err error) {
	for begin := time.Now(); time.Since(begin) < limit; {
		living := lives() // before the look: it may settle the job with its last breath
		next, err := o.look(ctx, c.Host, out.ID, out.Seen)
		switch {
		case err == nil && (next.Absent || next.Settled || !living):
			c.Host.Invalidate()
			return next, false, nil
		case err != nil && !cards.MayPass(err):
			return out, false, err
		}
		if err := o.Pause(ctx); err != nil {
			return out, false, err
		}
	}
	return out, true, nil
}
