package hca

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// newJob begins the request of a job on a card.
func (o *Ops) newJob(kind string, c cards.Card, s *inventory.Snapshot, card *inventory.Card) journal.Request {
	j := journal.NewRequest(kind, c.PCI, s, o.Operator, o.Now())
	j.SetCard(c.Recorded, card)
	return j
}

// look reads a job once; seen says that it was there at an earlier look.
func (o *Ops) look(ctx context.Context, h host.Host, id string, seen bool) (journal.Outcome, error) {
	cmd := lookAtJob(id)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return journal.Outcome{Seen: seen}, err
	}
	out, err := journal.ParseLook(id, string(r.Stdout))
	out.Seen = seen || !out.Absent
	if err != nil {
		return journal.Outcome{Seen: seen}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
	}
	return out, nil
}

// watch looks at a job until it has ended, was interrupted, or is absent. It
// never stops a job. A connection that breaks is dialled anew by the next
// look; its errors say that the job goes on and where.
//
// For a moment a job may be there without its unit, or not yet be there, if the
// connection broke while it was started; grace is how long that is waited for.
func (o *Ops) watch(ctx context.Context, c cards.Card, id string, grace time.Duration) (journal.Outcome, error) {
	begin := time.Now()
	deadline, contact := begin.Add(o.Deadline), begin
	said, seen := "", false
	for {
		out, err := o.look(ctx, c.Host, id, seen)
		seen = out.Seen
		switch {
		case err == nil:
			contact = time.Now()
			if out.Over() && (!out.MayBegin() || time.Since(begin) >= grace) {
				c.Host.Invalidate()
				return out, nil
			}
			said = o.report(ctx, id, said, out.Step())
		case ctx.Err() != nil:
			return out, o.goesOn(c, id, "this run was interrupted", context.Cause(ctx))
		case !cards.MayPass(err):
			return out, o.goesOn(c, id, "it cannot be watched", err)
		case time.Since(contact) > o.Lost:
			return out, o.goesOn(c, id, fmt.Sprintf("the host has not answered for %s", o.Lost), err)
		default:
			redial(c.Host, err)
		}
		if time.Now().After(deadline) {
			return out, o.goesOn(c, id, fmt.Sprintf("it has not ended within %s (%s)", o.Deadline, out.Evidence()), err)
		}
		if err := o.Pause(ctx); err != nil {
			return out, o.goesOn(c, id, "this run was interrupted", err)
		}
	}
}

// report tells of a new last line of a job, and returns what has been told.
func (o *Ops) report(ctx context.Context, id, said, now string) string {
	if now != said {
		o.Progress(ctx, fmt.Sprintf("Job %s: %s", id, now))
	}
	return now
}

// redial has the next command dial anew after a failed attempt to connect, which
// the transport otherwise remembers for some seconds. A connection that stands is
// left alone: others may be using it.
func redial(h host.Host, err error) {
	var lost *host.UnreachableError
	if errors.As(err, &lost) && lost.Op == "connect" {
		h.Drop()
	}
}

func (o *Ops) goesOn(c cards.Card, id, why string, err error) error {
	return &cards.Error{
		Summary: "Unable to follow job " + id + " on card " + c.ID(),
		Heading: unknownEnd(c),
		What:    "The change of the flash was started as a job of the host, and " + why + ".",
		Means:   "The job is not affected by this: it was not stopped and continues on the host. Do not restart the host or unplug the card before it has ended.",
		Check:   "Run plan or apply again: the next one finds the job, waits for it, reads the card and settles it. To look by hand: systemctl status " + journal.Unit(id),
		Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", journal.Dir(id)}, {"Unit", journal.Unit(id)}},
		Err:     err,
	}
}

// vanished is the error about a job whose directory was removed before its end was read.
func (o *Ops) vanished(c cards.Card, out journal.Outcome) error {
	return &cards.Error{
		Summary: "Unable to follow job " + out.ID + " on card " + c.ID(),
		What:    "Somebody removed the directory of the job while it ran, and with it the record of how it ended. The job has ended since: " + out.Evidence() + ".",
		Means:   "The flash may have been written. Whether it was written to the end is not known.",
		Check: "Do not restart the host before the flash verifies: mstflint -d " + c.PCI.String() + " v, then mstflint -d " + c.PCI.String() + " q. " +
			"If it does, run the same command again. If it does not, burn the backup.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", journal.Dir(out.ID)}, {"Unit", journal.Unit(out.ID)}},
	}
}

// run stores and starts a job and watches it to its end.
func (o *Ops) run(ctx context.Context, c cards.Card, j journal.Request) (journal.Outcome, error) {
	_, err := c.Host.Run(ctx, startJob(j))
	grace := 2 * o.Poll
	var lost *host.UnreachableError
	switch {
	case err == nil:
	case errors.As(err, &lost) && lost.MayHaveRun:
		// The job's directory tells whether the start arrived.
		grace = 10 * o.Poll
		o.Progress(ctx, fmt.Sprintf("Connection lost while starting job %s; looking for it", j.ID))
	default:
		e := &cards.Error{
			Summary: "Unable to start the flash job of card " + c.ID(),
			What:    "The job could not be stored or started on the host.",
			Means:   "Nothing was written to the card.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", journal.Dir(j.ID)}},
			Err:     err,
		}
		return journal.Outcome{}, e.WithExit()
	}
	out, watchErr := o.watch(ctx, c, j.ID, grace)
	if watchErr != nil {
		return out, watchErr
	}
	if out.Absent && (out.Seen || err == nil) {
		return out, o.vanished(c, out)
	}
	if out.Absent {
		return out, &cards.Error{
			Summary: "Unable to start the flash job of card " + c.ID(),
			What:    "The connection was lost before the request to start it arrived.",
			Means:   "Nothing was written to the card.",
			Check:   "Run the same command again.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
			Err:     err,
		}
	}
	return out, nil
}
