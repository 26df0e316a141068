package record

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Ending says whether a job has ended, and how.
type Ending string

// The endings of a job.
const (
	Running     Ending = "running"
	Unclear     Ending = "unclear"      // whether it runs is not known
	Burned      Ending = journal.Burned // the tool says done, and nobody has read the card since
	Verified    Ending = "verified"     // read back: the card holds what was asked for
	Differs     Ending = "differs"      // read back: it does not
	Refused     Ending = "refused"      // nothing was written
	Failed      Ending = "failed"       // the tool was started, and failed
	Interrupted Ending = "interrupted"  // neither does it run, nor is there an end
)

// wrote reports whether the tool was started.
func (j *Job) wrote() bool { return inventory.MayHaveWritten(j.States) }

// Ending is how the job stands.
// Before anything else what cannot be read or may still run: of neither anything else is certain.
func (j *Job) Ending() Ending {
	switch {
	case j.Unreadable() != "":
		return Unclear
	case fact.Yes(j.Running):
		return Running
	case !j.Running.Known():
		return Unclear
	// A job without a state of the tool has not touched the card, whatever its status.
	case !j.wrote() && (j.Exit != "" || j.Settled):
		return Refused
	case j.Settled && strings.HasPrefix(j.How, journal.Verified):
		return Verified
	// Neither running nor ended: a power cut, a kill, or a disk without space.
	case j.Exit == "":
		return Interrupted
	case j.failed():
		return Failed
	case !j.Settled:
		return Burned
	}
	return Differs
}

// failed reports whether the tool said so.
func (j *Job) failed() bool {
	return j.Exit != "0" || slices.ContainsFunc(j.States, func(s inventory.JobState) bool { return s.Name == "failed" })
}

// Text says in words how a job stands that does not run, or that is not known to.
func (j *Job) Text() string {
	// What comes next is said too: a reader would else take the card for broken.
	e := j.Ending()
	switch {
	case e == Unclear:
		return j.doubt()
	case e == Burned:
		return "mstflint says done; nobody has read the card back, which the next apply does"
	case e == Refused:
		return cmp.Or(j.Refusal, j.How, "nothing was written")
	case e == Failed && j.Settled:
		return j.failure() + "; read back: " + j.How
	case e == Failed:
		return j.failure() + "; the next apply reads what the flash holds"
	case e == Interrupted && !j.Settled:
		return "stopped in state " + cmp.Or(j.State(), "none") + ", by " + journal.EndCauses +
			"; the next apply reads what the flash holds"
	}
	return journal.Note(j.How)
}

// doubt says why it is not known whether the job runs.
func (j *Job) doubt() string {
	if why := j.Unreadable(); why != "" {
		return why
	}
	return "whether it runs is not known: " + j.Running.Why()
}

func (j *Job) failure() string {
	text := "mstflint ended with status " + j.Exit
	status, _ := strconv.Atoi(j.Exit) // of text that is no number nothing follows
	if errs := mstflint.ParseSession(j.LogTail).Errors; len(errs) > 0 {
		text += ": " + errs[len(errs)-1]
	} else if f := mstflint.Diagnose(status, "", ""); f.Kind == mstflint.FailureCrashed {
		text += ": " + string(f.Kind)
	}
	if class := j.Class(); class != "" && !j.Settled {
		text += " (" + string(class) + ")"
	}
	return text
}

// Class says whether the same command may succeed after a job that did not; empty if that is not known.
// The note of an apply keeps it; before there is one, the output of the tool says it.
func (j *Job) Class() mstflint.Class {
	// The note, because it was made from the whole output; here only its end is left.
	if e := j.Ending(); e != Failed || j.Settled {
		return mstflint.ClassIn(j.How)
	}
	status, _ := strconv.Atoi(j.Exit) // of text that is no number nothing follows
	return mstflint.Judge(status, j.LogTail).Class
}

// Step is how far a job is, in the words that are shown to people.
func (j *Job) Step(l Look) journal.Step {
	s := journal.Step{Time: l.Now, Host: l.Host, PCI: j.PCI, Name: cmp.Or(j.State(), "requested"),
		Percent: journal.Unknown}
	switch e := j.Ending(); {
	case j.Lost:
		s.Name, s.Text = string(Running), "somebody has removed the directory of the job; the next apply waits for its end"
	case e == Running && s.Name == "burning":
		s.Percent = mstflint.ParseSession(j.LogTail).Percent
		s.Elapsed, _ = j.Lasted(l)
	// A job that has burned says so a moment before it ends.
	case e == Burned, e == Running && s.Name == journal.Burned:
		s.Name, s.Percent = journal.Burned, 100
	case e != Running:
		s.Name, s.Text = string(e), j.Text()
		if e == Verified {
			s.Percent = 100
		}
	}
	return s
}

// Lasted is how long ago the job noted its last state, by the clock of its host.
func (j *Job) Lasted(l Look) (d time.Duration, known bool) {
	if len(j.States) == 0 || l.Now.IsZero() {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, j.States[len(j.States)-1].Time)
	return l.Now.Sub(at), err == nil
}
