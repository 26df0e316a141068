package journal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Report says what is known of a job that nobody has settled yet.
type Report struct {
	ID      string
	Kind    string
	Since   string
	Last    string // name of its last state
	Running bool   // it runs, or is not proven to have ended
	Doubt   string // why it is not known whether it runs
	Lost    bool   // it runs, and its directory is gone
	Ended   bool
	// Interrupted says that the job neither runs nor has ended: the host lost power or
	// was reset, or the job was killed.
	Interrupted bool
	Dir         string // on the host
	// Full names the journals' file system if it has no space left; empty if it has, or
	// if that is not known.
	Full string
	// Unreadable says why this release does not read the journal; empty if it does.
	Unreadable string
	// Announced is what the apply will write, or may have to write, because of the job.
	Announced string
	// Undecided says why the job may have been for another card than the one in its slot;
	// empty if it was for this one. What this card holds says nothing about the job then.
	Undecided string

	job string // what it is, with all of that
}

// Title says in one line what is wrong with a card: a job burns it now, whoever watches it, or an
// earlier one did not finish.
func (j Report) Title(card string) string {
	does, may := "burns", "be burning"
	if j.Kind == GUIDs {
		does, may = "writes the GUIDs of", "be writing the GUIDs of"
	}
	job := fmt.Sprintf("(job %s, since %s)", j.ID, cmp.Or(j.Since, "an unknown time"))
	switch {
	case j.Unreadable != "" || !j.Running:
		return fmt.Sprintf("Card %s: an earlier apply did not finish (job %s)", card, j.ID)
	case j.Doubt != "" && !j.Lost:
		return fmt.Sprintf("A job may %s card %s now %s", may, card, job)
	}
	return fmt.Sprintf("A job %s card %s now %s", does, card, job)
}

// Closes reports whether the next apply closes the job by what the card holds then.
func (j Report) Closes() bool { return j.Undecided == "" || j.Running }

// String says in a plan how the job stands, and what comes next.
func (j Report) String() string {
	if !j.Closes() && j.Unreadable == "" {
		return j.job + ", is not closed, and it may have been for another card than the one in the slot now: " +
			j.Undecided + ". It stays open, because this card does not show what the job did. If the cards were " +
			"exchanged, plan again when the job's card is back: the plan says then what the job left. If it never comes " +
			"back, or if it is this card and its flash is as wanted, write on the host: echo by hand >" + j.Dir + "/settled"
	}
	if j.Announced != "" {
		return j.what() + " " + j.Announced
	}
	return j.what()
}

func (j Report) what() string {
	what := j.job
	switch {
	case j.Unreadable != "":
		return what + ", cannot be read: " + j.Unreadable + ". This version does not touch it. Its directory is " + j.Dir +
			"."
	case j.Lost:
		return what + ", is running, and somebody has removed its directory. The next apply waits until it has ended, and " +
			"reads the card."
	case j.Doubt != "":
		return what + ", may be running" + j.inState() + ": " + j.Doubt +
			". The next apply waits until that is known, reads the card and records the result."
	case j.Running:
		return what + ", is running" + j.inState() +
			". The next apply waits for it, reads the card and records the result."
	case j.Interrupted:
		return what + j.noEnd() + " A burn keeps the old image bootable until the new one is complete; the next apply " +
			"reads the card, says which image it has, and records the result."
	}
	return what + ", has ended" + j.inState() + ". The next apply reads the card and records the result."
}

// inState names the last state of a job. A power cut may leave a journal without one.
func (j Report) inState() string {
	if j.Last == "" {
		return " with no state in its journal"
	}
	return " in state " + j.Last
}

// noEnd says how a job stopped whose journal has no exit status. A state after the
// writing one means that the tool itself had ended.
func (j Report) noEnd() string {
	text := ", was interrupted" + j.inState()
	switch j.Last {
	case Burned, Failed, Verified, "settled":
		text = ", has come to state " + j.Last + ", and the end of its journal is missing"
	}
	if j.Full != "" {
		return text + ". The file system of its journal is full: " + j.Full + ". Make room there first."
	}
	return text + ", by " + EndCauses + "."
}

// AnyCloses reports whether the next apply closes one of the jobs.
func AnyCloses(jobs []Report) bool { return slices.ContainsFunc(jobs, Report.Closes) }

// ReportOf says what is known of a job.
func ReportOf(j *inventory.Job) Report {
	r := Report{
		ID: j.ID, Kind: j.Kind, job: j.What(), Running: !fact.No(j.Running), Doubt: j.Running.Why(),
		Lost:  j.Lost,
		Ended: strings.TrimSpace(j.Exit) != "", Dir: Dir(j.ID), Unreadable: j.Unreadable(),
	}
	r.Interrupted = !r.Running && !r.Ended
	if n := len(j.States); n > 0 {
		r.Since, r.Last = j.States[0].Time, j.States[n-1].Name
	}
	return r
}
