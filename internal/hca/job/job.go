package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Job is one change of the flash of a card: Start has the host begin it, and Finish sees
// it through.
type Job struct {
	s    *cards.Session
	c    cards.Card
	want journal.Entry
	// grace is how long the job may be about to begin; lost is set if the connection
	// broke while it was started. seen says that a look has found it.
	grace time.Duration
	lost  error
	seen  bool
	said  string // the last step that was told of
}

// New is a job that has yet to start, or one of the journal.
func New(s *cards.Session, c cards.Card, want journal.Entry) *Job {
	return &Job{s: s, c: c, want: want, grace: 2 * s.Poll}
}

// SetGUIDs asks for GUIDs and MACs. On FS2 the tool burns the image in flash again for
// that.
func SetGUIDs(pci ib.PCIAddress, set ib.GUIDSet, answers []safety.Question) (journal.Entry, error) {
	cmd, err := mstflint.SetGUIDs(pci, set, len(answers))
	if err != nil {
		return journal.Entry{}, fmt.Errorf("build the command that sets the GUIDs of %s: %w", pci, err)
	}
	return journal.Entry{Kind: journal.GUIDs, GUIDsAfter: set, Argv: cmd.Argv(), Answers: answers}, nil
}

// Start writes down what was in flash when the last verdict was made, stores the job
// and starts it. It gives the job's id.
func (j *Job) Start(ctx context.Context, s *inventory.Snapshot, card *inventory.Card) (string, error) {
	e := &j.want
	e.ID = journal.NewID(j.s.Now(), s, j.c.PCI)
	e.PCI, e.Operator, e.BootID, e.Card, e.Serial = j.c.PCI, j.s.Operator, s.BootID, j.c.Recorded.Record(),
		card.Serial.Or("")
	e.OwnerMachine, e.OwnerProcess = j.s.Owner.Machine, j.s.Owner.Process
	e.Blank = true
	if f := card.Flash; f != nil {
		e.Before, e.GUIDsBefore, e.Blank = f.Firmware, f.GUIDs, f.BlankGUIDs
	}
	if e.Kind == journal.GUIDs {
		e.After = e.Before
	} else {
		e.GUIDsAfter = e.GUIDsBefore
	}
	_, err := j.c.Host.Run(ctx, startCommand(*e))
	var lost *host.UnreachableError
	switch {
	case err == nil:
		return e.ID, nil
	case errors.As(err, &lost) && lost.MayHaveRun:
		// The job's directory tells whether the start arrived.
		j.lost, j.grace = err, 10*j.s.Poll
		j.s.Progress(ctx, fmt.Sprintf("Connection lost while starting job %s; looking for it", e.ID))
		return e.ID, nil
	}
	return e.ID, cards.WithBackup(j.notStarted("The job could not be stored or started on the host.", err).WithExit(),
		e.Backup)
}

// Finish watches the job to its end, reads the card, mends what the job lost, and
// settles it. It gives sentences on what was found and done. A card that is not as it
// should be is an error, and the job is settled then only if what the card holds is
// known and verified.
func (j *Job) Finish(ctx context.Context) ([]string, error) {
	out, err := j.end(ctx)
	if err != nil {
		return nil, cards.WithBackup(err, j.want.Backup)
	}
	did, err := j.conclude(ctx, out)
	return did, cards.WithBackup(err, j.want.Backup)
}

// end watches the job to its end. One that is gone without a trace has none.
func (j *Job) end(ctx context.Context) (outcome, error) {
	out, err := j.watch(ctx)
	switch {
	case err != nil || !out.Absent:
		return out, err
	case out.Seen || j.lost == nil:
		return out, j.vanished(out)
	}
	e := j.notStarted("The connection was lost before the request to start it arrived.", j.lost)
	e.Check = "Run the same command again."
	return out, e
}

