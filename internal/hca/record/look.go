package record

import (
	"context"
	_ "embed" // the script is a file so that a shell checker can read it
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
)

//go:embed script/look.sh
var script string

// Look is what a host says of its jobs at one moment.
type Look struct {
	Host string
	Now  time.Time // the clock of the host; zero if it could not be read
	Jobs []Job     // oldest first
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

// Read looks at the jobs of a host, in one command that changes nothing.
func Read(ctx context.Context, h host.Host) (Look, error) {
	cmd := shellcmd.Script("read-flash-jobs", cardusers.Functions+script, inventory.StateDir).AsRoot()
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
	units map[string]string // the state of each unit
	pids  map[string]bool   // jobs of which processes are left
	blind map[string]string // jobs whose processes could not be seen, and why
	ended bool
}

func parse(name, text string) (Look, error) {
	r := reading{Look: Look{Host: name}, units: map[string]string{}, pids: map[string]bool{},
		blind: map[string]string{}}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if err := r.take(key, value); err != nil {
			return Look{}, err
		}
	}
	if !r.ended {
		return Look{}, errors.New(`no line "end" in it`)
	}
	for i := range r.Jobs {
		r.complete(&r.Jobs[i])
	}
	r.lost()
	return r.Look, nil
}

func (r *reading) take(key, value string) error {
	switch key {
	case "now":
		r.Now, _ = time.Parse(time.RFC3339, value) // zero: not known
	case "systemd":
		r.Silent = "systemctl ended with status " + value
	case "unit":
		state, unit, _ := strings.Cut(value, " ")
		r.units[unit] = state
	case "job":
		r.Jobs = append(r.Jobs, Job{Job: inventory.Job{ID: value, Request: map[string]string{}}})
	case "end":
		r.ended = true
	default:
		if len(r.Jobs) == 0 {
			return fmt.Errorf("line %q belongs to no job", key)
		}
		r.ofJob(&r.Jobs[len(r.Jobs)-1], key, value)
	}
	return nil
}

func (r *reading) ofJob(j *Job, key, value string) {
	switch key {
	case "request":
		if k, v, ok := strings.Cut(value, "="); ok {
			j.Request[k] = v
		}
	case "process":
		r.pids[j.ID] = true
	case "hidden":
		r.blind[j.ID] = value
	case "output":
		j.LogTail += value + "\n"
	case "state":
		if f := strings.Fields(value); len(f) == 3 {
			j.States = append(j.States, inventory.JobState{Name: f[1], Time: f[2]})
		}
	case "exit":
		j.Exit = strings.TrimSpace(value)
	case "reason":
		j.Refusal = strings.TrimSpace(j.Refusal + " " + value)
	case "settled":
		j.Settled, j.How = true, strings.TrimSpace(j.How+" "+value)
	}
}

// complete fills in what follows from the lines of a job.
func (r *reading) complete(j *Job) {
	j.Kind, j.BootID, j.Operator = j.Request["kind"], j.Request["boot_id"], j.Request["operator"]
	if pci, err := ib.ParsePCIAddress(j.Request["pci"]); err == nil {
		j.PCI = pci
	} else if pci, ok := cardIn(j.ID); ok {
		j.PCI = pci
	}
	j.Running = r.running(j)
}

// running reports whether a job may still write. Neither a unit that is gone nor a
// silent systemd proves that it has ended: its mstflint may still run.
func (r *reading) running(j *Job) fact.Bool {
	state := r.units[inventory.JobUnit(j.ID)]
	switch {
	case j.Exit != "" || j.Settled:
		return fact.Known(false)
	case r.pids[j.ID], state != "" && state != "inactive" && state != "failed":
		return fact.Known(true)
	case r.Silent != "":
		return fact.Unknown[bool](r.Silent)
	case r.blind[j.ID] != "":
		return fact.Unknown[bool](r.blind[j.ID])
	}
	return fact.Known(false)
}

// lost adds the jobs that run although somebody removed their directories.
func (r *reading) lost() {
	listed := map[string]bool{}
	for i := range r.Jobs {
		listed[inventory.JobUnit(r.Jobs[i].ID)] = true
	}
	for unit, state := range r.units {
		id := strings.TrimSuffix(strings.TrimPrefix(unit, "infiniband-flash-"), ".service")
		pci, ok := cardIn(id)
		if listed[unit] || !ok || state == "inactive" || state == "failed" {
			continue
		}
		r.Jobs = append(r.Jobs, Job{Job: inventory.Job{ID: id, PCI: pci, Running: fact.Known(true), Lost: true,
			Request: map[string]string{}}})
	}
}

// cardIn is the address of the card in the name of a job: its time, the address with
// hyphens, and chance.
func cardIn(id string) (ib.PCIAddress, bool) {
	f := strings.Split(id, "-")
	if len(f) != 6 {
		return ib.PCIAddress{}, false
	}
	pci, err := ib.ParsePCIAddress(f[1] + ":" + f[2] + ":" + f[3] + "." + f[4])
	return pci, err == nil
}
