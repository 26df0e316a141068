package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// watcher looks at a job until it is over.
type watcher struct {
	request
	s *cards.Session
	// grace is how long the job may be about to begin. claims says that looks keep it from
	// that afterwards. lost is set if it is not known whether the start arrived. seen says
	// that a look has found the job.
	grace  time.Duration
	claims bool
	lost   error
	seen   bool
	said   string // the last step that was told of
	away   bool   // it was told that the host does not answer
	pace   pace
}

// end watches the job to its end; a job that vanished has none.
func (w *watcher) end(ctx context.Context) (outcome, error) {
	out, err := w.watch(ctx)
	switch {
	case err != nil || !out.Absent:
		return out, err
	case out.Seen || w.lost == nil:
		return out, w.vanishedError(out)
	}
	what := "The connection was lost before the request to start it arrived."
	if killed := (*host.ExitError)(nil); errors.As(w.lost, &killed) {
		what = "The script that starts it was killed before it had stored the job."
	}
	e := w.notStarted(what, w.lost)
	e.Check = "Run the same command again."
	return out, e
}

// watch looks at the job until it has ended, was interrupted, or is absent. It never
// stops a job. If the connection breaks, the next look dials anew; errors say that the
// job goes on, and where.
//
// For a moment a job may be there without its unit, or, if the connection broke during
// the start, not be there yet.
func (w *watcher) watch(ctx context.Context) (outcome, error) {
	begin := time.Now()
	// Two bounds: a host that does not answer is given up sooner than a burn that goes on.
	deadline, contact := begin.Add(w.s.Deadline), begin
	for {
		out, err := w.look(ctx)
		switch {
		case err == nil:
			contact, w.away = time.Now(), false
			if w.decided(out, time.Since(begin)) {
				w.c.Host.Invalidate()
				w.note(out)
				return out, nil
			}
			w.tell(ctx, out)
		// Ctrl-C ends the watching, never the job.
		case ctx.Err() != nil:
			return out, w.goesOn("this run was interrupted", context.Cause(ctx))
		case !cards.MayPass(err):
			return out, w.goesOn("it cannot be watched", err)
		case time.Since(contact) > w.s.Lost:
			return out, w.goesOn(fmt.Sprintf("the host has not answered for %s", w.s.Lost), err)
		default:
			w.missing(err)
			redial(w.c.Host, err)
		}
		if time.Now().After(deadline) {
			return out, w.goesOn(fmt.Sprintf("it has not ended within %s (%s)", w.s.Deadline, out.evidence()), err)
		}
		if err := w.s.Pause(ctx); err != nil {
			return out, w.goesOn("this run was interrupted", err)
		}
	}
}

// decided reports whether nothing more can come of the job. systemd may start its unit at
// any time, so one that has not begun within its grace is kept from that, and looked at
// once more.
func (w *watcher) decided(out outcome, waited time.Duration) bool {
	if !out.over() || !out.mayBegin() {
		return out.over()
	}
	if waited < w.grace {
		return false
	}
	claimed := w.claims || out.Absent
	w.claims = true
	return claimed
}

// missing tells once that the host does not answer.
func (w *watcher) missing(err error) {
	if w.away {
		return
	}
	w.away = true
	w.s.Tell(w.c, journal.Step{Name: "no answer", Percent: journal.Unknown, Text: err.Error() + "; trying again"})
}

// look reads the job once.
func (w *watcher) look(ctx context.Context) (outcome, error) {
	cmd := lookCommand(w.want.ID, w.claims)
	r, err := w.c.Host.Run(ctx, cmd)
	if err != nil {
		return outcome{Seen: w.seen}, err
	}
	out, err := parseLook(w.want.ID, string(r.Stdout))
	if err != nil {
		return outcome{Seen: w.seen}, &host.OutputError{Host: w.c.Host.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	w.seen = w.seen || !out.Absent
	out.Seen = w.seen
	return out, nil
}

// tell tells of a step that has not been told of.
func (w *watcher) tell(ctx context.Context, out outcome) {
	if !out.over() { // else it is about to begin
		w.note(out)
	}
	if step := out.step(); step != w.said {
		w.said = step
		w.s.Progress(ctx, fmt.Sprintf("Job %s: %s", w.want.ID, step))
	}
}

// note notes how far a job is.
func (w *watcher) note(out outcome) {
	if s, worth := w.pace.step(out, w.s.Now()); worth {
		w.s.Tell(w.c, s)
	}
}

// leaveToOwner waits until the apply that watches the job has settled it or has died.
// For an apply on another machine the latter cannot be known: it gets the time in which a card
// is read back, from the end of the job on. To settle a job twice is harmless.
func (w *watcher) leaveToOwner(ctx context.Context, record *inventory.Job, out outcome) (outcome, error) {
	owner := cards.Owner{Machine: w.want.OwnerMachine, Process: w.want.OwnerProcess}
	here := owner.Machine == w.s.Owner.Machine
	limit, longOver := w.s.Lost, false
	if !here {
		// By the host's clock on both sides: two machines' clocks are never compared.
		limit, longOver = w.s.Settle, fact.No(record.Running) && !out.endedWithin(w.s.Settle)
	}
	// A job of an earlier version has no owner; nobody can be waited for.
	if ours := owner == w.s.Owner || owner.Process == ""; out.Absent || out.Settled || longOver || ours {
		return out, nil
	}
	out, waited, err := w.awaitOwner(ctx, out, limit, func() bool { return !here || w.s.Alive(owner) })
	if err != nil || !here || !waited {
		return out, err
	}
	pid, _, _ := strings.Cut(owner.Process, "@")
	return out, &safety.RefusedError{What: "take over job " + w.want.ID + " of card " + w.c.ID(),
		Findings: []finding.Finding{
			finding.FlashJobRunning.Find("Job %s has ended, and the apply that started it, process %s on this machine, has not "+
				"recorded its result within %s.", w.want.ID, pid, limit),
		}}
}

// awaitOwner looks at the job until it is settled or its owner has died; waited says
// that neither happened in time.
func (w *watcher) awaitOwner(ctx context.Context, out outcome, limit time.Duration,
	lives func() bool) (last outcome, waited bool, err error) {
	for begin := time.Now(); time.Since(begin) < limit; {
		living := lives() // before the look: it may settle the job with its last breath
		next, err := w.look(ctx)
		switch {
		case err == nil && (next.Absent || next.Settled || !living):
			w.c.Host.Invalidate()
			return next, false, nil
		case err != nil && !cards.MayPass(err):
			return out, false, err
		}
		if err := w.s.Pause(ctx); err != nil {
			return out, false, err
		}
	}
	return out, true, nil
}

// redial makes the next command dial anew after a failed attempt to connect, which the
// transport otherwise remembers for some seconds. It keeps a connection that works:
// others may use it.
func redial(h host.Host, err error) {
	var lost *host.UnreachableError
	if errors.As(err, &lost) && lost.Op == "connect" {
		h.Drop()
	}
}
