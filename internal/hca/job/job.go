package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Job is one change of the flash of a card: Start has the host begin it, and Finish sees
// it through.
type Job struct{ watcher }

// New is a job that has yet to start, or one of the journal.
func New(s *cards.Session, c cards.Card, want journal.Entry) *Job {
	return &Job{watcher{request: request{c, want}, s: s, grace: 2 * s.Poll}}
}

// SetGUIDs asks for GUIDs and MACs. On FS2 the tool burns the image in flash again for
// that. Later chips have one of each, from which they count.
func SetGUIDs(pci ib.PCIAddress, chip ib.Chip, set ib.GUIDSet, answers []safety.Question) (journal.Entry, error) {
	cmd, err := mstflint.SetGUIDs(pci, set, len(answers))
	if !chip.IsFS2() {
		cmd, err = mstflint.SetBase(pci, set.Node, set.MAC1)
	}
	if err != nil {
		return journal.Entry{}, fmt.Errorf("build the command that sets the GUIDs of %s: %w", pci, err)
	}
	return journal.Entry{Kind: journal.GUIDs, GUIDsAfter: set, Argv: cmd.Argv(), Answers: answers}, nil
}

// Start writes down what was in flash when the last verdict was made, stores the job
// and starts it. It gives the job's id.
func (j *Job) Start(ctx context.Context, l *cards.Look) (string, error) {
	e := &j.want
	e.ID = journal.NewID(j.s.Now(), l.Snap, j.c.PCI)
	e.PCI, e.Operator, e.BootID, e.Card, e.Serial = j.c.PCI, j.s.Operator, l.Snap.BootID, j.c.Recorded.Record(),
		l.Card.Serial.Or("")
	e.OwnerMachine, e.OwnerProcess = j.s.Owner.Machine, j.s.Owner.Process
	// Until a flash was read that has an identity: what is not known cannot be lost.
	e.Blank = true
	if f := l.Card.Flash; f != nil {
		e.Before, e.GUIDsBefore, e.Blank = f.Firmware, f.GUIDs, f.BlankGUIDs || f.ByDriver
	}
	// What does not change is what was there: the read-back compares all of it.
	if e.Kind == journal.GUIDs {
		e.After = e.Before
	} else {
		e.GUIDsAfter = e.GUIDsBefore
	}
	_, err := j.c.Host.Run(ctx, startCommand(*e))
	switch {
	case err == nil:
		return e.ID, nil
	// Never asked for again: a second start beside the first would be two burns of one card.
	case mayHaveStarted(err):
		// The job's directory tells whether the start arrived.
		j.lost, j.grace = err, 10*j.s.Poll
		j.s.Progress(ctx, fmt.Sprintf("It is not known whether job %s was started; looking for it", e.ID))
		return e.ID, nil
	}
	return e.ID, cards.WithBackup(cards.WithExit(j.notStarted("The job could not be stored or started on the host.", err)),
		e.Backup)
}

// mayHaveStarted reports whether a start that failed may have started its job all the same:
// its answer was lost, or its script was killed. A status of its own says that it has not.
func mayHaveStarted(err error) bool {
	var lost *host.UnreachableError
	var exit *host.ExitError
	return errors.As(err, &lost) && lost.MayHaveRun || errors.As(err, &exit) && (exit.Signal != "" || exit.Status > 128)
}
