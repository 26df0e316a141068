package record

import (
	"cmp"
	"context"
	_ "embed" // the script is a file so that a shell checker can read it
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

//go:embed script/look.sh
var script string

// Look is what a host says of its jobs at one moment.
type Look struct {
	Host string
	Now  time.Time // the clock of the host; zero if it could not be read
	Jobs []Job     // oldest first
	// Noted are the changes that are no jobs, oldest first.
	Noted []changes.Change
	// Unread is why changes may be missing: notes that are there and could not be read.
	Unread string
	// Hidden is why jobs may be missing: what of them could not be read. It is a part of Unread.
	Hidden string
	// Damaged is the number of notes that were read and not understood: changes may be missing.
	Damaged int
	// Silent is why systemd did not say which jobs run; empty if it did.
	Silent string
}

// Job is one job of the journal.
type Job struct {
	inventory.Job
	// How is what an apply noted that has read the card afterwards.
	How string
	// Refusal is why the job wrote nothing.
	Refusal string
}

// Read looks at the jobs and records of a host, in one command that changes nothing.
func Read(ctx context.Context, h host.Host) (Look, error) {
	cmd := shellcmd.Script("read-flash-jobs", answer.Functions+cardusers.Functions+script, inventory.StateDir).AsRoot()
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return Look{}, err
	}
	look, err := parse(h.Name(), string(r.Stdout))
	if err != nil {
		return Look{}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	return look, nil
}

// reading is a look that is being read.
type reading struct {
	Look
	units map[string]inventory.Unit
	pids  map[string]bool   // jobs of which processes are left
	blind map[string]string // jobs whose processes could not be seen, and why
	notes []string          // lines of the records
}

func parse(name, text string) (Look, error) {
	r := reading{Look: Look{Host: name}, pids: map[string]bool{}, blind: map[string]string{}}
	if err := answer.Read(text, r.take); err != nil {
		return Look{}, err
	}
	for i := range r.Jobs {
		r.complete(&r.Jobs[i])
	}
	r.lost()
	r.Noted, r.Damaged = changes.Parse(r.notes)
	return r.Look, nil
}

func (r *reading) take(i answer.Item) (err error) {
	switch {
	case i.Word == "now":
		r.Now, _ = time.Parse(time.RFC3339, i.Name) // zero: not known
	case i.Word == "job":
		r.Jobs = append(r.Jobs, Job{Job: inventory.Job{ID: i.Name, Request: map[string]string{}}})
	case i.Word == answer.Run && i.Name == "units":
		err = r.takeUnits(i)
	case i.Word == answer.Denied, i.Word == answer.Run && i.Name == "changes":
		r.takeNotes(i)
	// Lines of a job follow the line with its id.
	case len(r.Jobs) == 0:
		return i.Errorf("a line that belongs to no job")
	default:
		r.ofJob(&r.Jobs[len(r.Jobs)-1], i)
	}
	return err
}

func (r *reading) takeUnits(i answer.Item) (err error) {
	// systemctl of a host without systemd's bus: that no unit is seen proves nothing then.
	if i.Status != 0 {
		line, _, _ := strings.Cut(i.Text, "\n")
		r.Silent = fmt.Sprintf("systemctl ended with status %d: %s", i.Status, line)
		return nil
	}
	r.units, err = systemctl.ParseShow(i.Text)
	return err
}

// takeNotes takes a file of notes, or why it could not be read.
func (r *reading) takeNotes(i answer.Item) {
	if i.Word != answer.Denied && i.Status == 0 {
		r.notes = append(r.notes, strings.Split(i.Text, "\n")...)
		return
	}
	why := oneLine(cmp.Or(i.Text, i.Name))
	if i.Word == answer.Denied {
		r.Hidden = alsoSay(r.Hidden, why)
	}
	r.Unread = alsoSay(r.Unread, why)
}

func alsoSay(said, more string) string {
	if said == "" {
		return more
	}
	return said + "; " + more
}

func (r *reading) ofJob(j *Job, i answer.Item) {
	switch i.Word {
	case "process":
		r.pids[j.ID] = true
	case "hidden":
		_, r.blind[j.ID], _ = strings.Cut(i.Name, " ")
	case answer.Run:
		j.LogTail = i.Text
	case answer.File:
		switch file := path.Base(i.Name); file {
		case "reason":
			j.Refusal = oneLine(i.Text)
		case "settled":
			j.Settled, j.How = true, oneLine(i.Text)
		default:
			j.TakeFile(file, i.Text)
		}
	}
}

func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ") }

// complete fills in what follows from the lines of a job.
func (r *reading) complete(j *Job) {
	if pci, ok := inventory.JobCard(j.ID); ok && !j.PCI.IsValid() {
		j.PCI = pci
	}
	j.Running = r.running(j)
}

// running reports whether a job may still write. Neither a unit that is gone nor a
// silent systemd proves that it has ended: its mstflint may still run.
func (r *reading) running(j *Job) fact.Bool {
	switch {
	// The job's last step is to write its status, so that this is proof enough.
	case j.Exit != "" || j.Settled:
		return fact.Known(false)
	case r.pids[j.ID], r.units[inventory.JobUnit(j.ID)].Active():
		return fact.Known(true)
	case r.Silent != "":
		return fact.Unknown[bool](r.Silent)
	case r.blind[j.ID] != "":
		return fact.Unknown[bool](r.blind[j.ID])
	}
	return fact.Known(false)
}

// lost adds the jobs that run although somebody removed their directories.
// systemd still knows the unit, whose name has the id.
func (r *reading) lost() {
	listed := func(id string) bool {
		return slices.ContainsFunc(r.Jobs, func(j Job) bool { return j.ID == id })
	}
	for _, job := range inventory.LostJobs(r.units, listed) {
		r.Jobs = append(r.Jobs, Job{Job: job})
	}
}