// look reads the job once.
func (j *Job) look(ctx context.Context) (outcome, error) {
	cmd := lookCommand(j.want.ID)
	r, err := j.c.Host.Run(ctx, cmd)
	if err != nil {
		return outcome{Seen: j.seen}, err
	}
	out, err := parseLook(j.want.ID, string(r.Stdout))
	if err != nil {
		return outcome{Seen: j.seen}, &host.OutputError{Host: j.c.Host.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	j.seen = j.seen || !out.Absent
	out.Seen = j.seen
	return out, nil
}

// watch looks at the job until it has ended, was interrupted, or is absent. It
// never stops a job. A connection that breaks is dialled anew by the next
// look; its errors say that the job goes on and where.
//
// For a moment a job may be there without its unit, or not yet be there, if the
// connection broke while it was started.
func (j *Job) watch(ctx context.Context) (outcome, error) {
	begin := time.Now()
	deadline, contact := begin.Add(j.s.Deadline), begin
	for {
		out, err := j.look(ctx)
		switch {
		case err == nil:
			contact = time.Now()
			if out.over() && (!out.mayBegin() || time.Since(begin) >= j.grace) {
				j.c.Host.Invalidate()
				return out, nil
			}
			j.tell(ctx, out.step())
		case ctx.Err() != nil:
			return out, j.goesOn("this run was interrupted", context.Cause(ctx))
		case !cards.MayPass(err):
			return out, j.goesOn("it cannot be watched", err)
		case time.Since(contact) > j.s.Lost:
			return out, j.goesOn(fmt.Sprintf("the host has not answered for %s", j.s.Lost), err)
		default:
			redial(j.c.Host, err)
		}
		if time.Now().After(deadline) {
			return out, j.goesOn(fmt.Sprintf("it has not ended within %s (%s)", j.s.Deadline, out.evidence()), err)
		}
		if err := j.s.Pause(ctx); err != nil {
			return out, j.goesOn("this run was interrupted", err)
		}
	}
}

// tell tells of a step that has not been told of.
func (j *Job) tell(ctx context.Context, step string) {
	if step != j.said {
		j.said = step
		j.s.Progress(ctx, fmt.Sprintf("Job %s: %s", j.want.ID, step))
	}
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

func (j *Job) notStarted(what string, err error) *cards.Error {
	return &cards.Error{
		Summary: "Unable to start the flash job of card " + j.c.ID(),
		What:    what,
		Means:   "Nothing was written to the card.",
		Facts:   j.place(),
		Err:     err,
	}
}

func (j *Job) goesOn(why string, err error) error {
	return &cards.Error{
		Summary: "Unable to follow job " + j.want.ID + " on card " + j.c.ID(),
		Heading: j.unknownEnd(),
		What:    "The change of the flash was started as a job of the host, and " + why + ".",
		Means:   "The job was not stopped and goes on. Do not restart the host or unplug the card before it has ended.",
		Check: "Apply again. It finds the job, waits for its end, reads the card and records the result. To look by hand: " +
			"systemctl status " + j.unit(),
		Facts: append(j.place(), cards.Fact{"Unit", j.unit()}),
		Err:   err,
	}
}

// vanished is the error about a job whose directory was removed before its end was read.
func (j *Job) vanished(out outcome) error {
	return &cards.Error{
		Summary: "Unable to follow job " + j.want.ID + " on card " + j.c.ID(),
		What: "Somebody removed the directory of the job while it ran, and with it the record of how it ended. The job " +
			"has ended since: " + out.evidence() + ".",
		Means: "The flash may have been written. Whether it was written to the end is not known.",
		Check: "Do not restart the host before the flash verifies: mstflint -d " + j.c.PCI.String() +
			" v, then mstflint -d " + j.c.PCI.String() + " q. " +
			"If it does, run the same command again. If it does not, burn the backup.",
		Facts: append(j.place(), cards.Fact{"Unit", j.unit()}),
	}
}

// unknownEnd is the title of an error that says nothing against the card.
func (j *Job) unknownEnd() string {
	return "Unable to say yet how the write to card " + j.c.ID() + " ended"
}

func (j *Job) unit() string { return inventory.JobUnit(j.want.ID) }

func (j *Job) place() []cards.Fact {
	return []cards.Fact{{"Host", j.c.Host.Name()}, {"Card", j.c.PCI.String()}, {"Job directory", journal.Dir(j.want.ID)}}
}
